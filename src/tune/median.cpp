#include "src/tune/median.hpp"

#include <algorithm>

#include "ebbtide/error.hpp"

namespace ebbtide::tune {

double median(std::vector<double> values) {
  EBBTIDE_CHECK(!values.empty(), "the median of nothing");
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace ebbtide::tune
