#include "src/tune/outcome_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/report/units.hpp"
#include "src/tune/median.hpp"

namespace ebbtide::tune {
namespace {

using Json = nlohmann::ordered_json;
using report::seconds_text;

// "1.41 (1.35 to 1.48)"; requires a pair.
std::string gain_text(const Measured& measured) {
  const auto [least, most] = std::ranges::minmax(measured.gains);
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", measured.gain(), least, most);
}

std::string seconds_or_none(double seconds) {
  return seconds > 0 ? seconds_text(seconds) : "-";
}

double median_seconds(const Measured& measured) {
  return measured.seconds.empty() ? 0 : median(measured.seconds);
}

std::string row(const std::string& name, const Measured& measured) {
  const std::string pairs = measured.gains.empty() ? "" : fmt::format("{}", measured.gains.size());
  std::string text = fmt::format(
      "  {:<6}{:>11}{:>11}{:>7}  {:<22}{}\n", name, seconds_or_none(measured.predicted_seconds),
      seconds_or_none(median_seconds(measured)), pairs,
      measured.gains.empty() ? "" : gain_text(measured), flags_text(measured.setting));
  if (!measured.why_not.empty()) text += fmt::format("        failed: {}\n", measured.why_not);
  return text;
}

std::string table(const Confirmation& confirmed) {
  std::string text = fmt::format("  {:<6}{:>11}{:>11}{:>7}  {:<22}{}\n", "", "predicted",
                                 "measured", "pairs", "times faster", "flags");
  text += row("start", confirmed.start);
  for (std::size_t at = 0; at < confirmed.candidates.size(); ++at)
    text += row(fmt::format("{}", at + 1), confirmed.candidates[at]);
  return text;
}

std::string ending_text(const Outcome& outcome) {
  if (outcome.was_interrupted()) return "interrupted: this is the best so far\n";
  const bool is_late = outcome.confirmed.ended == Ended::kTimeUp;
  return is_late ? "the time limit ended the measurements\n" : "";
}

std::ptrdiff_t measured_count(const Outcome& outcome) {
  const auto was_measured = [](const Measured& each) { return !each.seconds.empty(); };
  return std::ranges::count_if(outcome.confirmed.candidates, was_measured) +
         (was_measured(outcome.confirmed.start) ? 1 : 0);
}

// Chunks decide the order of sums.
std::string chunk_note(const Outcome& outcome) {
  const std::int64_t before = outcome.start.chunk_tokens;
  const std::int64_t now = outcome.best().chunk_tokens;
  if (before == now) return {};
  return fmt::format(
      "chunks have {} tokens, the start's {}: sums are in another order, so that losses and "
      "weights differ in their last bits; --chunk-tokens {} keeps the start's\n",
      now, before, before);
}

std::string kept_text(const Outcome& outcome) {
  const std::vector<Measured>& candidates = outcome.confirmed.candidates;
  std::ptrdiff_t most_pairs = 0;
  for (const Measured& each : candidates) most_pairs = std::max(most_pairs, std::ssize(each.gains));
  if (most_pairs >= kLeastPairs)
    return "nothing was measured to be faster than the start: it is kept\n";
  if (most_pairs > 0)
    return fmt::format("no candidate has the {} pairs that it takes: the start is kept{}\n",
                       kLeastPairs, outcome.was_interrupted() ? "" : "; raise --time-limit");
  if (outcome.was_interrupted()) return "nothing was measured yet: the start is kept\n";
  if (candidates.empty()) return "nothing is predicted to be faster than the start: it is kept\n";
  if (outcome.confirmed.ended == Ended::kTimeUp)
    return "there was no time to measure a candidate: the start is kept; raise --time-limit\n";
  return "no candidate could be run: the start is kept\n";
}

std::string gained_text(const Outcome& outcome) {
  const Measured& best = outcome.best();
  const Measured& start = outcome.confirmed.start;
  const auto [least, most] = std::ranges::minmax(best.gains);
  return fmt::format(
      "{:.2f} times faster than the start: median of {} interleaved pairs, {:.2f} to {:.2f}\n"
      "a step takes {} instead of {}; predicted were {} instead of {}\n"
      "flags:\n  {}\n",
      best.gain(), best.gains.size(), least, most, seconds_text(median_seconds(best)),
      seconds_text(median_seconds(start)), seconds_text(best.predicted_seconds),
      seconds_text(start.predicted_seconds), flags_to_paste(start.setting, best.setting));
}

Json json_of(const Measured& measured) {
  Json flags = Json::object();
  for (const FlagValue& flag : flags_of(measured.setting)) flags[flag.name] = flag.value;
  Json object{{"flags", flags},
              {"chunk_tokens", measured.chunk_tokens},
              {"predicted_step_seconds", measured.predicted_seconds},
              {"step_seconds", measured.seconds},
              {"gains", measured.gains},
              {"faster", measured.is_faster()}};
  if (!measured.why_not.empty()) object["why_not"] = measured.why_not;
  return object;
}

std::string_view name(Ended ended) {
  return ended == Ended::kInterrupted ? "interrupted"
         : ended == Ended::kTimeUp    ? "time up"
                                      : "done";
}

}  // namespace

std::string text(const Outcome& outcome) {
  const std::string head = fmt::format("{} settings were predicted and {} measured, in {}\n",
                                       outcome.predicted.size() + 1, measured_count(outcome),
                                       seconds_text(outcome.seconds));
  return head + table(outcome.confirmed) + ending_text(outcome) +
         (outcome.keeps_start() ? kept_text(outcome) : gained_text(outcome) + chunk_note(outcome));
}

std::string json(const Outcome& outcome, const std::string& profile) {
  const Measured& best = outcome.best();
  Json candidates = Json::array();
  for (const Measured& candidate : outcome.confirmed.candidates)
    candidates.push_back(json_of(candidate));
  const Json object{{"keeps_start", outcome.keeps_start()},
                    {"ended", name(outcome.confirmed.ended)},
                    {"gain", outcome.keeps_start() ? 1.0 : best.gain()},
                    {"paste", flags_to_paste(outcome.start.setting, best.setting)},
                    {"chunk_tokens", best.chunk_tokens},
                    {"predicted", outcome.predicted.size() + 1},
                    {"seconds", outcome.seconds},
                    {"profile", profile},
                    {"start", json_of(outcome.confirmed.start)},
                    {"candidates", candidates}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> notes(const Outcome& outcome) {
  std::vector<std::string> lines{
      "Settings by ebbtide tune, for ebbtide train --profile; explicit flags win over them."};
  if (outcome.keeps_start())
    lines.emplace_back("They are the start's: nothing was measured to be faster.");
  else
    lines.push_back(fmt::format("Measured to be {} times faster than: {}",
                                gain_text(outcome.best()), flags_text(outcome.start.setting)));
  return lines;
}

}  // namespace ebbtide::tune
