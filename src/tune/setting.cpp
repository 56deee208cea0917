#include "src/tune/setting.hpp"

#include <fmt/format.h>

namespace ebbtide::tune {
namespace {

using model::ActivationMode;
constexpr const char* kAuto = "auto";

template <typename T>
std::string or_auto(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : kAuto;
}
// In the largest unit that gives a whole number.
std::string size_or_auto(const std::optional<std::uint64_t>& bytes) {
  if (!bytes) return kAuto;
  std::uint64_t amount = *bytes;
  std::size_t unit = 0;
  constexpr std::array kUnits{"", "KiB", "MiB", "GiB"};
  for (; amount > 0 && amount % 1024 == 0 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  return fmt::format("{}{}", amount, kUnits[unit]);
}
std::string or_auto(const std::optional<Tier>& tier) {
  return tier ? std::string(name(*tier)) : kAuto;
}

std::string mode_name(ActivationMode mode) {
  switch (mode) {
    case ActivationMode::kKeep:
      return "keep";
    case ActivationMode::kOffload:
      return "offload";
    case ActivationMode::kRecompute:
      return "recompute";
    case ActivationMode::kAuto:
      break;
  }
  return kAuto;
}

std::string reach_name(Reach reach) {
  return reach == Reach::kHost ? "host" : reach == Reach::kNvme ? "nvme" : kAuto;
}

std::string joined(const std::vector<FlagValue>& flags) {
  std::string text;
  for (const FlagValue& flag : flags)
    text += fmt::format("{}--{} {}", text.empty() ? "" : " ", flag.name, flag.value);
  return text.empty() ? kAuto : text;
}

}  // namespace

Setting setting_of(const train::TrainOptions& options) {
  const train::MemoryOptions& memory = options.memory;
  return {options.planning, memory.parameter_tier, memory.gradient_tier, memory.optimizer_tier};
}

train::TrainOptions with(train::TrainOptions options, const Setting& setting) {
  options.planning = setting.planning;
  options.memory.parameter_tier = setting.parameter_tier;
  options.memory.gradient_tier = setting.gradient_tier;
  options.memory.optimizer_tier = setting.optimizer_tier;
  return options;
}

Setting freed(const Setting& setting, const Fixed& fixed) {
  Setting result;
  const auto keep = [&fixed](std::string_view name, auto& target, const auto& value) {
    if (fixed.contains(name)) target = value;
  };
  train::PlanningOptions& planning = result.planning;
  const train::PlanningOptions& given = setting.planning;
  keep("chunk-tokens", planning.chunk_tokens, given.chunk_tokens);
  keep("attention-group", planning.attention_group, given.attention_group);
  keep("activations", planning.activations, given.activations);
  keep("offload-fraction", planning.saved_fraction, given.saved_fraction);
  keep("activation-tier", planning.activation_reach, given.activation_reach);
  keep("prefetch-distance", planning.prefetch_chunk_steps, given.prefetch_chunk_steps);
  keep("transfer-bucket-size", planning.bucket_bytes, given.bucket_bytes);
  keep("parameter-tier", result.parameter_tier, setting.parameter_tier);
  keep("gradient-tier", result.gradient_tier, setting.gradient_tier);
  keep("optimizer-tier", result.optimizer_tier, setting.optimizer_tier);
  return result;
}

std::vector<FlagValue> flags_of(const Setting& setting) {
  const train::PlanningOptions& planning = setting.planning;
  const std::array<std::string, kTunable.size()> values{
      or_auto(planning.chunk_tokens),        or_auto(planning.attention_group),
      mode_name(planning.activations),       or_auto(planning.saved_fraction),
      reach_name(planning.activation_reach), or_auto(planning.prefetch_chunk_steps),
      size_or_auto(planning.bucket_bytes),   or_auto(setting.parameter_tier),
      or_auto(setting.gradient_tier),        or_auto(setting.optimizer_tier)};
  std::vector<FlagValue> flags;
  for (std::size_t at = 0; at < kTunable.size(); ++at)
    flags.push_back({std::string(kTunable[at]), values[at]});
  return flags;
}

std::string flags_text(const Setting& setting) {
  std::vector<FlagValue> flags = flags_of(setting);
  std::erase_if(flags, [](const FlagValue& flag) { return flag.value == kAuto; });
  return joined(flags);
}

std::string flags_to_paste(const Setting& start, const Setting& setting) {
  const std::vector<FlagValue> before = flags_of(start);
  std::vector<FlagValue> flags;
  for (std::size_t at = 0; const FlagValue& flag : flags_of(setting)) {
    if (flag.value != kAuto || before[at].value != kAuto) flags.push_back(flag);
    ++at;
  }
  return joined(flags);
}

std::optional<Setting> asking_for(const train::Candidate& candidate, const Setting& base,
                                  const Fixed& fixed) {
  const model::ActivationPolicy& policy = candidate.activations;
  if (!policy.saved_fraction.even() || !candidate.placement.is_whole()) return std::nullopt;
  Setting setting = base;
  const auto set = [&fixed](std::string_view name, auto& target, const auto& value) {
    if (!fixed.contains(name)) target = value;
  };
  set("activations", setting.planning.activations, policy.mode);
  // What is kept or recomputed is all or nothing by its name.
  if (policy.mode == ActivationMode::kAuto || policy.mode == ActivationMode::kOffload)
    set("offload-fraction", setting.planning.saved_fraction, policy.saved_fraction.norms);
  set("attention-group", setting.planning.attention_group, candidate.attention_group);
  set("parameter-tier", setting.parameter_tier, candidate.placement.parameters.tier);
  set("gradient-tier", setting.gradient_tier, candidate.placement.gradients.tier);
  set("optimizer-tier", setting.optimizer_tier, candidate.placement.optimizer.tier);
  return setting;
}

}  // namespace ebbtide::tune
