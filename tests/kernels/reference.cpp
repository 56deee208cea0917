#include "tests/kernels/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ebbtide::kernels::reference {
namespace {

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double inverse_rms(const Matrix& x, std::int64_t row, double epsilon) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.cols; ++i) sum += x(row, i) * x(row, i);
  return 1 / std::sqrt(sum / static_cast<double>(x.cols) + epsilon);
}

double dot(const Matrix& a, std::int64_t row_a, std::int64_t col_a, const Matrix& b,
           std::int64_t row_b, std::int64_t col_b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a(row_a, col_a + i) * b(row_b, col_b + i);
  return sum;
}

std::int64_t visible(const AttentionShape& shape, std::int64_t query, std::int64_t keys) {
  return shape.causality == Causality::kFull ? keys : std::min(query + 1, keys);
}

double frequency(std::int64_t pair, std::int64_t dim, double theta, const RopeScaling& s) {
  const double plain = std::pow(theta, -2.0 * static_cast<double>(pair) / static_cast<double>(dim));
  if (s.factor == 1) return plain;
  const double wavelength = 2 * std::numbers::pi / plain;
  if (wavelength < s.original_context / s.high_frequency_factor) return plain;
  if (wavelength > s.original_context / s.low_frequency_factor) return plain / s.factor;
  const double smooth = (s.original_context / wavelength - s.low_frequency_factor) /
                        (s.high_frequency_factor - s.low_frequency_factor);
  return (1 - smooth) * plain / s.factor + smooth * plain;
}

}  // namespace

Matrix transposed(const Matrix& a) {
  Matrix out(a.cols, a.rows);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.cols; ++c) out(c, r) = a(r, c);
  }
  return out;
}

Matrix plus(const Matrix& a, const Matrix& b) {
  Matrix out = a;
  for (std::size_t i = 0; i < out.at.size(); ++i) out.at[i] += b.at[i];
  return out;
}

Matrix matmul(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows, b.cols);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t k = 0; k < a.cols; ++k) {
      for (std::int64_t c = 0; c < b.cols; ++c) out(r, c) += a(r, k) * b(k, c);
    }
  }
  return out;
}

Matrix column_sums(const Matrix& a) {
  Matrix out(1, a.cols);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.cols; ++c) out(0, c) += a(r, c);
  }
  return out;
}

Matrix rms_norm(const Matrix& x, const Matrix& weight, double epsilon) {
  Matrix y(x.rows, x.cols);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const double inverse = inverse_rms(x, r, epsilon);
    for (std::int64_t c = 0; c < x.cols; ++c) y(r, c) = x(r, c) * inverse * weight(0, c);
  }
  return y;
}

RmsNormGradients rms_norm_backward(const Matrix& x, const Matrix& weight, const Matrix& dy,
                                   double epsilon) {
  RmsNormGradients out{Matrix(x.rows, x.cols), Matrix(1, x.cols)};
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const double inverse = inverse_rms(x, r, epsilon);
    double mean = 0;
    for (std::int64_t c = 0; c < x.cols; ++c) {
      const double normed = x(r, c) * inverse;
      mean += dy(r, c) * weight(0, c) * normed / static_cast<double>(x.cols);
      out.dweight(0, c) += dy(r, c) * normed;
    }
    for (std::int64_t c = 0; c < x.cols; ++c) {
      out.dx(r, c) = inverse * (dy(r, c) * weight(0, c) - x(r, c) * inverse * mean);
    }
  }
  return out;
}

Matrix rope_table(std::int64_t rows, std::int64_t dim, std::int64_t first_position, double theta,
                  const RopeScaling& scaling) {
  Matrix table(rows, dim);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < dim / 2; ++i) {
      const double angle =
          static_cast<double>(first_position + r) * frequency(i, dim, theta, scaling);
      table(r, i) = std::cos(angle);
      table(r, dim / 2 + i) = std::sin(angle);
    }
  }
  return table;
}

Matrix rope(const Matrix& x, const Matrix& table, Rotation rotation) {
  Matrix y = x;
  const std::int64_t half = table.cols / 2;
  const double sign = rotation == Rotation::kForward ? 1 : -1;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t head = 0; head < x.cols; head += table.cols) {
      for (std::int64_t i = 0; i < half; ++i) {
        const double cosine = table(r, i);
        const double sine = sign * table(r, half + i);
        y(r, head + i) = x(r, head + i) * cosine - x(r, head + half + i) * sine;
        y(r, head + half + i) = x(r, head + half + i) * cosine + x(r, head + i) * sine;
      }
    }
  }
  return y;
}

AttentionState attention(const Matrix& q, const Matrix& k, const Matrix& v, AttentionShape shape) {
  const std::int64_t dim = shape.dim;
  const std::int64_t heads = q.cols / dim;
  const std::int64_t group = heads / (k.cols / dim);
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  AttentionState state{Matrix(q.rows, q.cols), Matrix(q.rows, heads)};
  for (std::int64_t r = 0; r < q.rows; ++r) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t kv = h / group * dim;
      std::vector<double> scores;
      for (std::int64_t j = 0; j < visible(shape, r, k.rows); ++j) {
        scores.push_back(scale * dot(q, r, h * dim, k, j, kv, dim));
      }
      const double top = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (double& score : scores) sum += score = std::exp(score - top);
      state.lse(r, h) = top + std::log(sum);
      for (std::size_t j = 0; j < scores.size(); ++j) {
        for (std::int64_t i = 0; i < dim; ++i) {
          state.out(r, h * dim + i) += scores[j] / sum * v(static_cast<std::int64_t>(j), kv + i);
        }
      }
    }
  }
  return state;
}

AttentionState merged(const AttentionState& a, const AttentionState& b, std::int64_t dim) {
  AttentionState state = a;
  for (std::int64_t r = 0; r < a.lse.rows; ++r) {
    for (std::int64_t h = 0; h < a.lse.cols; ++h) {
      const double top = std::max(a.lse(r, h), b.lse(r, h));
      const double weight_a = std::exp(a.lse(r, h) - top);
      const double weight_b = std::exp(b.lse(r, h) - top);
      state.lse(r, h) = top + std::log(weight_a + weight_b);
      for (std::int64_t i = h * dim; i < (h + 1) * dim; ++i) {
        state.out(r, i) = (weight_a * a.out(r, i) + weight_b * b.out(r, i)) / (weight_a + weight_b);
      }
    }
  }
  return state;
}

Matrix attention_delta(const Matrix& out, const Matrix& dout, std::int64_t dim) {
  Matrix delta(out.rows, out.cols / dim);
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t h = 0; h < delta.cols; ++h) {
      delta(r, h) = dot(out, r, h * dim, dout, r, h * dim, dim);
    }
  }
  return delta;
}

AttentionGradients attention_backward(const AttentionInputs& in, AttentionShape shape) {
  const std::int64_t dim = shape.dim;
  const std::int64_t heads = in.q.cols / dim;
  const std::int64_t group = heads / (in.k.cols / dim);
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  AttentionGradients out{Matrix(in.q.rows, in.q.cols), Matrix(in.k.rows, in.k.cols),
                         Matrix(in.k.rows, in.k.cols)};
  for (std::int64_t r = 0; r < in.q.rows; ++r) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t kv = h / group * dim;
      const std::int64_t hq = h * dim;
      for (std::int64_t j = 0; j < visible(shape, r, in.k.rows); ++j) {
        const double p = std::exp(scale * dot(in.q, r, hq, in.k, j, kv, dim) - in.lse(r, h));
        const double ds = p * (dot(in.dout, r, hq, in.v, j, kv, dim) - in.delta(r, h)) * scale;
        for (std::int64_t i = 0; i < dim; ++i) {
          out.dv(j, kv + i) += p * in.dout(r, hq + i);
          out.dk(j, kv + i) += ds * in.q(r, hq + i);
          out.dq(r, hq + i) += ds * in.k(j, kv + i);
        }
      }
    }
  }
  return out;
}

Matrix swiglu(const Matrix& gate, const Matrix& up) {
  Matrix act(gate.rows, gate.cols);
  for (std::size_t i = 0; i < act.at.size(); ++i) {
    act.at[i] = gate.at[i] * sigmoid(gate.at[i]) * up.at[i];
  }
  return act;
}

SwigluGradients swiglu_backward(const Matrix& gate, const Matrix& up, const Matrix& dact) {
  SwigluGradients out{Matrix(gate.rows, gate.cols), Matrix(gate.rows, gate.cols)};
  for (std::size_t i = 0; i < dact.at.size(); ++i) {
    const double g = gate.at[i];
    const double s = sigmoid(g);
    out.dup.at[i] = dact.at[i] * g * s;
    out.dgate.at[i] = dact.at[i] * up.at[i] * (s + g * s * (1 - s));
  }
  return out;
}

Matrix embedding(const std::vector<std::uint32_t>& ids, const Matrix& table) {
  Matrix x(static_cast<std::int64_t>(ids.size()), table.cols);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t c = 0; c < x.cols; ++c) x(r, c) = table(ids[static_cast<std::size_t>(r)], c);
  }
  return x;
}

Matrix embedding_backward(const std::vector<std::uint32_t>& ids, const Matrix& dx,
                          std::int64_t vocabulary) {
  Matrix dtable(vocabulary, dx.cols);
  for (std::int64_t r = 0; r < dx.rows; ++r) {
    for (std::int64_t c = 0; c < dx.cols; ++c) {
      dtable(ids[static_cast<std::size_t>(r)], c) += dx(r, c);
    }
  }
  return dtable;
}

CrossEntropyResult cross_entropy(const Matrix& logits, const std::vector<std::uint32_t>& targets,
                                 double scale) {
  CrossEntropyResult out{0, Matrix(logits.rows, logits.cols)};
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    const std::uint32_t target = targets[static_cast<std::size_t>(r)];
    if (target == kIgnoredTarget) continue;
    double top = logits(r, 0);
    for (std::int64_t c = 0; c < logits.cols; ++c) top = std::max(top, logits(r, c));
    double sum = 0;
    for (std::int64_t c = 0; c < logits.cols; ++c) sum += std::exp(logits(r, c) - top);
    out.loss += top + std::log(sum) - logits(r, target);
    for (std::int64_t c = 0; c < logits.cols; ++c) {
      const double softmax = std::exp(logits(r, c) - top) / sum;
      out.dlogits(r, c) = (softmax - (c == target ? 1 : 0)) * scale;
    }
  }
  return out;
}

AdamWState adamw(const AdamWState& before, const Matrix& gradient, const AdamW& settings) {
  AdamWState after = before;
  const double beta1 = settings.beta1;
  const double beta2 = settings.beta2;
  const double rate = settings.learning_rate;
  const auto step = static_cast<double>(settings.step);
  for (std::size_t i = 0; i < gradient.at.size(); ++i) {
    const double g = gradient.at[i] * settings.gradient_scale;
    const double m = after.m.at[i] = beta1 * before.m.at[i] + (1 - beta1) * g;
    const double v = after.v.at[i] = beta2 * before.v.at[i] + (1 - beta2) * g * g;
    const double m_hat = m / (1 - std::pow(beta1, step));
    const double v_hat = v / (1 - std::pow(beta2, step));
    after.master.at[i] =
        before.master.at[i] - rate * (m_hat / (std::sqrt(v_hat) + settings.epsilon) +
                                      settings.weight_decay * before.master.at[i]);
  }
  return after;
}

}  // namespace ebbtide::kernels::reference
