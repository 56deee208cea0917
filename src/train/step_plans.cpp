#include "src/train/step_plans.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ebbtide::train {

using model::GradientStart;
using model::NormPartials;

model::StepShape StepPlans::shape(std::int64_t seq_len) const {
  model::StepShape shape = recipe_.shape;
  shape.seq_len = seq_len;
  return shape;
}

const PlannedProgram* StepPlans::find(const Key& key) const {
  const auto at = plans_.find(key);
  return at == plans_.end() ? nullptr : at->second.get();
}

const PlannedProgram& StepPlans::keep(const Key& key, std::string name, Program program) {
  auto planned = std::make_unique<PlannedProgram>(
      plan_program(std::move(name), std::move(program), settings_));
  return *plans_.emplace(key, std::move(planned)).first->second;
}

const PlannedProgram& StepPlans::micro_step(std::int64_t seq_len, std::int64_t at,
                                            std::int64_t count) {
  const GradientStart start = at == 0 ? GradientStart::kZero : GradientStart::kAdd;
  const NormPartials norms = at + 1 == count ? NormPartials::kMake : NormPartials::kNone;
  const Key key{Kind::kMicroStep, seq_len, start, norms};
  if (const PlannedProgram* known = find(key)) return *known;
  const model::MicroStep step{.shape = shape(seq_len),
                              .activations = recipe_.activations,
                              .gradients = start,
                              .norms = norms};
  return keep(
      key, fmt::format("forward and backward of {} tokens", seq_len),
      model::forward_backward_program(recipe_.config, recipe_.homes, step, recipe_.device_kernels));
}

const PlannedProgram& StepPlans::evaluation(std::int64_t seq_len) {
  const Key key{Kind::kEvaluation, seq_len, GradientStart::kZero, NormPartials::kNone};
  if (const PlannedProgram* known = find(key)) return *known;
  return keep(key, fmt::format("evaluation of {} tokens", seq_len),
              model::evaluation_program(recipe_.config, recipe_.homes, shape(seq_len),
                                        recipe_.device_kernels));
}

const PlannedProgram& StepPlans::optimizer() {
  const Key key{Kind::kOptimizer, 0, GradientStart::kZero, NormPartials::kNone};
  if (const PlannedProgram* known = find(key)) return *known;
  return keep(key, "optimizer",
              model::optimizer_program(recipe_.config, recipe_.homes, recipe_.shape.dtype,
                                       recipe_.host_kernels));
}

void StepPlans::plan_all(std::int64_t seq_len, std::int64_t count, std::int64_t evaluation_tokens) {
  for_each_of_step(seq_len, count, [](const PlannedProgram& /*planned*/, std::int64_t /*n*/) {});
  if (evaluation_tokens > 0) evaluation(evaluation_tokens);
}

StepTotals StepPlans::totals(std::int64_t seq_len, std::int64_t count) {
  StepTotals totals;
  for_each_of_step(seq_len, count, [&totals](const PlannedProgram& planned, std::int64_t times) {
    totals.seconds += static_cast<double>(times) * planned.seconds;
    totals.op_seconds += static_cast<double>(times) * planned.op_seconds;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane)
      totals.moved_bytes[lane] +=
          static_cast<std::uint64_t>(times) * planned.plan.moved_bytes[lane];
  });
  return totals;
}

double StepPlans::jittered_seconds(std::int64_t seq_len, std::int64_t count, const Jitter& jitter) {
  double seconds = 0;
  for_each_of_step(seq_len, count, [&](const PlannedProgram& planned, std::int64_t times) {
    seconds += static_cast<double>(times) *
               simulate(planned.program, planned.plan, settings_.hardware, jitter).step_seconds;
  });
  return seconds;
}

std::vector<report::Planned> StepPlans::planned() const {
  std::vector<report::Planned> all;
  for (const auto& [key, planned] : plans_)
    all.push_back({planned->name, &planned->program, &planned->plan});
  return all;
}

PerTier<std::uint64_t> StepPlans::reserved_bytes() const {
  PerTier<std::uint64_t> bytes = recipe_.homes.layout.bytes();
  for (const auto& [key, planned] : plans_) {
    for (std::size_t tier = 0; tier < kTierCount; ++tier)
      bytes[tier] = std::max(bytes[tier], planned->plan.span_bytes[tier]);
  }
  return bytes;
}

}  // namespace ebbtide::train
