#include "src/measure/pace.hpp"

#include <algorithm>

#include "ebbtide/error.hpp"

namespace ebbtide::measure {

double Pace::slice() const {
  EBBTIDE_CHECK(left_ > 0, section_);
  return std::max(0.0, seconds_ - seconds_since(start_)) / static_cast<double>(left_);
}

double Pace::begin(const std::string& what) {
  throw_if_stopped(stop_);
  on_measuring_(section_, what);
  const double seconds = slice();
  --left_;
  return seconds;
}

}  // namespace ebbtide::measure
