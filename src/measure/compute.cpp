#include "src/measure/compute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/measure/subjects.hpp"
#include "tiering/tiers/available_memory.hpp"

namespace ebbtide::measure {
namespace {

using kernels::Kernels;

constexpr std::array kDTypes{DType::kF32, DType::kBf16};

struct Part {
  std::string name;
  Subject subject;
};
// One shape of a class, whose parts are timed in both dtypes.
struct Case {
  std::string name;
  OpClass op_class = OpClass::kMatmul;
  std::size_t parts = 1;
  double most_work = 0;  // of one run of a part
  std::function<std::vector<Part>(Kernels&, Operands&, DType)> make;
};

template <typename Shape>
Shape in(DType dtype, Shape shape) {
  shape.dtype = dtype;
  return shape;
}

// tokens x in -> out: from products that dispatch dominates to those of a 7B model's layers.
std::vector<Case> matmul_cases() {
  std::vector<Case> cases;
  for (const auto& [tokens, inputs, outputs] :
       std::initializer_list<std::array<std::int64_t, 3>>{{64, 64, 64},
                                                          {128, 256, 256},
                                                          {256, 512, 512},
                                                          {512, 1024, 1024},
                                                          {1024, 2048, 2048},
                                                          {512, 4096, 4096}}) {
    const LinearShape shape{tokens, outputs, inputs};
    cases.push_back({fmt::format("{} x {} -> {}", tokens, inputs, outputs), OpClass::kMatmul, 3,
                     shape.flops(), [shape](Kernels& kernels, Operands& operands, DType dtype) {
                       LinearOps ops = linear(kernels, operands, in(dtype, shape));
                       return std::vector<Part>{{"forward", std::move(ops.forward)},
                                                {"dx", std::move(ops.input_gradient)},
                                                {"dW", std::move(ops.weight_gradient)}};
                     }});
  }
  return cases;
}

// Pairs of different chunks, as nearly all of a long sequence are.
std::vector<Case> attention_cases() {
  std::vector<Case> cases;
  for (const std::int64_t tokens : {128, 256, 512, 1024}) {
    for (const std::int64_t head_dim : {64, 128}) {
      const AttentionShape shape{.tokens = tokens, .head_dim = head_dim};
      cases.push_back({fmt::format("{} tokens, head dim {}", tokens, head_dim), OpClass::kAttention,
                       2, 2.5 * shape.forward_flops(),
                       [shape](Kernels& kernels, Operands& operands, DType dtype) {
                         AttentionOps ops = attention(kernels, operands, in(dtype, shape));
                         return std::vector<Part>{{"forward", std::move(ops.forward)},
                                                  {"backward", std::move(ops.backward)}};
                       }});
    }
  }
  return cases;
}

std::vector<Case> elementwise_cases() {
  std::vector<Case> cases;
  for (const std::int64_t rows : {64, 512, 4096, 16384}) {
    const ElementwiseShape shape{.rows = rows, .cols = 1024};
    cases.push_back({fmt::format("{} x {}", rows, shape.cols), OpClass::kElementwise, 3,
                     3 * shape.bytes(), [shape](Kernels& kernels, Operands& operands, DType dtype) {
                       const ElementwiseShape one = in(dtype, shape);
                       return std::vector<Part>{{"RMSNorm", rms_norm(kernels, operands, one)},
                                                {"SwiGLU", swiglu(kernels, operands, one)},
                                                {"add", add(kernels, operands, one)}};
                     }});
  }
  return cases;
}

// A line needs two shapes; a third shows how far it is one.
constexpr std::size_t kLeastCases = 3;
// The warming run and one that counts.
constexpr double kLeastRuns = 2;

void measure_case(const Case& one, Kernels& kernels, Pace& pace, std::vector<OpFigure>& figures) {
  const std::size_t first = figures.size();
  figures.resize(first + one.parts);
  for (const DType dtype : kDTypes) {
    Operands operands;
    const std::vector<Part> parts = one.make(kernels, operands, dtype);
    for (std::size_t at = 0; at < parts.size(); ++at) {
      OpFigure& figure = figures[first + at];
      figure.op_class = one.op_class;
      figure.name = fmt::format("{}  {}", one.name, parts[at].name);
      const double slice = pace.begin(fmt::format("{}, {}", figure.name, name(dtype)));
      (dtype == DType::kF32 ? figure.fp32 : figure.bf16) = {
          parts[at].subject.work, median_seconds(parts[at].subject.run, slice, pace.stop())};
    }
  }
}

double slowest_per_s(const std::vector<OpFigure>& figures, std::size_t from) {
  double least = figures[from].fp32.per_s();
  for (std::size_t at = from; at < figures.size(); ++at)
    least = std::min({least, figures[at].fp32.per_s(), figures[at].bf16.per_s()});
  return least;
}

// Cases by ascending work, as far as the time has room.
void measure_class(const std::vector<Case>& cases, Kernels& kernels, Pace& pace,
                   std::vector<OpFigure>& figures) {
  for (std::size_t at = 0; at < cases.size(); ++at) {
    const Case& one = cases[at];
    if (at >= kLeastCases) {
      const double per_s = slowest_per_s(figures, figures.size() - cases[at - 1].parts);
      if (kLeastRuns * one.most_work / per_s > pace.slice()) {
        for (std::size_t rest = at; rest < cases.size(); ++rest)
          pace.skip(kDTypes.size() * cases[rest].parts);
        return;
      }
    }
    measure_case(one, kernels, pace, figures);
  }
}

// `most`, or as many as fit an eighth of memory at `bytes_each`, or as the section has the time to
// fill with values, which some 2^24 a second are.
std::int64_t elements(std::int64_t most, std::uint64_t bytes_each, double seconds) {
  const auto fit = static_cast<std::int64_t>(
      std::min<std::uint64_t>(tiers::available_memory().size_bytes / 8 / bytes_each, 1U << 30));
  const auto in_time = static_cast<std::int64_t>(std::min(seconds, 1e3) * (16 << 20));
  return std::clamp(std::min(fit, in_time), std::int64_t{1} << 20, most);
}

}  // namespace

ComputeFigures measure_compute(Kernels& kernels, Pace& pace) {
  const std::array classes{matmul_cases(), attention_cases(), elementwise_cases()};
  pace.expect(1);
  for (const std::vector<Case>& cases : classes)
    for (const Case& one : cases) pace.expect(kDTypes.size() * one.parts);
  ComputeFigures figures;
  Operands operands;
  const Subject smallest = add(kernels, operands, {.rows = 1, .cols = 16});
  figures.op_overhead_s = median_seconds(smallest.run, pace.begin("op overhead"), pace.stop());
  for (const std::vector<Case>& cases : classes) measure_class(cases, kernels, pace, figures.ops);
  return figures;
}

MemoryFigures measure_memory(Kernels& kernels, int threads, Pace& pace) {
  MemoryFigures figures;
  pace.expect(3);
  {
    Operands operands;
    const std::int64_t count = elements(std::int64_t{24} << 20, 12, pace.section_seconds());
    const Subject subject = triad(operands, count, threads);
    const double slice = pace.begin("triad");
    figures.triad_bytes_per_s = subject.work / median_seconds(subject.run, slice, pace.stop());
  }
  figures.adamw_parameters = elements(std::int64_t{16} << 20, 30, pace.section_seconds());
  for (const DType dtype : kDTypes) {
    Operands operands;
    const Subject subject = adamw(kernels, operands, figures.adamw_parameters, dtype);
    const double slice = pace.begin(fmt::format("AdamW, weights in {}", name(dtype)));
    (dtype == DType::kF32 ? figures.adamw_fp32 : figures.adamw_bf16) = {
        subject.work, median_seconds(subject.run, slice, pace.stop())};
  }
  return figures;
}

}  // namespace ebbtide::measure
