#include "tests/plan_command/published_judgement.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "tests/plan_command/published_predictions.hpp"

namespace ebbtide::test {
namespace {

constexpr double kFractionTolerance = 0.002;
constexpr double kTimeTolerance = 0.1;

// Papers print few digits, rounded or cut off.
bool is_as_printed(const PublishedCase& of, double value) {
  const std::string& printed = of.text("value");
  const auto point = printed.find('.');
  const double digits =
      point == std::string::npos ? 0 : static_cast<double>(printed.size() - point - 1);
  const double unit = std::pow(10.0, -digits);
  return value >= of.number("value") - unit / 2 && value < of.number("value") + unit;
}

Judgement judge_bytes(const PublishedCase& of) {
  const double gibibytes = predicted_bytes(of) / kGibibyte;
  const bool holds = is_as_printed(of, gibibytes);
  return {fmt::format("{:.5g} GiB", gibibytes), holds ? "exact, as printed" : "wrong", holds};
}

Judgement verdict(const PublishedCase& of, bool fits, const std::string& how) {
  const bool holds = fits == (of.text("value") == "OK");
  return {(fits ? "fits" : "does not fit") + how, holds ? "right" : "wrong", holds};
}

// On the card as it is, without a margin: what does not even fit that is out of memory.
Judgement judge_buffers(const PublishedCase& of) {
  const model::ModelConfig config = model_of(of);
  const double bytes = rounding_buffers(strategy_case_of(of, config, of.gpus())).device_bytes();
  return verdict(of, bytes <= of.number("gpu_mem_gb") * kGibibyte,
                 fmt::format(": {:.1f} GiB a GPU", bytes / kGibibyte));
}

Judgement judge_planned(const PublishedCase& of) {
  return verdict(of, plan::plan_run(request_of(of)).fits(), ": a plan, verified");
}

// A lower bound in closed form, and a plan, which is none.
Judgement judge_recomputed(const PublishedCase& of) {
  const model::ModelConfig config = model_of(of);
  const double bytes = tiled_on_host(strategy_case_of(of, config, of.gpus())).device_bytes();
  const bool fits = bytes <= card_bytes(of) && plan::plan_run(recomputing_request_of(of)).fits();
  return verdict(of, fits,
                 fmt::format(": at least {:.1f} GiB, and a plan, verified", bytes / kGibibyte));
}

Judgement judge_verdict(const PublishedCase& of) {
  if (of.text("strategy").starts_with("two rounding buffers")) return judge_buffers(of);
  return of.text("strategy") == "all features" ? judge_recomputed(of) : judge_planned(of);
}

Judgement judge_fraction(const PublishedCase& of) {
  const double fraction = token_fraction(of).value();
  const double off = fraction - of.number("value");
  return {fmt::format("{:.4f}", fraction), fmt::format("{:+.4f}", off),
          std::abs(off) <= kFractionTolerance};
}

Judgement judge_time(const PublishedCase& of, Purpose purpose) {
  const ComputeEfficiency efficiency = fitted_efficiency();
  const double seconds = predicted_seconds(of, efficiency);
  const double ratio = seconds / of.number("value");
  const std::string predicted = fmt::format("{:.4g} s", seconds);
  if (purpose == Purpose::kTimeBound)
    return {predicted, fmt::format("{:.2f}, at most 1", ratio), ratio <= 1};
  const bool holds = std::abs(ratio - 1) <= kTimeTolerance;
  if (purpose == Purpose::kFitted)
    return {predicted,
            fmt::format("**fitted**: {:.3f} of peak in products, {:.3f} in attention",
                        efficiency.matmul, efficiency.attention),
            holds};
  return {predicted, fmt::format("{:.3f}", ratio), holds};
}

// MEMO's two buffers: what must be on the card and on the host.
Judgement judge_longest(const PublishedCase& of) {
  const model::ModelConfig config = model_of(of);
  const double bytes = rounding_buffers(strategy_case_of(of, config, of.gpus())).device_bytes();
  const bool fits = bytes <= card_bytes(of) && token_fraction(of).by_host >= 0;
  return {fmt::format("{}: {:.1f} GiB a GPU", fits ? "fits" : "does not fit", bytes / kGibibyte),
          fits ? "right" : "wrong", fits};
}

// Megatron-LM with full recomputation, if it was tensor parallel within a node of eight.
Judgement of_a_node(const PublishedCase& of) {
  constexpr double kOnNode = 8;
  const model::ModelConfig config = model_of(of);
  const plan::StrategyBill bill = recomputed_tensor_parallel(strategy_case_of(of, config, kOnNode));
  const double whole = bill.device_bytes();
  const double optimizer = bill.device_bytes(plan::Part::kOptimizer);
  const double divided = whole - optimizer * (1 - kOnNode / of.gpus());
  return {fmt::format("{:.1f} GiB a GPU; {:.1f} if all GPUs share the optimizer", whole / kGibibyte,
                      divided / kGibibyte),
          ""};
}

}  // namespace

std::string_view name(Purpose purpose) {
  switch (purpose) {
    case Purpose::kBytes:
      return "bytes";
    case Purpose::kVerdict:
      return "verdict";
    case Purpose::kFraction:
      return "alpha";
    case Purpose::kFitted:
    case Purpose::kTime:
      return "time";
    case Purpose::kTimeBound:
      return "time, as a bound";
    case Purpose::kLongest:
      return "length";
    case Purpose::kNotClaimed:
      return "not claimed";
    case Purpose::kNone:
      break;
  }
  return "not used";
}

Judgement judge(const PublishedCase& of) {
  const Purpose purpose = use_of(of).purpose;
  switch (purpose) {
    case Purpose::kBytes:
      return judge_bytes(of);
    case Purpose::kVerdict:
      return judge_verdict(of);
    case Purpose::kFraction:
      return judge_fraction(of);
    case Purpose::kFitted:
    case Purpose::kTime:
    case Purpose::kTimeBound:
      return judge_time(of, purpose);
    case Purpose::kLongest:
      return judge_longest(of);
    case Purpose::kNotClaimed:
      return of_a_node(of);
    case Purpose::kNone:
      break;
  }
  return {};
}

}  // namespace ebbtide::test
