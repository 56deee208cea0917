#include "tests/model/llama_reference.hpp"

#include <cmath>
#include <map>
#include <string>

namespace ebbtide::testing {
namespace {

using model::ModelConfig;

struct Sizes {
  std::size_t tokens, hidden, heads, kv_heads, head_dim, ffn, vocab;
};

Sizes sizes_of(const ModelConfig& config, std::size_t tokens) {
  const auto u = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  return {tokens,        u(config.hidden), u(config.heads), u(config.kv_heads), u(config.head_dim),
          u(config.ffn), u(config.vocab)};
}

// y (T, out) = x (T, in) W (out, in)^T [+ b]
Doubles linear(const Doubles& x, const Doubles& w, std::size_t rows, std::size_t in,
               std::size_t out, const Doubles* bias = nullptr) {
  Doubles y(rows * out);
  for (std::size_t t = 0; t < rows; ++t)
    for (std::size_t o = 0; o < out; ++o) {
      double sum = bias != nullptr ? (*bias)[o] : 0.0;
      for (std::size_t i = 0; i < in; ++i) sum += x[t * in + i] * w[o * in + i];
      y[t * out + o] = sum;
    }
  return y;
}

// Adds dy W to dx and dy^T x to dw (and column sums to db).
void linear_back(const Doubles& x, const Doubles& w, const Doubles& dy, std::size_t rows,
                 std::size_t in, std::size_t out, Doubles& dx, Doubles& dw, Doubles* db = nullptr) {
  for (std::size_t t = 0; t < rows; ++t)
    for (std::size_t o = 0; o < out; ++o) {
      const double g = dy[t * out + o];
      if (db != nullptr) (*db)[o] += g;
      for (std::size_t i = 0; i < in; ++i) {
        dx[t * in + i] += g * w[o * in + i];
        dw[o * in + i] += g * x[t * in + i];
      }
    }
}

double inverse_rms(const double* x, std::size_t width, double epsilon) {
  double sum = 0;
  for (std::size_t i = 0; i < width; ++i) sum += x[i] * x[i];
  return 1 / std::sqrt(sum / static_cast<double>(width) + epsilon);
}

Doubles rms_norm(const Doubles& x, const Doubles& w, double epsilon) {
  const std::size_t width = w.size();
  Doubles y(x.size());
  for (std::size_t at = 0; at < x.size(); at += width) {
    const double r = inverse_rms(&x[at], width, epsilon);
    for (std::size_t i = 0; i < width; ++i) y[at + i] = x[at + i] * r * w[i];
  }
  return y;
}

// y_i = x_i r w_i with r = (mean x^2 + eps)^-1/2: dx_i = r (g_i - x_i r^2 mean(g x)), g = dy w.
void rms_norm_back(const Doubles& x, const Doubles& w, const Doubles& dy, double epsilon,
                   Doubles& dx, Doubles& dw) {
  const std::size_t width = w.size();
  for (std::size_t at = 0; at < x.size(); at += width) {
    const double r = inverse_rms(&x[at], width, epsilon);
    double dot = 0;
    for (std::size_t i = 0; i < width; ++i) dot += dy[at + i] * w[i] * x[at + i];
    for (std::size_t i = 0; i < width; ++i) {
      dx[at + i] += r * (dy[at + i] * w[i] - x[at + i] * r * r * dot / static_cast<double>(width));
      dw[i] += dy[at + i] * x[at + i] * r;
    }
  }
}

// Llama 3's scaling: long waves slow down by `factor`, short ones do not, those between blend.
double frequency(const ModelConfig& config, std::size_t i) {
  const double d = static_cast<double>(config.head_dim);
  const double f = std::pow(config.rope_theta, -2.0 * static_cast<double>(i) / d);
  const kernels::RopeScaling& s = config.rope_scaling;
  if (s.factor == 1.0) return f;
  const double wave = 2 * M_PI / f;
  if (wave < s.original_context / s.high_frequency_factor) return f;
  if (wave > s.original_context / s.low_frequency_factor) return f / s.factor;
  const double smooth = (s.original_context / wave - s.low_frequency_factor) /
                        (s.high_frequency_factor - s.low_frequency_factor);
  return (1 - smooth) * f / s.factor + smooth * f;
}

// Rotates x (T, heads D) in place; sign -1 rotates back.
void rotate(const ModelConfig& config, Doubles& x, std::size_t heads, double sign) {
  const auto d = static_cast<std::size_t>(config.head_dim);
  const std::size_t tokens = x.size() / (heads * d);
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < d / 2; ++i) {
        const double angle = static_cast<double>(t) * frequency(config, i);
        const double cosine = std::cos(angle), sine = sign * std::sin(angle);
        double& a = x[(t * heads + h) * d + i];
        double& b = x[(t * heads + h) * d + i + d / 2];
        const double old_a = a, old_b = b;
        a = old_a * cosine - old_b * sine;
        b = old_b * cosine + old_a * sine;
      }
}

double dot(const double* a, const double* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Softmax of row t of one head over keys 0..t.
Doubles probabilities(const Sizes& n, const Doubles& q, const Doubles& k, std::size_t t,
                      std::size_t head) {
  const std::size_t kv = head / (n.heads / n.kv_heads);
  const double scale = 1 / std::sqrt(static_cast<double>(n.head_dim));
  Doubles p(t + 1);
  double largest = -INFINITY, sum = 0;
  for (std::size_t s = 0; s <= t; ++s) {
    p[s] = scale * dot(&q[(t * n.heads + head) * n.head_dim],
                       &k[(s * n.kv_heads + kv) * n.head_dim], n.head_dim);
    largest = std::max(largest, p[s]);
  }
  for (double& x : p) sum += x = std::exp(x - largest);
  for (double& x : p) x /= sum;
  return p;
}

Doubles attention(const Sizes& n, const Doubles& q, const Doubles& k, const Doubles& v) {
  Doubles out(q.size());
  for (std::size_t t = 0; t < n.tokens; ++t)
    for (std::size_t h = 0; h < n.heads; ++h) {
      const Doubles p = probabilities(n, q, k, t, h);
      const std::size_t kv = h / (n.heads / n.kv_heads);
      for (std::size_t s = 0; s <= t; ++s)
        for (std::size_t i = 0; i < n.head_dim; ++i)
          out[(t * n.heads + h) * n.head_dim + i] +=
              p[s] * v[(s * n.kv_heads + kv) * n.head_dim + i];
    }
  return out;
}

struct AttentionGradients {
  Doubles q, k, v;
};

AttentionGradients attention_back(const Sizes& n, const Doubles& q, const Doubles& k,
                                  const Doubles& v, const Doubles& dout) {
  AttentionGradients d{Doubles(q.size()), Doubles(k.size()), Doubles(v.size())};
  const double scale = 1 / std::sqrt(static_cast<double>(n.head_dim));
  for (std::size_t t = 0; t < n.tokens; ++t)
    for (std::size_t h = 0; h < n.heads; ++h) {
      const Doubles p = probabilities(n, q, k, t, h);
      const std::size_t qi = (t * n.heads + h) * n.head_dim;
      const std::size_t kv = h / (n.heads / n.kv_heads);
      Doubles dp(t + 1);
      double mean = 0;
      for (std::size_t s = 0; s <= t; ++s) {
        dp[s] = dot(&dout[qi], &v[(s * n.kv_heads + kv) * n.head_dim], n.head_dim);
        mean += dp[s] * p[s];
      }
      for (std::size_t s = 0; s <= t; ++s) {
        const std::size_t ki = (s * n.kv_heads + kv) * n.head_dim;
        const double ds = p[s] * (dp[s] - mean) * scale;
        for (std::size_t i = 0; i < n.head_dim; ++i) {
          d.q[qi + i] += ds * k[ki + i];
          d.k[ki + i] += ds * q[qi + i];
          d.v[ki + i] += p[s] * dout[qi + i];
        }
      }
    }
  return d;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

struct Layer {
  Doubles input, norm1, raw_q, raw_k, q, k, v, attention, mid, norm2, gate, up, act;
};

class Model {
 public:
  Model(const ModelConfig& config, const std::vector<Doubles>& weights,
        const std::vector<std::uint32_t>& tokens, const std::vector<std::uint32_t>& targets)
      : config_(config),
        n_(sizes_of(config, tokens.size())),
        weights_(weights),
        tokens_(tokens),
        targets_(targets) {
    const std::vector<model::Parameter> all = model::parameters(config);
    for (std::size_t p = 0; p < all.size(); ++p) index_[all[p].name] = p;
  }

  double forward();
  std::vector<Doubles> backward();

 private:
  static std::string in_layer(std::size_t l, const std::string& what) {
    return "model.layers." + std::to_string(l) + "." + what;
  }
  std::string head() const {
    return config_.tied() ? "model.embed_tokens.weight" : "lm_head.weight";
  }
  const Doubles& w(const std::string& name) const { return weights_[index_.at(name)]; }
  Doubles& g(const std::string& name) { return gradients_[index_.at(name)]; }
  const Doubles* w_if(const std::string& name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &weights_[found->second];
  }
  Doubles* g_if(const std::string& name) {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &gradients_[found->second];
  }
  Doubles heads(std::size_t l, char which, const Doubles& x, std::size_t count, Doubles& raw);
  void heads_back(std::size_t l, char which, std::size_t count, const Doubles& raw, Doubles d,
                  Doubles& d_norm1);
  Doubles layer(std::size_t l, const Doubles& x);
  Doubles layer_back(std::size_t l, const Doubles& dy);
  double cross_entropy();

  const ModelConfig& config_;
  Sizes n_;
  const std::vector<Doubles>& weights_;
  const std::vector<std::uint32_t>& tokens_;
  const std::vector<std::uint32_t>& targets_;
  std::map<std::string, std::size_t> index_;
  std::vector<Layer> layers_;
  Doubles output_, final_, logits_, d_logits_;
  std::vector<Doubles> gradients_;
};

// Projection, head norm and rotation of q or k (v: projection alone).
Doubles Model::heads(std::size_t l, char which, const Doubles& x, std::size_t count, Doubles& raw) {
  const std::string name = in_layer(l, std::string("self_attn.") + which);
  raw = linear(x, w(name + "_proj.weight"), n_.tokens, n_.hidden, count * n_.head_dim,
               w_if(name + "_proj.bias"));
  if (which == 'v') return raw;
  const Doubles* norm = w_if(name + "_norm.weight");
  Doubles y = norm != nullptr ? rms_norm(raw, *norm, config_.rms_epsilon) : raw;
  rotate(config_, y, count, 1);
  return y;
}

void Model::heads_back(std::size_t l, char which, std::size_t count, const Doubles& raw, Doubles d,
                       Doubles& d_norm1) {
  const std::string name = in_layer(l, std::string("self_attn.") + which);
  if (which != 'v') {
    rotate(config_, d, count, -1);
    if (const Doubles* norm = w_if(name + "_norm.weight")) {
      Doubles through(d.size());
      rms_norm_back(raw, *norm, d, config_.rms_epsilon, through, g(name + "_norm.weight"));
      d = through;
    }
  }
  linear_back(layers_[l].norm1, w(name + "_proj.weight"), d, n_.tokens, n_.hidden,
              count * n_.head_dim, d_norm1, g(name + "_proj.weight"), g_if(name + "_proj.bias"));
}

Doubles Model::layer(std::size_t l, const Doubles& x) {
  Layer& a = layers_[l];
  a.input = x;
  a.norm1 = rms_norm(x, w(in_layer(l, "input_layernorm.weight")), config_.rms_epsilon);
  a.q = heads(l, 'q', a.norm1, n_.heads, a.raw_q);
  a.k = heads(l, 'k', a.norm1, n_.kv_heads, a.raw_k);
  a.v = heads(l, 'v', a.norm1, n_.kv_heads, a.v);
  a.attention = attention(n_, a.q, a.k, a.v);
  a.mid = linear(a.attention, w(in_layer(l, "self_attn.o_proj.weight")), n_.tokens,
                 n_.heads * n_.head_dim, n_.hidden);
  for (std::size_t i = 0; i < x.size(); ++i) a.mid[i] += x[i];
  a.norm2 = rms_norm(a.mid, w(in_layer(l, "post_attention_layernorm.weight")), config_.rms_epsilon);
  a.gate = linear(a.norm2, w(in_layer(l, "mlp.gate_proj.weight")), n_.tokens, n_.hidden, n_.ffn);
  a.up = linear(a.norm2, w(in_layer(l, "mlp.up_proj.weight")), n_.tokens, n_.hidden, n_.ffn);
  a.act.resize(a.gate.size());
  for (std::size_t i = 0; i < a.act.size(); ++i)
    a.act[i] = a.gate[i] * sigmoid(a.gate[i]) * a.up[i];
  Doubles y = linear(a.act, w(in_layer(l, "mlp.down_proj.weight")), n_.tokens, n_.ffn, n_.hidden);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += a.mid[i];
  return y;
}

Doubles Model::layer_back(std::size_t l, const Doubles& dy) {
  const Layer& a = layers_[l];
  Doubles d_act(a.act.size()), d_gate(a.act.size()), d_up(a.act.size());
  linear_back(a.act, w(in_layer(l, "mlp.down_proj.weight")), dy, n_.tokens, n_.ffn, n_.hidden,
              d_act, g(in_layer(l, "mlp.down_proj.weight")));
  for (std::size_t i = 0; i < d_act.size(); ++i) {
    const double s = sigmoid(a.gate[i]);
    d_up[i] = d_act[i] * a.gate[i] * s;
    d_gate[i] = d_act[i] * a.up[i] * s * (1 + a.gate[i] * (1 - s));
  }
  Doubles d_norm2(a.norm2.size());
  linear_back(a.norm2, w(in_layer(l, "mlp.gate_proj.weight")), d_gate, n_.tokens, n_.hidden, n_.ffn,
              d_norm2, g(in_layer(l, "mlp.gate_proj.weight")));
  linear_back(a.norm2, w(in_layer(l, "mlp.up_proj.weight")), d_up, n_.tokens, n_.hidden, n_.ffn,
              d_norm2, g(in_layer(l, "mlp.up_proj.weight")));
  Doubles d_mid = dy;
  const std::string post = in_layer(l, "post_attention_layernorm.weight");
  rms_norm_back(a.mid, w(post), d_norm2, config_.rms_epsilon, d_mid, g(post));
  Doubles d_attention(a.attention.size());
  linear_back(a.attention, w(in_layer(l, "self_attn.o_proj.weight")), d_mid, n_.tokens,
              n_.heads * n_.head_dim, n_.hidden, d_attention,
              g(in_layer(l, "self_attn.o_proj.weight")));
  const AttentionGradients d = attention_back(n_, a.q, a.k, a.v, d_attention);
  Doubles d_norm1(a.norm1.size());
  heads_back(l, 'q', n_.heads, a.raw_q, d.q, d_norm1);
  heads_back(l, 'k', n_.kv_heads, a.raw_k, d.k, d_norm1);
  heads_back(l, 'v', n_.kv_heads, a.v, d.v, d_norm1);
  Doubles dx = d_mid;
  const std::string norm = in_layer(l, "input_layernorm.weight");
  rms_norm_back(a.input, w(norm), d_norm1, config_.rms_epsilon, dx, g(norm));
  return dx;
}

double Model::cross_entropy() {
  double loss = 0;
  d_logits_.assign(logits_.size(), 0.0);
  for (std::size_t t = 0; t < n_.tokens; ++t) {
    if (targets_[t] == kernels::kIgnoredTarget) continue;
    const double* row = &logits_[t * n_.vocab];
    double largest = -INFINITY, sum = 0;
    for (std::size_t i = 0; i < n_.vocab; ++i) largest = std::max(largest, row[i]);
    for (std::size_t i = 0; i < n_.vocab; ++i) sum += std::exp(row[i] - largest);
    const double lse = largest + std::log(sum);
    loss += lse - row[targets_[t]];
    for (std::size_t i = 0; i < n_.vocab; ++i)
      d_logits_[t * n_.vocab + i] = std::exp(row[i] - lse) - (i == targets_[t] ? 1.0 : 0.0);
  }
  return loss;
}

double Model::forward() {
  layers_.resize(static_cast<std::size_t>(config_.layers));
  const Doubles& table = w("model.embed_tokens.weight");
  Doubles x;
  for (const std::uint32_t id : tokens_)
    x.insert(x.end(), &table[id * n_.hidden], &table[id * n_.hidden] + n_.hidden);
  for (std::size_t l = 0; l < layers_.size(); ++l) x = layer(l, x);
  output_ = x;
  final_ = rms_norm(output_, w("model.norm.weight"), config_.rms_epsilon);
  logits_ = linear(final_, w(head()), n_.tokens, n_.hidden, n_.vocab);
  return cross_entropy();
}

std::vector<Doubles> Model::backward() {
  for (const Doubles& weight : weights_) gradients_.emplace_back(weight.size());
  Doubles d_final(final_.size()), d(output_.size());
  linear_back(final_, w(head()), d_logits_, n_.tokens, n_.hidden, n_.vocab, d_final, g(head()));
  rms_norm_back(output_, w("model.norm.weight"), d_final, config_.rms_epsilon, d,
                g("model.norm.weight"));
  for (std::size_t l = layers_.size(); l-- > 0;) d = layer_back(l, d);
  Doubles& table = g("model.embed_tokens.weight");
  for (std::size_t t = 0; t < n_.tokens; ++t)
    for (std::size_t i = 0; i < n_.hidden; ++i)
      table[tokens_[t] * n_.hidden + i] += d[t * n_.hidden + i];
  return gradients_;
}

}  // namespace

double reference_loss(const model::ModelConfig& config, const std::vector<Doubles>& weights,
                      const std::vector<std::uint32_t>& tokens,
                      const std::vector<std::uint32_t>& targets) {
  return Model(config, weights, tokens, targets).forward();
}

ReferenceStep reference_step(const model::ModelConfig& config, const std::vector<Doubles>& weights,
                             const std::vector<std::uint32_t>& tokens,
                             const std::vector<std::uint32_t>& targets) {
  Model model(config, weights, tokens, targets);
  ReferenceStep step;
  step.loss = model.forward();
  step.gradients = model.backward();
  return step;
}

}  // namespace ebbtide::testing
