#include "src/plan/plan_json.hpp"

#include <fmt/format.h>

#include <string>

namespace ebbtide::plan {
namespace {

constexpr std::array kTiers{Tier::kDevice, Tier::kHost, Tier::kNvme};

std::string text(std::string_view name) {
  return std::string(name);
}

std::string_view name(model::ActivationMode mode) {
  switch (mode) {
    case model::ActivationMode::kKeep:
      return "keep";
    case model::ActivationMode::kOffload:
      return "offload";
    case model::ActivationMode::kRecompute:
      return "recompute";
    case model::ActivationMode::kAuto:
      break;
  }
  return "auto";
}

Json setting(const train::Candidate& candidate) {
  const model::StatePlacement& placement = candidate.placement;
  const model::ActivationPolicy& policy = candidate.activations;
  return {{"parameter_tier", text(ebbtide::name(placement.parameters))},
          {"gradient_tier", text(ebbtide::name(placement.gradients))},
          {"optimizer_tier", text(ebbtide::name(placement.optimizer))},
          {"activations", text(name(policy.mode))},
          {"saved_fraction",
           {{"norms", policy.saved_fraction.norms},
            {"heads", policy.saved_fraction.heads},
            {"mlp", policy.saved_fraction.mlp}}},
          {"attention_group", candidate.attention_group}};
}

Json to_json(const train::Tried& tried) {
  Json object = setting(tried.candidate);
  if (tried.fits) {
    object["step_seconds"] = tried.step_seconds;
    object["nvme_bytes_written"] = tried.nvme_bytes_written;
    object["host_bytes"] = tried.host_bytes;
  } else {
    object["why_not"] = tried.why_not;
  }
  return object;
}

Json budgets_json(const Budgets& budgets) {
  return {{"device_bytes", budgets.device_bytes},
          {"host_bytes", budgets.host_bytes},
          {"nvme_bytes", budgets.nvme_bytes}};
}

Json to_json(const report::BillLine& line) {
  Json object{{"category", line.category}, {"bytes", line.bytes}};
  for (const report::BillPart& part : line.parts)
    object["kinds"].push_back({{"kind", part.kind}, {"bytes", part.bytes}});
  return object;
}

Json to_json(const report::TierBill& bill) {
  Json lines = Json::array();
  for (const report::BillLine& line : bill.lines) lines.push_back(to_json(line));
  return {{"budget_bytes", bill.budget_bytes}, {"reserved_bytes", bill.reserved_bytes},
          {"peak_bytes", bill.peak_bytes},     {"lines", lines},
          {"held_bytes", bill.held_bytes()},   {"fragmentation_bytes", bill.fragmentation_bytes()}};
}

template <typename Number>
Json by_lane(const Prediction& prediction, Number report::LaneTime::*member) {
  Json object = Json::object();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    object[text(ebbtide::name(static_cast<Lane>(lane)))] = prediction.exposure.lanes[lane].*member;
  return object;
}

Json by_cause(const Prediction& prediction) {
  Json object = Json::object();
  for (std::size_t cause = 0; cause < report::kCauseCount; ++cause)
    object[text(report::name(static_cast<report::Cause>(cause)))] =
        prediction.exposure.causes[cause];
  return object;
}

}  // namespace

Json to_json(const Request& request, const PlannedRun& run) {
  Json object{{"fits", run.fits()},
              {"model", request.options.model},
              {"hardware", run.target.name},
              {"ranks", run.target.ranks},
              {"ranks_on_node", run.target.ranks_on_node},
              {"seq_len", run.shape.seq_len},
              {"batch_size", request.options.run.batch_size},
              {"grad_accumulation", request.options.run.grad_accumulation},
              {"dtype", text(ebbtide::name(run.shape.dtype))},
              {"chunk_tokens", run.shape.chunk_tokens},
              {"attention_group", run.shape.attention_group},
              {"budgets", budgets_json(run.target.budgets)}};
  if (run.fits()) {
    const train::ProgramRecipe& recipe = run.plans->recipe();
    object.update(setting({recipe.placement, recipe.activations, recipe.shape.attention_group}));
    object["plan_fingerprint"] = fmt::format("{:016x}", fingerprint(*run.step.front().plan));
  } else {
    object["why_not"] = run.why_not;
    object["would_fit"] = Json::array();
    for (const Remedy& remedy : run.remedies)
      object["would_fit"].push_back(
          {{"tier", text(ebbtide::name(remedy.tier))}, {"bytes", remedy.bytes}});
  }
  object["candidates"] = Json::array();
  for (const train::Tried& tried : run.tried) object["candidates"].push_back(to_json(tried));
  return object;
}

Json to_json(const report::MemoryBill& bill) {
  Json object = Json::object();
  for (const Tier tier : kTiers)
    object[text(ebbtide::name(tier))] = to_json(bill.tiers[index(tier)]);
  object["constant"] = Json::array();
  for (const report::BillLine& line : bill.constant) object["constant"].push_back(to_json(line));
  return object;
}

void add_to(Json& object, const Prediction& prediction, const report::MemoryBill& bill) {
  object["tokens"] = prediction.tokens;
  object["step_seconds"] = prediction.step_seconds;
  object["tokens_per_second"] = prediction.tokens_per_second();
  object["mfu"] = prediction.mfu();
  object["model_flops"] = prediction.model_flops;
  object["fastest_step_seconds"] = prediction.spread.fastest_seconds;
  object["slowest_step_seconds"] = prediction.spread.slowest_seconds;
  object["peak_flops_per_second"] = prediction.peak_flops_per_s;
  Json exposed = by_lane(prediction, &report::LaneTime::exposed_s);
  exposed.erase(text(ebbtide::name(Lane::kCompute)));  // compute does not wait for itself
  object["exposed_seconds"] = exposed;
  object["still_seconds"] = by_cause(prediction);
  object["busy_seconds"] = by_lane(prediction, &report::LaneTime::busy_s);
  object["hidden_seconds"] = prediction.hidden_seconds();
  object["moved_bytes"] = by_lane(prediction, &report::LaneTime::bytes);
  for (const Tier tier : kTiers)
    object[fmt::format("{}_peak_bytes", ebbtide::name(tier))] =
        bill.tiers[index(tier)].reserved_bytes;
  object["nvme_bytes_written"] = prediction.exposure.of(Lane::kNvmeWrite).bytes;
  object["nvme_bytes_read"] = prediction.exposure.of(Lane::kNvmeRead).bytes;
  object["loads"] = prediction.loads.all;
  object["loads_in_time"] = prediction.loads.in_time;
  object["nvme_bytes_written_a_day"] = prediction.drives.bytes_a_day;
  if (prediction.drives.days) object["nvme_endurance_days"] = *prediction.drives.days;
  object["bill"] = to_json(bill);
}

}  // namespace ebbtide::plan
