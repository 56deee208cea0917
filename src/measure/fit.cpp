#include "src/measure/fit.hpp"

#include <algorithm>
#include <string>

#include "ebbtide/error.hpp"

namespace ebbtide::measure {
namespace {

// 1/r = level + slope * (1/work), in which a residual is divided by 1/r: the equations are
// u * level + v * slope = 1 with u = r, v = r / work.
struct Line {
  double level = 0;  // 1 / fraction
  double slope = 0;  // half / fraction
};

struct Sums {
  double uu = 0;
  double uv = 0;
  double vv = 0;
  double u = 0;
  double v = 0;
};

// Work is counted in units of the least, so that u and v are alike in size.
Sums sums_of(std::span<const Speed> speeds, double unit) {
  Sums sums;
  for (const Speed& speed : speeds) {
    const double u = speed.of_peak;
    const double v = speed.of_peak * unit / speed.work;
    sums.uu += u * u;
    sums.uv += u * v;
    sums.vv += v * v;
    sums.u += u;
    sums.v += v;
  }
  return sums;
}

// The best slope for a level, the best level without a slope.
double slope_at(const Sums& sums, double level) {
  return std::max(0.0, (sums.v - level * sums.uv) / sums.vv);
}
double flat_level(const Sums& sums) {
  return std::max(1.0, sums.u / sums.uu);
}

Line best_line(const Sums& sums) {
  const double determinant = sums.uu * sums.vv - sums.uv * sums.uv;
  // All of one work: the two columns are one.
  if (determinant <= 1e-12 * sums.uu * sums.vv) return {flat_level(sums), 0};
  const Line line{(sums.u * sums.vv - sums.v * sums.uv) / determinant,
                  (sums.v * sums.uu - sums.u * sums.uv) / determinant};
  if (line.slope < 0) return {flat_level(sums), 0};
  if (line.level < 1) return {1, slope_at(sums, 1)};
  return line;
}

}  // namespace

hardware::Efficiency fit_efficiency(std::span<const Speed> speeds) {
  EBBTIDE_CHECK(!speeds.empty(), "no speeds");
  double unit = speeds.front().work;
  for (const Speed& speed : speeds) {
    EBBTIDE_CHECK(speed.work > 0 && speed.of_peak > 0, std::to_string(speed.of_peak));
    unit = std::min(unit, speed.work);
  }
  const Line line = best_line(sums_of(speeds, unit));
  return {.peak_fraction = 1 / line.level, .half = line.slope / line.level * unit};
}

}  // namespace ebbtide::measure
