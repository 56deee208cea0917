// The flags that tuning may set, as values of a run's options and as texts. Plain data; pure.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/train/candidate.hpp"
#include "src/train/options.hpp"

namespace ebbtide::tune {

// By their names on the command line, without the dashes.
inline constexpr std::array<std::string_view, 10> kTunable{
    "chunk-tokens",    "attention-group",   "activations",          "offload-fraction",
    "activation-tier", "prefetch-distance", "transfer-bucket-size", "parameter-tier",
    "gradient-tier",   "optimizer-tier"};

// Values of all of them.
struct Setting {
  train::PlanningOptions planning;
  std::optional<Tier> parameter_tier;
  std::optional<Tier> gradient_tier;
  std::optional<Tier> optimizer_tier;

  bool operator==(const Setting&) const = default;
};

// Names of kTunable that keep the value that they have.
using Fixed = std::set<std::string, std::less<>>;

Setting setting_of(const train::TrainOptions& options);
train::TrainOptions with(train::TrainOptions options, const Setting& setting);
// Everything on "auto" that is not fixed.
Setting freed(const Setting& setting, const Fixed& fixed);

struct FlagValue {
  std::string name;  // without dashes
  std::string value;

  bool operator==(const FlagValue&) const = default;
};

// All of kTunable in its order, "auto" where it is so.
std::vector<FlagValue> flags_of(const Setting& setting);
// "--chunk-tokens 512 --prefetch-distance 2": those that are not "auto"; "auto" where all are.
std::string flags_text(const Setting& setting);
// What has to be typed after the start's flags, or in their place: all that differ from the start,
// "auto" too, and those that neither leaves to "auto".
std::string flags_to_paste(const Setting& start, const Setting& setting);

// The setting that asks for what a search tried, as far as flags can: nothing where another part of
// each layer is saved than of the others. What is fixed stays.
std::optional<Setting> asking_for(const train::Candidate& candidate, const Setting& base,
                                  const Fixed& fixed);

}  // namespace ebbtide::tune
