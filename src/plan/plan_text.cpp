#include "src/plan/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "src/model/policy.hpp"
#include "src/report/units.hpp"

namespace ebbtide::plan {
namespace {

using report::bytes_text;
using report::tokens_text;

// Seconds as far as they are compared, also where they come to minutes.
std::string seconds_text(double seconds) {
  constexpr double kLong = 120;
  return seconds < kLong ? report::seconds_text(seconds) : fmt::format("{:.0f} s", seconds);
}

constexpr std::array kLanes{Lane::kCompute,  Lane::kHostCompute, Lane::kD2h, Lane::kH2d,
                            Lane::kNvmeRead, Lane::kNvmeWrite,   Lane::kComm};

std::string rate_text(double bytes_per_s) {
  return fmt::format("{:.3g} GB/s", bytes_per_s / 1e9);
}

bool is_link(Lane lane) {
  return lane == Lane::kD2h || lane == Lane::kH2d || lane == Lane::kNvmeRead ||
         lane == Lane::kNvmeWrite;
}

std::string lane_line(Lane lane, const Prediction& prediction, const HardwareModel& rates) {
  const report::LaneTime& use = prediction.exposure.of(lane);
  std::string line = fmt::format("  {:<14}{:>12}{:>8.1f} %", name(lane), seconds_text(use.busy_s),
                                 100 * use.busy_s / prediction.step_seconds);
  if (lane != Lane::kCompute) line += fmt::format("{:>12}", seconds_text(use.exposed_s));
  if (is_link(lane))
    line +=
        fmt::format("{:>13}{:>13}", bytes_text(use.bytes), rate_text(rates.rate(lane).bytes_per_s));
  return line + "\n";
}

// Drives are rated in powers of 1000.
std::string terabytes_text(double bytes) {
  return fmt::format("{:.3g} TB", bytes / 1e12);
}

std::string drives_text(const Prediction& prediction) {
  const std::uint64_t written = prediction.exposure.of(Lane::kNvmeWrite).bytes;
  if (written == 0) return "drives: nothing is written\n";
  const DriveLife& life = prediction.drives;
  std::string text = fmt::format("drives: {} written a step, {} a day", bytes_text(written),
                                 terabytes_text(life.bytes_a_day));
  if (!life.days) return text + "; what they are rated for is not known\n";
  return text + fmt::format("; they are rated for {:.0f} TB, which lasts {:.0f} days\n",
                            life.endurance_bytes / 1e12, *life.days);
}

std::string placement_text(const model::StatePlacement& placement) {
  return fmt::format("{:<8}{:<11}{:<11}", name(placement.parameters), name(placement.gradients),
                     name(placement.optimizer));
}

bool is_planned(const train::Candidate& candidate, const PlannedRun& run) {
  if (!run.fits()) return false;
  const train::ProgramRecipe& recipe = run.plans->recipe();
  return candidate.placement == recipe.placement && candidate.activations == recipe.activations &&
         candidate.attention_group == recipe.shape.attention_group;
}

// The first clause: the whole of it is in the verdict.
std::string_view in_short(std::string_view why) {
  return why.substr(0, std::min(why.find(';'), why.find(" (--")));
}

std::string remedy_text(const Remedy& remedy, const Target& target) {
  const std::uint64_t sharing = remedy.tier == Tier::kDevice ? 1 : target.ranks_on_node;
  const std::uint64_t bytes = remedy.bytes * sharing;
  const std::uint64_t mebibytes = (bytes + (std::uint64_t{1} << 20) - 1) >> 20;
  return fmt::format("  would fit: --{}-memory {}MiB ({}{})\n", name(remedy.tier), mebibytes,
                     bytes_text(bytes), sharing > 1 ? " a node" : "");
}

}  // namespace

std::string verdict_text(const Request& request, const PlannedRun& run) {
  const std::string what = fmt::format(
      "{}, sequences of {} tokens, {}, on {}", request.options.model,
      tokens_text(static_cast<double>(run.shape.seq_len)), name(run.shape.dtype), run.target.name);
  if (run.fits()) return fmt::format("fits: {}\n", what);
  std::string text = fmt::format("does not fit: {}\n  {}\n", what, run.why_not);
  if (run.remedies.empty())
    return text +
           "  no budget of one tier alone would make it fit: shorten --seq-len, or give "
           "more of several\n";
  for (const Remedy& remedy : run.remedies) text += remedy_text(remedy, run.target);
  return text;
}

std::string settings_text(const PlannedRun& run) {
  const train::ProgramRecipe& recipe = run.plans->recipe();
  const model::StepShape& shape = run.shape;
  return fmt::format(
      "{} chunks of {} tokens, {} query chunks a pass over the keys\n"
      "weights on {}, gradients on {}, optimizer state on {}; activations {}\n",
      shape.chunks(), shape.chunk_tokens, recipe.shape.attention_group,
      name(recipe.placement.parameters), name(recipe.placement.gradients),
      name(recipe.placement.optimizer), model::describe(recipe.activations));
}

std::string text(const Prediction& prediction, const PlannedRun& run) {
  const HardwareModel& rates = run.target.rates;
  std::string out = fmt::format(
      "a step takes {}: {} tokens/s, {:.1f} % MFU (causal model flops 6 P s + 6 L h s^2 of {:.4g} "
      "TFLOP/s{})\n"
      "  {} to {} where each task strays by 3 % and drives answer late now and then ({} seeds)\n"
      "  transfers: {} hidden behind compute; compute stands still for {} of the step\n"
      "  {:<14}{:>12}{:>10}{:>12}{:>13}{:>13}\n",
      seconds_text(prediction.step_seconds), tokens_text(prediction.tokens_per_second()),
      100 * prediction.mfu(), prediction.peak_flops_per_s / 1e12,
      run.target.flops == FlopRate::kSustained ? ", sustained" : "",
      seconds_text(prediction.spread.fastest_seconds),
      seconds_text(prediction.spread.slowest_seconds), prediction.spread.steps,
      seconds_text(prediction.hidden_seconds()), seconds_text(prediction.exposed_seconds()), "lane",
      "busy", "of step", "exposed", "bytes", "at most");
  for (const Lane lane : kLanes) {
    if (prediction.exposure.of(lane).busy_s > 0) out += lane_line(lane, prediction, rates);
  }
  return out + drives_text(prediction);
}

std::string text(const std::optional<OtherChunk>& other) {
  if (!other) return "";
  return fmt::format("  --chunk-tokens {} would take {}; sums would go in another order\n",
                     other->tokens, seconds_text(other->step_seconds));
}

std::string candidates_text(const PlannedRun& run) {
  constexpr std::size_t kMostShown = 10;
  std::vector<train::Tried> tried = run.tried;
  std::ranges::stable_sort(tried, [](const train::Tried& a, const train::Tried& b) {
    return a.fits != b.fits ? a.fits : a.step_seconds < b.step_seconds;
  });
  std::string out =
      fmt::format("tried {} settings\n  {:<8}{:<11}{:<11}{:<56}{:<7}{}\n", tried.size(), "weights",
                  "gradients", "optimizer", "activations", "group", "a step");
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const train::Candidate& candidate = tried[i].candidate;
    const bool planned = is_planned(candidate, run);
    if (i >= kMostShown && !planned) continue;
    out += fmt::format("  {}{:<56}{:<7}{}{}\n", placement_text(candidate.placement),
                       model::describe(candidate.activations), candidate.attention_group,
                       tried[i].fits ? seconds_text(tried[i].step_seconds)
                                     : std::string(in_short(tried[i].why_not)),
                       planned ? "  <- planned" : "");
  }
  if (tried.size() > kMostShown) out += "  and slower ones (--json has all)\n";
  if (run.fits() && !is_planned(tried.front().candidate, run))
    out +=
        "  of those within 0.5 % of the fastest, the one that writes least to NVMe, then the one\n"
        "  that holds least of the host, is planned\n";
  return out;
}

}  // namespace ebbtide::plan
