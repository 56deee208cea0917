// How near to this machine's limits do the compute kernels come?
//
// Limits: linear layers and attention, oneDNN's fp32 matrix product on as many threads (best of
// several sizes; in bf16 its bf16 product where the CPU has one, else the fp32 one); AdamW, a
// STREAM-like triad. All of it is measured in one run, round by round, so that what else the
// machine does meets the limits and the kernels alike. Figures are medians over the rounds; the
// percent is the median of each round's ratio, with its spread.
//
//   kernels_bench [threads [rounds [part of the names to measure]]]
#include <fmt/core.h>
#include <omp.h>
#include <dnnl.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/kernels.hpp"

namespace ebbtide::kernels {
namespace {

// Operand memory, filled with small values; every buffer of a name is its own.
class Buffers {
 public:
  Tensor make(std::int64_t rows, std::int64_t cols, DType dtype) {
    const auto count = static_cast<std::size_t>(rows * cols);
    const std::size_t bytes = (count * dtype_bytes(dtype) + 63) / 64 * 64;
    memory_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(64, bytes)));
    fill(memory_.back().get(), count, dtype);
    return {memory_.back().get(), dtype, rows, cols};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  static void fill(std::byte* memory, std::size_t count, DType dtype) {
    for (std::size_t i = 0; i < count; ++i) {
      const float value = static_cast<float>(i * 2654435761U % 1024) / 1024.0F - 0.5F;
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      if (dtype == DType::kF32) {
        std::memcpy(memory + 4 * i, &bits, 4);
      } else {
        const auto upper = static_cast<std::uint16_t>(bits >> 16);
        std::memcpy(memory + 2 * i, &upper, 2);
      }
    }
  }

  std::vector<std::unique_ptr<std::byte, Free>> memory_;
};

enum class Limit : std::uint8_t { kProductF32, kProductBf16, kMemory };

struct Subject {
  std::string name;
  Limit limit = Limit::kProductF32;
  double work = 0;  // flops or bytes of one run
  std::function<void()> run;
  std::vector<double> rates = {};  // by round, work a second
};

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

// Work a second, over enough runs for at least 60 ms.
double rate(const Subject& subject) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  double seconds = 0;
  int runs = 0;
  do {
    subject.run();
    ++runs;
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  } while (seconds < 0.06);
  return subject.work * runs / seconds;
}

// A plain product of two (n, n) of bf16 to fp32, and whether this CPU and oneDNN have it.
std::function<void()> bf16_product(Buffers& buffers, std::int64_t n) {
  using dnnl::memory;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::desc in({n, n}, memory::data_type::bf16, memory::format_tag::ab);
  const memory::desc out({n, n}, memory::data_type::f32, memory::format_tag::ab);
  const memory a(in, engine, buffers.make(n, n, DType::kBf16).data);
  const memory b(in, engine, buffers.make(n, n, DType::kBf16).data);
  const memory c(out, engine, buffers.make(n, n, DType::kF32).data);
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul product(dnnl::matmul::primitive_desc(engine, in, in, out));
#else
  const dnnl::matmul product(dnnl::matmul::primitive_desc(dnnl::matmul::desc(in, in, out), engine));
#endif
  return [=] {
    dnnl::stream stream(engine);
    product.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
    stream.wait();
  };
}

bool multiplies_bf16() {
  const auto needed = static_cast<unsigned>(dnnl_cpu_isa_avx512_core_bf16);
  return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & needed) == needed;
}

Limit product_limit(DType dtype) {
  return dtype == DType::kBf16 && multiplies_bf16() ? Limit::kProductBf16 : Limit::kProductF32;
}

class Bench {
 public:
  Bench(int threads, int rounds)
      : threads_(threads), rounds_(rounds), kernels_(make_cpu_kernels({.threads = threads})) {}

  void add_limits();
  void add_linear(std::int64_t tokens, std::int64_t out, std::int64_t in, DType dtype);
  void add_attention(std::int64_t tokens, std::int64_t dim, Causality causality, DType dtype);
  void add_adamw(DType weight_dtype);
  void keep_only(std::string_view part);  // of the subjects' names
  void run();

 private:
  // The limit of each round: the best of its kind.
  std::vector<double> limit(Limit kind) const;
  void print(const Subject& subject) const;

  int threads_;
  int rounds_;
  std::unique_ptr<Kernels> kernels_;
  Buffers buffers_;
  std::vector<Subject> limits_;
  std::vector<Subject> subjects_;
};

void Bench::add_limits() {
  for (const std::int64_t n : {1024, 1536, 2048, 3072}) {
    const auto* a = static_cast<const float*>(buffers_.make(n, n, DType::kF32).data);
    const auto* b = static_cast<const float*>(buffers_.make(n, n, DType::kF32).data);
    auto* c = static_cast<float*>(buffers_.make(n, n, DType::kF32).data);
    const double flops = 2.0 * static_cast<double>(n * n * n);
    limits_.push_back({fmt::format("oneDNN fp32 product {0} x {0} x {0}", n), Limit::kProductF32,
                       flops, [=] { dnnl_sgemm('N', 'N', n, n, n, 1, a, n, b, n, 0, c, n); }});
    if (!multiplies_bf16()) continue;
    limits_.push_back({fmt::format("oneDNN bf16 product {0} x {0} x {0}", n), Limit::kProductBf16,
                       flops, bf16_product(buffers_, n)});
  }
  constexpr std::int64_t kCount = std::int64_t{24} << 20;
  const auto* b = static_cast<const float*>(buffers_.make(1, kCount, DType::kF32).data);
  const auto* c = static_cast<const float*>(buffers_.make(1, kCount, DType::kF32).data);
  auto* a = static_cast<float*>(buffers_.make(1, kCount, DType::kF32).data);
  limits_.push_back({"triad a = b + s c", Limit::kMemory, 12.0 * static_cast<double>(kCount), [=] {
#pragma omp parallel for simd
                       for (std::int64_t i = 0; i < kCount; ++i) a[i] = b[i] + 0.5F * c[i];
                     }});
}

void Bench::add_linear(std::int64_t tokens, std::int64_t out, std::int64_t in, DType dtype) {
  const double flops = 2.0 * static_cast<double>(tokens) * static_cast<double>(out * in);
  const std::string shape =
      fmt::format("{} ({}, {}) <- {} {}", "linear", tokens, out, in, name(dtype));
  const Tensor x = buffers_.make(tokens, in, dtype);
  const Tensor w = buffers_.make(out, in, dtype);
  const Tensor y = buffers_.make(tokens, out, dtype);
  const Tensor dw = buffers_.make(out, in, DType::kF32);
  const auto add = [&](const char* what, const Matmul& op) {
    subjects_.push_back(
        {shape + what, product_limit(dtype), flops, [this, op] { kernels_->run(op, nullptr); }});
  };
  add(" forward", {.a = x, .b = w, .b_layout = Layout::kTransposed, .out = y});
  add(" dx", {.a = y, .b = w, .out = x});
  add(" dW",
      {.a = y, .a_layout = Layout::kTransposed, .b = x, .out = dw, .accumulate = Accumulate::kAdd});
}

void Bench::add_attention(std::int64_t tokens, std::int64_t dim, Causality causality, DType dtype) {
  constexpr std::int64_t kHeads = 8;
  constexpr std::int64_t kKvHeads = 4;
  const auto n = static_cast<double>(tokens);
  const double pairs = causality == Causality::kFull ? n * n : n * (n + 1) / 2;
  const double flops = 4.0 * pairs * static_cast<double>(kHeads * dim);
  const std::string shape =
      fmt::format("attention {} tokens D {} {} {}", tokens, dim,
                  causality == Causality::kFull ? "full" : "diagonal", name(dtype));
  const auto make = [&](std::int64_t cols, DType type) {
    return buffers_.make(tokens, cols, type);
  };
  const Tensor q = make(kHeads * dim, dtype);
  const Tensor k = make(kKvHeads * dim, dtype);
  const Tensor v = make(kKvHeads * dim, dtype);
  const Tensor out = make(kHeads * dim, DType::kF32);
  const Tensor lse = make(kHeads, DType::kF32);
  const AttentionForward forward{.q = q,
                                 .k = k,
                                 .v = v,
                                 .out = out,
                                 .lse = lse,
                                 .head_dim = dim,
                                 .causality = causality,
                                 .order = PairOrder::kLater};
  AttentionForward first = forward;
  first.order = PairOrder::kFirst;
  kernels_->run(first, nullptr);
  const AttentionBackward backward{.q = q,
                                   .k = k,
                                   .v = v,
                                   .dout = make(kHeads * dim, dtype),
                                   .lse = lse,
                                   .delta = make(kHeads, DType::kF32),
                                   .dq = make(kHeads * dim, DType::kF32),
                                   .dk = make(kKvHeads * dim, DType::kF32),
                                   .dv = make(kKvHeads * dim, DType::kF32),
                                   .head_dim = dim,
                                   .causality = causality};
  subjects_.push_back({shape + " forward", product_limit(dtype), flops,
                       [this, first] { kernels_->run(first, nullptr); }});
  subjects_.push_back({shape + " backward", product_limit(dtype), 2.5 * flops,
                       [this, backward] { kernels_->run(backward, nullptr); }});
}

void Bench::add_adamw(DType weight_dtype) {
  constexpr std::int64_t kCount = std::int64_t{16} << 20;
  const auto make = [&] { return static_cast<float*>(buffers_.make(1, kCount, DType::kF32).data); };
  AdamW op{.master = make(),
           .m = make(),
           .v = make(),
           .gradient = make(),
           .weight_dtype = weight_dtype,
           .count = kCount,
           .step = 3,
           .learning_rate = 1e-3F};
  std::fill_n(op.v, kCount, 0.25F);
  op.weight = op.master;
  double bytes = 28;
  if (weight_dtype != DType::kF32) {
    op.weight = buffers_.make(1, kCount, weight_dtype).data;
    bytes += static_cast<double>(dtype_bytes(weight_dtype));
  }
  subjects_.push_back({fmt::format("AdamW, weights in {}", name(weight_dtype)), Limit::kMemory,
                       bytes * static_cast<double>(kCount),
                       [this, op] { kernels_->run(op, nullptr); }});
}

void Bench::keep_only(std::string_view part) {
  std::erase_if(subjects_,
                [part](const Subject& s) { return s.name.find(part) == std::string::npos; });
}

std::vector<double> Bench::limit(Limit kind) const {
  const Subject* best = nullptr;
  for (const Subject& s : limits_) {
    if (s.limit != kind) continue;
    if (best == nullptr || median(s.rates) > median(best->rates)) best = &s;
  }
  return best->rates;
}

void Bench::print(const Subject& subject) const {
  std::vector<double> percents;
  const std::vector<double> limits = limit(subject.limit);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    percents.push_back(100 * subject.rates[i] / limits[i]);
  }
  const auto [low, high] = std::minmax_element(percents.begin(), percents.end());
  fmt::print("{:<52}{:>8.1f} {:<8}{:>6.1f} %  ({:.0f} to {:.0f})\n", subject.name,
             median(subject.rates) / 1e9, subject.limit == Limit::kMemory ? "GB/s" : "GFLOP/s",
             median(percents), *low, *high);
}

void Bench::run() {
  omp_set_num_threads(threads_);
  for (int round = -1; round < rounds_; ++round) {
    for (std::vector<Subject>* group : {&limits_, &subjects_}) {
      for (Subject& subject : *group) {
        const double measured = rate(subject);
        if (round >= 0) subject.rates.push_back(measured);  // the first round warms up
      }
    }
  }
  fmt::print("{} threads, {} rounds; percent of the best limit of its kind\n", threads_, rounds_);
  for (const std::vector<Subject>* group : {&limits_, &subjects_}) {
    for (const Subject& subject : *group) print(subject);
  }
}

int main_of(int argc, char** argv) {
  const int threads =
      argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  if (threads < 1 || rounds < 1) {
    fmt::print(stderr, "usage: kernels_bench [threads [rounds [part of the names to measure]]]\n");
    return 2;
  }
  Bench bench(threads, rounds);
  const std::string_view part = argc > 3 ? argv[3] : "";
  bench.add_limits();
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    bench.add_linear(2048, 256, 688, dtype);
    bench.add_linear(1024, 1024, 1024, dtype);
    bench.add_linear(512, 4096, 4096, dtype);
    bench.add_linear(256, 14336, 4096, dtype);
    for (const std::int64_t dim : {64, 128}) {
      bench.add_attention(1024, dim, Causality::kFull, dtype);
      bench.add_attention(1024, dim, Causality::kDiagonal, dtype);
    }
    bench.add_adamw(dtype);
  }
  bench.keep_only(part);
  bench.run();
  return 0;
}

}  // namespace
}  // namespace ebbtide::kernels

int main(int argc, char** argv) {
  return ebbtide::kernels::main_of(argc, argv);
}
