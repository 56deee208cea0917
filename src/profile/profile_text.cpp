#include "src/profile/profile_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "src/report/units.hpp"

namespace ebbtide::profile {
namespace {

using report::Cause;
using report::Exposure;

// Of sums that cancel there may be a rest.
std::string seconds_text(double seconds) {
  return report::seconds_text(std::max(seconds, 0.0));
}

// Less of the step than this is not worth words.
constexpr double kWorthWords = 0.01;

constexpr std::array kLanes{Lane::kCompute,  Lane::kHostCompute, Lane::kD2h, Lane::kH2d,
                            Lane::kNvmeRead, Lane::kNvmeWrite,   Lane::kComm};

// What people call what a step waits for.
struct Part {
  std::string_view name;
  std::string_view verb;
  double busy_s = 0;
  double exposed_s = 0;
  report::PerCause<double> causes{};
};

Part part_of(const Exposure& exposure, std::string_view name, std::string_view verb,
             std::initializer_list<Lane> lanes) {
  Part part{.name = name, .verb = verb};
  for (const Lane lane : lanes) {
    part.busy_s += exposure.of(lane).busy_s;
    part.exposed_s += exposure.of(lane).exposed_s;
    for (std::size_t cause = 0; cause < report::kCauseCount; ++cause)
      part.causes[cause] += exposure.of(lane).causes[cause];
  }
  return part;
}

Part part_of(const Exposure& exposure, std::string_view name, std::string_view verb, Cause cause) {
  Part part{.name = name, .verb = verb};
  part.exposed_s = part.causes[index(cause)] = exposure.causes[index(cause)];
  return part;
}

std::vector<Part> parts_of(const Exposure& exposure) {
  std::vector<Part> parts{part_of(exposure, "the link", "is", {Lane::kD2h, Lane::kH2d}),
                          part_of(exposure, "NVMe reads", "are", {Lane::kNvmeRead}),
                          part_of(exposure, "NVMe writes", "are", {Lane::kNvmeWrite}),
                          part_of(exposure, "the host optimizer", "is", {Lane::kHostCompute}),
                          part_of(exposure, "collectives", "are", {Lane::kComm}),
                          part_of(exposure, "reading data", "takes", Cause::kData),
                          part_of(exposure, "dispatch", "takes", Cause::kDispatch)};
  std::ranges::stable_sort(parts, std::greater<>(), &Part::exposed_s);
  return parts;
}

std::string_view words(Cause cause) {
  switch (cause) {
    case Cause::kLateIssue:
      return "transfers are issued too late";
    case Cause::kDeviceRoom:
      return "the device has no room";
    case Cause::kHostRoom:
      return "the host arena has no room";
    case Cause::kNvmeRoom:
      return "the swap files have no room";
    case Cause::kLinkRate:
      return "the link is too slow for these bytes";
    case Cause::kDiskRate:
      return "the drives are too slow for these bytes";
    case Cause::kSmallTransfers:
      return "transfers are too small for their latency";
    case Cause::kHostOptimizer:
      return "ops on the host take that long";
    case Cause::kCollective:
      return "collectives take that long";
    case Cause::kData:
      return "sequences come slowly";
    case Cause::kDispatch:
      break;
  }
  return "nothing was waited for but threads and the engine itself";
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::string percent(double seconds, double of_s) {
  return fmt::format("{:.{}f} %", 100 * seconds / of_s, seconds < 0.1 * of_s ? 1 : 0);
}

std::string exposed_text(const Part& part, double step_s) {
  const auto main = std::ranges::max_element(part.causes);
  const auto cause = static_cast<Cause>(main - part.causes.begin());
  std::string text =
      fmt::format("{} {}{} {} of the step: {}", part.name, part.verb,
                  part.busy_s > 0 ? " exposed" : "", percent(part.exposed_s, step_s), words(cause));
  if (*main < 0.9 * part.exposed_s)
    text += fmt::format(" ({} of it)", percent(*main, part.exposed_s));
  return text;
}

std::string hidden_text(const std::vector<Part>& parts, double step_s) {
  std::vector<std::string_view> hidden;
  std::string_view verb;
  for (const Part& part : parts) {
    if (part.busy_s <= 0) continue;
    if (part.exposed_s > std::min(kWorthWords * step_s, part.busy_s / 2)) continue;
    hidden.push_back(part.name);
    verb = hidden.size() > 1 ? "are" : part.verb;
  }
  if (hidden.empty()) return "";
  return fmt::format("{} {} hidden", joined(hidden), verb);
}

// The shortest way to say what to do.
std::string remedy_text(const Profile& profile) {
  if (!profile.advice) return "";
  const std::vector<Advice>& advice = *profile.advice;
  if (advice.empty()) {
    const double data_s = profile.measured.causes[index(Cause::kData)];
    if (profile.measured.main_cause() == Cause::kData)
      return fmt::format(
          "no flag helps: with --data on a faster disk a step would take {} at best\n",
          seconds_text(profile.measured.step_s - data_s));
    return "no change of a flag that was tried makes the simulated step shorter\n";
  }
  const auto way = [](const Advice& one) {
    return fmt::format("{} ({}) for {} a step", one.why, one.flags, seconds_text(one.step_s));
  };
  const auto saved_s = [&](std::size_t i) { return profile.measured.step_s - advice[i].step_s; };
  std::string text = way(advice.front());
  if (advice.size() > 1 && saved_s(1) > saved_s(0) / 2) text += ",\nor " + way(advice[1]);
  return text + "\n";
}

std::string lanes_text(const Profile& profile) {
  const double step_s = profile.measured.step_s;
  std::string out = fmt::format("  {:<14}{:>10}{:>10}{:>10}{:>10}{:>10}{:>13}{:>12}{:>12}{:>12}\n",
                                "lane", "busy", "of step", "hidden", "exposed", "idle", "bytes",
                                "reached", "at most", "predicted");
  for (const Lane lane : kLanes) {
    const report::LaneTime& time = profile.measured.of(lane);
    if (time.busy_s <= 0) continue;
    out += fmt::format("  {:<14}{:>10}{:>8.1f} %", name(lane), seconds_text(time.busy_s),
                       100 * time.busy_s / step_s);
    out += lane == Lane::kCompute ? fmt::format("{:>20}", "")
                                  : fmt::format("{:>10}{:>10}", seconds_text(time.hidden_s()),
                                                seconds_text(time.exposed_s));
    out += fmt::format("{:>10}", seconds_text(profile.measured.idle_s(lane)));
    out += is_transfer(lane)
               ? fmt::format("{:>13}{:>7.3g} GB/s{:>7.3g} GB/s", report::bytes_text(time.bytes),
                             static_cast<double>(time.bytes) / time.busy_s / 1e9,
                             profile.rates.rate_alone(lane).bytes_per_s / 1e9)
               : fmt::format("{:>37}", "");
    out += fmt::format("{:>12}\n", seconds_text(profile.predicted.of(lane).busy_s));
  }
  return out;
}

std::string causes_text(const Profile& profile) {
  std::string out = fmt::format("  {:<58}{:>10}{:>10}{:>12}\n", "compute stood still because",
                                "measured", "of step", "predicted");
  std::vector<Cause> causes;
  for (std::size_t i = 0; i < report::kCauseCount; ++i) causes.push_back(static_cast<Cause>(i));
  const auto measured_s = [&](Cause cause) { return profile.measured.causes[index(cause)]; };
  std::ranges::stable_sort(causes, std::greater<>(), measured_s);
  for (const Cause cause : causes) {
    const double predicted_s = profile.predicted.causes[index(cause)];
    if (measured_s(cause) < 1e-6 && predicted_s < 1e-6) continue;
    out += fmt::format(
        "  {:<58}{:>10}{:>8.1f} %{:>12}\n", words(cause), seconds_text(measured_s(cause)),
        100 * measured_s(cause) / profile.measured.step_s, seconds_text(predicted_s));
  }
  return out + fmt::format("  {:<58}{:>10}{:>8.1f} %{:>12}\n", "in all",
                           seconds_text(profile.measured.still_s()),
                           100 * profile.measured.still_s() / profile.measured.step_s,
                           seconds_text(profile.predicted.still_s()));
}

std::string layers_text(const Profile& profile) {
  constexpr std::size_t kMostShown = 5;
  std::vector<std::pair<std::int32_t, report::LayerTime>> layers(profile.measured.layers.begin(),
                                                                 profile.measured.layers.end());
  std::ranges::stable_sort(layers, std::greater<>(),
                           [](const auto& layer) { return layer.second.still_s; });
  std::string out =
      fmt::format("  {:<26}{:>10}{:>14}\n", "before ops of layer", "still", "they compute");
  for (std::size_t i = 0; i < std::min(layers.size(), kMostShown); ++i)
    out += fmt::format(
        "  {:<26}{:>10}{:>14}\n",
        layers[i].first < 0 ? "none, optimizer included" : fmt::format("{}", layers[i].first),
        seconds_text(layers[i].second.still_s), seconds_text(layers[i].second.compute_s));
  if (layers.size() > kMostShown)
    out += fmt::format("  and {} more (--json has all)\n", layers.size() - kMostShown);
  return out;
}

std::string advice_text(const Profile& profile) {
  if (!profile.advice || profile.advice->empty()) return "";
  std::string out = fmt::format("\n  {:<34}{:>10}  {}\n", "change", "a step", "what it does");
  for (const Advice& one : *profile.advice)
    out += fmt::format("  {:<34}{:>10}  {}\n", one.flags, seconds_text(one.step_s), one.why);
  return out;
}

}  // namespace

std::string verdict_text(const Profile& profile) {
  const Exposure& measured = profile.measured;
  std::string text = fmt::format("a step takes {}, and compute is at work {} of it\n",
                                 seconds_text(measured.step_s),
                                 percent(measured.of(Lane::kCompute).busy_s, measured.step_s));
  const std::vector<Part> parts = parts_of(measured);
  if (const std::string hidden = hidden_text(parts, measured.step_s); !hidden.empty())
    text += hidden + "\n";
  for (const Part& part : parts)
    if (part.exposed_s > kWorthWords * measured.step_s)
      text += exposed_text(part, measured.step_s) + "\n";
  return text + remedy_text(profile);
}

std::string tables_text(const Profile& profile) {
  return fmt::format(
      "\nmean of {} step{}, predicted {}, measured {}, {} tokens/s\n{}\n{}\n{}{}", profile.steps,
      profile.steps == 1 ? "" : "s", seconds_text(profile.predicted.step_s),
      seconds_text(profile.measured.step_s),
      report::tokens_text(static_cast<double>(profile.tokens) / profile.measured.step_s),
      lanes_text(profile), causes_text(profile), layers_text(profile), advice_text(profile));
}

}  // namespace ebbtide::profile
