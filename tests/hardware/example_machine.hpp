// One hardware file for tests; each figure differs from every other.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace ebbtide::hardware::testing {

constexpr std::string_view kExample = R"(name = "4x example"
ranks_per_node = 4

[device]
name = "Example 24 GB"
memory = "24 GiB"
memory_bandwidth = "1000 GB/s"
op_overhead = "4 us"

[device.peak]
bf16 = "100 TFLOP/s"
fp32 = "50 TFLOP/s"

[device.efficiency]
matmul = { peak_fraction = 0.8, half = "1 GFLOP" }
attention = { peak_fraction = 0.5, half = "2 GFLOP" }
elementwise = { peak_fraction = 0.9, half = "1 MiB" }

[link]
alone = "25 GB/s"
both_ways = "20 GB/s"
all_cards = "11 GB/s"
latency = "10 us"

[peer]
path = "direct"
bandwidth = "200 GB/s"
latency = "5 us"

[host]
memory = "1 TiB"
memory_bandwidth = "300 GB/s"
fp32 = "2 TFLOP/s"

[nvme]
drives = 2
capacity = "4 TB"
read = "7 GB/s"
write = "6 GB/s"
latency = "80 us"
latency_p99 = "900 us"
endurance = "2400 TB"

[network]
bandwidth = "100 Gbit/s"
latency = "3 us"
)";

// The example with `from`, which it must have, replaced by `to`.
inline std::string example_with(std::string_view from, std::string_view to) {
  std::string text(kExample);
  const std::size_t at = text.find(from);
  if (at == std::string::npos) std::abort();
  return text.replace(at, from.size(), to);
}

}  // namespace ebbtide::hardware::testing
