#include "src/train/wear.hpp"

#include <fmt/format.h>

#include "src/report/units.hpp"

namespace ebbtide::train {
namespace {

// Consumer drives are rated for about 600 bytes written per byte of capacity over their warranty:
// 600 TBW for the 1 TB model (Samsung 980 PRO and 990 PRO data sheets, WD Black SN850X data sheet).
constexpr double kWritesPerCapacity = 600;
constexpr double kSecondsADay = 86400;
constexpr double kDaysAYear = 365;

}  // namespace

std::optional<std::string> wear_warning(const DriveWear& wear) {
  const double rated = wear.endurance_bytes > 0
                           ? wear.endurance_bytes
                           : kWritesPerCapacity * static_cast<double>(wear.capacity_bytes);
  if (wear.bytes_a_step == 0 || wear.step_seconds <= 0 || rated <= 0) return std::nullopt;
  const double bytes_a_day =
      static_cast<double>(wear.bytes_a_step) / wear.step_seconds * kSecondsADay;
  const double days = rated / bytes_a_day;
  if (days >= kDaysAYear) return std::nullopt;
  return fmt::format(
      "swap files take {} of writes a step, {} a day: a drive rated for {} ({}) lasts {:.0f} days",
      report::bytes_text(wear.bytes_a_step),
      report::bytes_text(static_cast<std::uint64_t>(bytes_a_day)),
      report::bytes_text(static_cast<std::uint64_t>(rated)),
      wear.endurance_bytes > 0 ? "as stated" : "assumed: 600 times its size", days);
}

}  // namespace ebbtide::train
