#include "src/profile/profile.hpp"

#include <algorithm>

#include "ebbtide/error.hpp"

namespace ebbtide::profile {
namespace {

// How many times as long as predicted a lane was at work; 1 where it had nothing to do.
double times_as_long(Lane lane, const report::Exposure& predicted,
                     const report::Exposure& measured) {
  constexpr double kMost = 1000;
  const double expected_s = predicted.of(lane).busy_s;
  const double took_s = measured.of(lane).busy_s;
  if (expected_s <= 0 || took_s <= 0) return 1;
  return std::clamp(took_s / expected_s, 1 / kMost, kMost);
}

// A lane that took longer is slower by the byte: its latency, and what others take from it, stay as
// they were simulated. One that was faster is faster in all.
double times_as_long_a_byte(Lane lane, const HardwareModel& rates,
                            const report::Exposure& predicted, const report::Exposure& measured) {
  const double times = times_as_long(lane, predicted, measured);
  const double bytes_s =
      static_cast<double>(predicted.of(lane).bytes) / rates.rate_alone(lane).bytes_per_s;
  if (times <= 1 || bytes_s <= 0) return times;
  const double more_s = measured.of(lane).busy_s - predicted.of(lane).busy_s;
  return 1 + more_s / bytes_s;
}

void slow_down(Rate& rate, double times) {
  rate.bytes_per_s /= times;
  if (times < 1) rate.latency_s *= times;
}

void slow_device(HardwareModel& model, double times) {
  model.device_flops_per_s /= times;
  model.device_memory_bytes_per_s /= times;
  model.op_overhead_s *= times;
  for (WorkRate& rate : model.class_rates) rate.per_s /= times;
}

// Where lanes share DRAM its rate is theirs too, and was measured with them.
void slow_host(HardwareModel& model, double times) {
  model.host_flops_per_s /= times;
  if (!model.shared.known()) model.host_memory_bytes_per_s /= times;
}

}  // namespace

void StepSummary::planned(const train::RunFacts& facts, const report::MemoryBill& /*bill*/) {
  facts_ = facts;
}

void StepSummary::recorded(const report::StepRecord& record) {
  ++steps_;
  measured_.add(report::exposure_of(record, rates_));
  if (predicted_) return;
  predicted_.emplace();
  for (const report::ProgramRun& run : record.runs)
    predicted_->add(report::exposure_of(*run.program, *run.plan,
                                        simulate(*run.program, *run.plan, rates_), rates_));
}

Profile StepSummary::profile() const {
  EBBTIDE_CHECK(predicted_, "no step was recorded");
  Profile profile{.facts = facts_,
                  .steps = steps_,
                  .tokens = tokens_,
                  .measured = {},
                  .predicted = *predicted_,
                  .rates = rates_,
                  .as_measured = {},
                  .advice = std::nullopt};
  profile.measured.add(measured_, 1 / static_cast<double>(steps_));
  profile.as_measured = as_measured(rates_, profile.predicted, profile.measured);
  return profile;
}

HardwareModel as_measured(const HardwareModel& rates, const report::Exposure& predicted,
                          const report::Exposure& measured) {
  const auto times = [&](Lane lane) { return times_as_long(lane, predicted, measured); };
  const auto a_byte = [&](Lane lane) {
    return times_as_long_a_byte(lane, rates, predicted, measured);
  };
  HardwareModel model = rates;
  slow_device(model, times(Lane::kCompute));
  slow_host(model, times(Lane::kHostCompute));
  slow_down(model.d2h, a_byte(Lane::kD2h));
  slow_down(model.h2d, a_byte(Lane::kH2d));
  slow_down(model.nvme_write, a_byte(Lane::kNvmeWrite));
  slow_down(model.nvme_read, a_byte(Lane::kNvmeRead));
  slow_down(model.collective, times(Lane::kComm));
  const double link = std::min(a_byte(Lane::kD2h), a_byte(Lane::kH2d));
  model.shared.link_bytes_per_s /= link;
  model.shared.link_both_ways_bytes_per_s /= link;
  model.shared.nvme_write_bytes_per_s /= a_byte(Lane::kNvmeWrite);
  model.shared.nvme_read_bytes_per_s /= a_byte(Lane::kNvmeRead);
  return model;
}

}  // namespace ebbtide::profile
