// Data of a page as JSON. Times are whole nanoseconds, bytes are whole; what is one value for every
// block of a level is left out.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "src/report/page.hpp"

namespace ebbtide::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kTiers{Tier::kDevice, Tier::kHost, Tier::kNvme};

std::int64_t ns(double seconds) {
  return std::llround(seconds * 1e9);
}

// Four digits do for what is only shown.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

template <typename Names>
Json index_or_none(const Names& name) {
  return name ? Json(*name) : Json(-1);
}

void add_names(const std::vector<BlockNames>& names, Json& to) {
  bool any_made = false;
  bool any_wait = false;
  for (const BlockNames& block : names) {
    to["what"].push_back(block.what);
    to["made"].push_back(index_or_none(block.made));
    to["waited_for"].push_back(index_or_none(block.waited_for));
    any_made = any_made || block.made.has_value();
    any_wait = any_wait || block.waited_for.has_value();
  }
  if (!any_made) to.erase("made");
  if (!any_wait) to.erase("waited_for");
}

// The class that most of a block's time goes to; -1: none is known.
std::int64_t main_class(const Block& block) {
  const auto most = std::ranges::max_element(block.class_s);
  return *most > 0 ? most - block.class_s.begin() : -1;
}

// Columns; a start is counted from the one before.
Json level_json(const LevelView& view) {
  Json to{{"quantum_ns", ns(view.level.quantum_s)}, {"start_ns", Json::array()}};
  std::int64_t before_ns = 0;
  bool merged = false;
  bool overlaps = false;
  bool flops = false;
  bool classes = false;
  for (const Block& block : view.level.blocks) {
    const std::int64_t start_ns = ns(block.start_s);
    to["start_ns"].push_back(start_ns - before_ns);
    before_ns = start_ns;
    to["length_ns"].push_back(ns(block.end_s) - start_ns);
    to["busy_ns"].push_back(ns(block.busy_s));
    to["tasks"].push_back(block.tasks);
    to["bytes"].push_back(block.bytes);
    to["flops"].push_back(rounded(block.flops));
    to["class"].push_back(main_class(block));
    to["waited_ns"].push_back(ns(block.waited_s));
    merged = merged || block.tasks > 1;
    overlaps = overlaps || std::abs(block.end_s - block.start_s - block.busy_s) > 1e-9;
    flops = flops || block.flops > 0;
    classes = classes || main_class(block) >= 0;
  }
  if (!merged) to.erase("tasks");
  if (!overlaps) to.erase("busy_ns");
  if (!flops) to.erase("flops");
  if (!classes) to.erase("class");
  add_names(view.names, to);
  return to;
}

Json causes_json(const PerCause<double>& seconds) {
  Json to = Json::object();
  for (std::size_t i = 0; i < kCauseCount; ++i)
    to[std::string(name(static_cast<Cause>(i)))] = seconds[i];
  return to;
}

Json lane_json(const StepView& step, Lane lane, const HardwareModel& hardware) {
  const LaneView& view = step.lanes[index(lane)];
  const LaneTime& time = step.exposure.of(lane);
  Json to{{"lane", std::string(ebbtide::name(lane))},
          {"tasks", view.tasks},
          {"bytes", view.bytes},
          {"flops", rounded(view.flops)},
          {"busy_seconds", time.busy_s},
          {"exposed_seconds", time.exposed_s},
          {"hidden_seconds", time.hidden_s()},
          {"idle_seconds", step.exposure.idle_s(lane)},
          {"causes", causes_json(time.causes)},
          {"levels", Json::array()}};
  if (is_transfer(lane)) {
    to["planned_bytes_per_second"] = hardware.rate(lane).bytes_per_s;
    to["limit_bytes_per_second"] = hardware.rate_alone(lane).bytes_per_s;
  }
  if (lane == Lane::kComm && hardware.collective.bytes_per_s > 0)
    to["limit_bytes_per_second"] = hardware.collective.bytes_per_s;
  for (const LevelView& level : view.levels) to["levels"].push_back(level_json(level));
  return to;
}

std::string_view class_name(OpClass op_class) {
  switch (op_class) {
    case OpClass::kMatmul:
      return "products";
    case OpClass::kAttention:
      return "attention";
    case OpClass::kElementwise:
      break;
  }
  return "elementwise";
}

// What the hardware model says that large ops of the class reach; 0: not known.
double class_limit(const KernelUse& use, const HardwareModel& hardware) {
  if (!use.op_class) return 0;
  const double known = hardware.class_rates[static_cast<std::size_t>(*use.op_class)].per_s;
  if (known > 0) return known;
  return *use.op_class == OpClass::kElementwise ? hardware.device_memory_bytes_per_s
                                                : hardware.device_flops_per_s;
}

Json kernel_json(const KernelUse& use, const HardwareModel& hardware) {
  Json to{{"kernel", use.kernel},
          {"lane", std::string(ebbtide::name(use.lane))},
          {"ops", use.ops},
          {"seconds", use.seconds},
          {"flops", rounded(use.flops)},
          {"bytes", rounded(use.bytes)}};
  if (use.op_class) {
    to["class"] = std::string(class_name(*use.op_class));
    to["limit_per_second"] = class_limit(use, hardware);
  }
  return to;
}

Json memory_json(const TierMemory& memory) {
  Json categories = Json::array();
  for (const CategoryBytes& category : memory.categories)
    categories.push_back({{"category", category.category}, {"bytes", category.bytes}});
  return {{"peak_bytes", memory.peak_bytes()}, {"categories", categories}};
}

Json still_json(const std::vector<StillView>& stretches) {
  Json to{{"start_ns", Json::array()}, {"length_ns", Json::array()}, {"cause", Json::array()}};
  for (const StillView& stretch : stretches) {
    to["start_ns"].push_back(ns(stretch.start_s));
    to["length_ns"].push_back(ns(stretch.end_s) - ns(stretch.start_s));
    to["cause"].push_back(std::string(name(stretch.cause)));
  }
  return to;
}

Json step_json(const StepView& step, const HardwareModel& hardware) {
  Json to{{"step", step.step},
          {"step_seconds", step.step_seconds},
          {"still_seconds", step.exposure.still_s()},
          {"causes", causes_json(step.exposure.causes)},
          {"still", still_json(step.still)},
          {"shorter_still", step.shorter_still},
          {"shorter_still_seconds", step.shorter_still_s},
          {"runs", Json::array()},
          {"lanes", Json::array()},
          {"kernels", Json::array()},
          {"names", step.names}};
  for (const RunView& run : step.runs)
    to["runs"].push_back(
        {{"name", run.name}, {"start_seconds", run.start_s}, {"end_seconds", run.end_s}});
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    if (step.lanes[lane].tasks > 0)
      to["lanes"].push_back(lane_json(step, static_cast<Lane>(lane), hardware));
  }
  for (const KernelUse& use : step.kernels) to["kernels"].push_back(kernel_json(use, hardware));
  for (const Tier tier : kTiers)
    to["memory"][std::string(ebbtide::name(tier))] = memory_json(step.memory[index(tier)]);
  return to;
}

Json peaks_json(const PerTier<TierPeaks>& peaks) {
  Json to = Json::object();
  for (const Tier tier : kTiers) {
    const TierPeaks& peak = peaks[index(tier)];
    Json one{{"budget_bytes", peak.budget_bytes}, {"planned_bytes", peak.planned_bytes}};
    if (peak.measured_bytes) one["measured_bytes"] = *peak.measured_bytes;
    to[std::string(ebbtide::name(tier))] = one;
  }
  return to;
}

// Of a long run every so many steps and the last: a curve has no more points than a screen.
constexpr std::size_t kMostSteps = 2000;

Json history_json(const std::vector<StepReport>& history) {
  Json to = Json::object();
  const std::size_t every = (history.size() + kMostSteps - 1) / kMostSteps;
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (i % every != 0 && i + 1 != history.size()) continue;
    const StepReport& step = history[i];
    to["step"].push_back(step.step);
    to["loss"].push_back(step.loss);
    to["grad_norm"].push_back(step.grad_norm);
    to["learning_rate"].push_back(step.learning_rate);
    to["step_seconds"].push_back(step.step_seconds);
    to["exposed_seconds"].push_back(step.exposed_total());
  }
  return to;
}

std::string_view source_name(SettingSource source) {
  switch (source) {
    case SettingSource::kGiven:
      return "given";
    case SettingSource::kProfile:
      return "profile";
    case SettingSource::kAuto:
      return "auto";
    case SettingSource::kDefault:
      break;
  }
  return "default";
}

Json settings_json(const std::vector<PageSetting>& settings) {
  Json to = Json::array();
  for (const PageSetting& setting : settings)
    to.push_back({{"name", setting.name},
                  {"value", setting.value},
                  {"source", std::string(source_name(setting.source))}});
  return to;
}

Json run_json(const RunPage& page) {
  Json to{{"version", page.version},
          {"command", page.command},
          {"title", page.title},
          {"machine", page.machine},
          {"ending", page.ending},
          {"remarks", page.remarks},
          {"verdict", verdict(page)},
          {"ranks", page.ranks},
          {"tokens", page.tokens},
          {"model_flops", page.model_flops},
          {"limit_flops_per_second", page.limit_flops_per_s},
          {"limit_is_peak", page.limit == FlopsLimit::kPeak},
          {"peaks", peaks_json(page.peaks)},
          {"settings", settings_json(page.settings)},
          {"history", history_json(page.history)},
          {"evaluations", Json::array()}};
  if (const std::optional<double> seconds = page.measured_step_seconds())
    to["measured_step_seconds"] = *seconds;
  for (const Evaluation& evaluation : page.evaluations)
    to["evaluations"].push_back({{"step", evaluation.step}, {"loss", evaluation.loss}});
  return to;
}

}  // namespace

std::string page_json(const RunPage& page) {
  Json to = run_json(page);
  if (page.predicted) to["predicted"] = step_json(*page.predicted, page.hardware);
  if (page.measured) to["measured"] = step_json(*page.measured, page.hardware);
  // Names may come from files: what is no UTF-8 is replaced, not thrown.
  return to.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ebbtide::report
