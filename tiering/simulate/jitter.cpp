#include "tiering/simulate/jitter.hpp"

#include <cmath>
#include <cstdint>
#include <numbers>

namespace ebbtide::simulation {
namespace {

// What a number is drawn for.
enum class Draw : std::uint8_t { kStretchRadius, kStretchAngle, kLateness };

// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
std::uint64_t mix(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

// Uniform in (0, 1].
double uniform(const Jitter& jitter, TaskAt at, Draw draw) {
  const std::uint64_t place = (std::uint64_t{at.index} << 8) |
                              (static_cast<std::uint64_t>(at.lane) << 4) |
                              static_cast<std::uint64_t>(draw);
  return (static_cast<double>(mix(mix(jitter.seed) ^ place) >> 11) + 1) * 0x1p-53;
}

}  // namespace

double stretch(const Jitter& jitter, TaskAt at) {
  const double radius = std::sqrt(-2 * std::log(uniform(jitter, at, Draw::kStretchRadius)));
  const double angle = 2 * std::numbers::pi * uniform(jitter, at, Draw::kStretchAngle);
  return std::exp(jitter.spread * radius * std::cos(angle));
}

double late_by(const Jitter& jitter, TaskAt at, double p99_s) {
  return p99_s * std::log(uniform(jitter, at, Draw::kLateness)) / std::log(0.01);
}

}  // namespace ebbtide::simulation
