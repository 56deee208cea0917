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
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/cpu/native_product.hpp"
#include "kernels/kernels.hpp"
#include "src/measure/operands.hpp"
#include "src/measure/subjects.hpp"

namespace ebbtide::kernels {
namespace {

enum class Limit : std::uint8_t { kProductF32, kProductBf16, kMemory };

struct Named {
  std::string name;
  Limit limit = Limit::kProductF32;
  measure::Subject subject;
  std::vector<double> rates = {};  // by round, work a second
};

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

// Work a second, over enough runs for at least 60 ms.
double rate(const measure::Subject& subject) {
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

// A plain product of two (n, n) of bf16 to fp32.
std::function<void()> bf16_product(measure::Operands& operands, std::int64_t n) {
  using dnnl::memory;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::desc in({n, n}, memory::data_type::bf16, memory::format_tag::ab);
  const memory::desc out({n, n}, memory::data_type::f32, memory::format_tag::ab);
  const memory a(in, engine, operands.make(n, n, DType::kBf16).data);
  const memory b(in, engine, operands.make(n, n, DType::kBf16).data);
  const memory c(out, engine, operands.make(n, n, DType::kF32).data);
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

Limit product_limit(DType dtype) {
  return dtype == DType::kBf16 && cpu::NativeProducts::has(DType::kBf16) ? Limit::kProductBf16
                                                                         : Limit::kProductF32;
}

class Bench {
 public:
  Bench(int threads, int rounds)
      : threads_(threads), rounds_(rounds), kernels_(make_cpu_kernels({.threads = threads})) {}

  void add_limits();
  void add_linear(const measure::LinearShape& shape);
  void add_attention(const measure::AttentionShape& shape);
  void add_adamw(DType weight_dtype);
  void keep_only(std::string_view part);  // of the subjects' names
  void run();

 private:
  // The limit of each round: the best of its kind.
  std::vector<double> limit(Limit kind) const;
  void print(const Named& subject) const;

  int threads_;
  int rounds_;
  std::unique_ptr<Kernels> kernels_;
  measure::Operands operands_;
  std::vector<Named> limits_;
  std::vector<Named> subjects_;
};

void Bench::add_limits() {
  for (const std::int64_t n : {1024, 1536, 2048, 3072}) {
    const auto* a = static_cast<const float*>(operands_.make(n, n, DType::kF32).data);
    const auto* b = static_cast<const float*>(operands_.make(n, n, DType::kF32).data);
    auto* c = static_cast<float*>(operands_.make(n, n, DType::kF32).data);
    const double flops = 2.0 * static_cast<double>(n * n * n);
    limits_.push_back({fmt::format("oneDNN fp32 product {0} x {0} x {0}", n),
                       Limit::kProductF32,
                       {flops, [=] { dnnl_sgemm('N', 'N', n, n, n, 1, a, n, b, n, 0, c, n); }}});
    if (!cpu::NativeProducts::has(DType::kBf16)) continue;
    limits_.push_back({fmt::format("oneDNN bf16 product {0} x {0} x {0}", n),
                       Limit::kProductBf16,
                       {flops, bf16_product(operands_, n)}});
  }
  constexpr std::int64_t kCount = std::int64_t{24} << 20;
  limits_.push_back(
      {"triad a = b + s c", Limit::kMemory, measure::triad(operands_, kCount, threads_)});
}

void Bench::add_linear(const measure::LinearShape& shape) {
  const measure::LinearOps ops = measure::linear(*kernels_, operands_, shape);
  const std::string name = fmt::format("linear ({}, {}) <- {} {}", shape.tokens, shape.out,
                                       shape.in, ebbtide::name(shape.dtype));
  const Limit limit = product_limit(shape.dtype);
  subjects_.push_back({name + " forward", limit, ops.forward});
  subjects_.push_back({name + " dx", limit, ops.input_gradient});
  subjects_.push_back({name + " dW", limit, ops.weight_gradient});
}

void Bench::add_attention(const measure::AttentionShape& shape) {
  const measure::AttentionOps ops = measure::attention(*kernels_, operands_, shape);
  const std::string name = fmt::format(
      "attention {} tokens D {} {} {}", shape.tokens, shape.head_dim,
      shape.causality == Causality::kFull ? "full" : "diagonal", ebbtide::name(shape.dtype));
  const Limit limit = product_limit(shape.dtype);
  subjects_.push_back({name + " forward", limit, ops.forward});
  subjects_.push_back({name + " backward", limit, ops.backward});
}

void Bench::add_adamw(DType weight_dtype) {
  constexpr std::int64_t kCount = std::int64_t{16} << 20;
  subjects_.push_back({fmt::format("AdamW, weights in {}", name(weight_dtype)), Limit::kMemory,
                       measure::adamw(*kernels_, operands_, kCount, weight_dtype)});
}

void Bench::keep_only(std::string_view part) {
  std::erase_if(subjects_,
                [part](const Named& s) { return s.name.find(part) == std::string::npos; });
}

std::vector<double> Bench::limit(Limit kind) const {
  const Named* best = nullptr;
  for (const Named& s : limits_) {
    if (s.limit != kind) continue;
    if (best == nullptr || median(s.rates) > median(best->rates)) best = &s;
  }
  return best->rates;
}

void Bench::print(const Named& subject) const {
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
    for (std::vector<Named>* group : {&limits_, &subjects_}) {
      for (Named& subject : *group) {
        const double measured = rate(subject.subject);
        if (round >= 0) subject.rates.push_back(measured);  // the first round warms up
      }
    }
  }
  fmt::print("{} threads, {} rounds; percent of the best limit of its kind\n", threads_, rounds_);
  for (const std::vector<Named>* group : {&limits_, &subjects_}) {
    for (const Named& subject : *group) print(subject);
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
    bench.add_linear({2048, 256, 688, dtype});
    bench.add_linear({1024, 1024, 1024, dtype});
    bench.add_linear({512, 4096, 4096, dtype});
    bench.add_linear({256, 14336, 4096, dtype});
    for (const std::int64_t dim : {64, 128}) {
      bench.add_attention({1024, dim, Causality::kFull, dtype});
      bench.add_attention({1024, dim, Causality::kDiagonal, dtype});
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
