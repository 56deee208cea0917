#include "src/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "src/report/page_frame.hpp"
#include "src/report/units.hpp"

namespace ebbtide::report {
namespace {

// Compute that stands still for less than this part of the step is not worth a change.
constexpr double kWellHidden = 0.01;

std::string_view in_words(Cause cause) {
  switch (cause) {
    case Cause::kLateIssue:
      return "transfers that were issued too late";
    case Cause::kDeviceRoom:
      return "room on the device";
    case Cause::kHostRoom:
      return "room in host memory";
    case Cause::kNvmeRoom:
      return "room on NVMe";
    case Cause::kLinkRate:
      return "the rate of the link";
    case Cause::kDiskRate:
      return "the rate of the drives";
    case Cause::kSmallTransfers:
      return "the latency of small transfers";
    case Cause::kHostOptimizer:
      return "the optimizer on the host";
    case Cause::kCollective:
      return "collectives";
    case Cause::kData:
      return "reading sequences";
    case Cause::kDispatch:
      break;
  }
  return "starting tasks";
}

std::string of_step(const Exposure& exposure) {
  const double still_s = exposure.still_s();
  const double part = exposure.step_s > 0 ? still_s / exposure.step_s : 0;
  if (part < kWellHidden)
    return fmt::format(
        "Transfers hide behind compute, which stands still for {:.1f} % of the step.", 100 * part);
  const Cause cause = exposure.main_cause();
  return fmt::format(
      "Compute stands still for {:.1f} % of the step ({} of {}), most of it for {} ({}).",
      100 * part, seconds_text(still_s), seconds_text(exposure.step_s), in_words(cause),
      seconds_text(exposure.causes[index(cause)]));
}

std::string against_prediction(const RunPage& page) {
  const std::optional<double> measured_s = page.measured_step_seconds();
  if (!measured_s || !page.predicted || page.predicted->step_seconds <= 0) return "";
  return fmt::format(" A step took {:.2f} times what was predicted.",
                     *measured_s / page.predicted->step_seconds);
}

}  // namespace

std::optional<double> RunPage::measured_step_seconds() const {
  std::vector<double> seconds;
  for (const StepReport& step : history) seconds.push_back(step.step_seconds);
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  if (seconds.empty()) return std::nullopt;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

std::string verdict(const RunPage& page) {
  if (page.measured) return of_step(page.measured->exposure) + against_prediction(page);
  if (page.predicted) return of_step(page.predicted->exposure);
  return page.ending;
}

// "<" stands in strings of JSON only, where its escape means the same.
std::string in_script_element(std::string json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

std::string page_html(const RunPage& page) {
  const PageFrame frame = page_frame();
  std::string html(frame.before_data);
  html += in_script_element(page_json(page));
  html += frame.after_data;
  return html;
}

}  // namespace ebbtide::report
