#include "src/cli/page_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "src/cli/profile_flag.hpp"
#include "src/model/policy.hpp"
#include "src/report/units.hpp"
#include "src/train/resolve_options.hpp"

namespace ebbtide::cli {
namespace {

using report::bytes_text;

std::string exact_bytes(std::uint64_t bytes) {
  return bytes < 1024 ? bytes_text(bytes) : fmt::format("{} ({} bytes)", bytes_text(bytes), bytes);
}

std::string mode_text(model::ActivationMode mode) {
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
  return "keep what fits, offload the rest";
}

std::string fraction_text(const model::SavedFraction& saved) {
  if (saved.even()) return fmt::format("{}", saved.norms);
  return fmt::format("norms {}, heads {}, MLP {}", saved.norms, saved.heads, saved.mlp);
}

std::string reach_text(Reach reach) {
  switch (reach) {
    case Reach::kDevice:
      return "device";
    case Reach::kHost:
      return "host";
    case Reach::kNvme:
      return "nvme, at once";
    case Reach::kAny:
      break;
  }
  return "as far as room asks for";
}

std::string bucket_text(const train::TrainOptions& options) {
  if (options.planning.bucket_bytes) return exact_bytes(*options.planning.bucket_bytes);
  return "a hundred latencies of each lane";
}

std::string prefetch_text(const train::TrainOptions& options, const HardwareModel& hardware) {
  if (options.planning.prefetch_chunk_steps)
    return fmt::format("{}", *options.planning.prefetch_chunk_steps);
  return fmt::format("each load at its place on the link, at least {} ahead",
                     report::seconds_text(train::plan_options(options, hardware).prefetch_seconds));
}

// "N things (default: 5)" -> "5".
std::string default_of(const CLI::Option& option) {
  constexpr std::string_view kMark = "(default: ";
  const std::string text = option.get_description();
  const std::size_t at = text.rfind(kMark);
  if (at == std::string::npos || !text.ends_with(')')) return "";
  return text.substr(at + kMark.size(), text.size() - at - kMark.size() - 1);
}

std::string given_text(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "on";
  std::string text;
  for (const std::string& result : option.results()) text += (text.empty() ? "" : ", ") + result;
  return text;
}

bool is_shown(const CLI::Option& option) {
  constexpr std::array kNotOfARun{"--help",    "--config",      "--json",
                                  "--explain", "--max-seq-len", "--compare"};
  const std::string name = option.get_name();
  const bool built =
      option.get_description().find("not available in this version") == std::string::npos;
  return built && !option.get_group().empty() &&
         std::ranges::find(kNotOfARun, name) == kNotOfARun.end();
}

}  // namespace

Resolved resolved_settings(const train::TrainOptions& options, const train::ProgramRecipe& recipe,
                           const Budgets& budgets, const HardwareModel& hardware) {
  const train::MemoryOptions& memory = options.memory;
  const train::OptimizerOptions& optimizer = options.optimizer;
  return {
      {"--device-memory", exact_bytes(budgets.device_bytes)},
      {"--host-memory", exact_bytes(budgets.host_bytes)},
      {"--nvme-memory", exact_bytes(budgets.nvme_bytes)},
      {"--parameter-tier", describe(recipe.placement.parameters)},
      {"--gradient-tier", describe(recipe.placement.gradients)},
      {"--optimizer-tier", describe(recipe.placement.optimizer)},
      {"--max-live-parameters", memory.max_live_parameter_bytes
                                    ? exact_bytes(*memory.max_live_parameter_bytes)
                                    : "no limit of their own"},
      {"--chunk-tokens", fmt::format("{}", recipe.shape.chunk_tokens)},
      {"--attention-group", fmt::format("{}", recipe.shape.attention_group)},
      {"--activations", mode_text(recipe.activations.mode)},
      {"--offload-fraction", fraction_text(recipe.activations.saved_fraction)},
      {"--activation-tier", reach_text(recipe.activations.reach)},
      {"--prefetch-distance", prefetch_text(options, hardware)},
      {"--transfer-bucket-size", bucket_text(options)},
      {"--min-learning-rate",
       fmt::format("{:.6g}", optimizer.min_learning_rate.value_or(optimizer.learning_rate / 10))},
      {"--hardware", hardware.name},
  };
}

std::string page_title(const std::string& model, const model::StepShape& shape) {
  return fmt::format("{}, sequences of {} tokens, {}", model,
                     report::tokens_text(static_cast<double>(shape.seq_len)), name(shape.dtype));
}

std::vector<report::PageSetting> page_settings(const CLI::App& app, const Resolved& resolved,
                                               const tune::SavedSettings& profile) {
  std::vector<report::PageSetting> settings;
  for (const CLI::Option* option : app.get_options()) {
    if (!is_shown(*option)) continue;
    const std::string given = option->empty() ? "" : given_text(*option);
    const bool is_given = !option->empty() && given != "auto";
    const auto known = resolved.find(option->get_name());
    const std::string value = known != resolved.end() ? known->second
                              : !given.empty()        ? given
                                                      : default_of(*option);
    const bool of_profile = sets(profile, option->get_name().substr(2));
    settings.push_back({.name = option->get_name(),
                        .value = value,
                        .source = of_profile                ? report::SettingSource::kProfile
                                  : is_given                ? report::SettingSource::kGiven
                                  : known != resolved.end() ? report::SettingSource::kAuto
                                                            : report::SettingSource::kDefault});
  }
  return settings;
}

}  // namespace ebbtide::cli
