// Hardware files of known figures.
#include "src/measure/machine_of.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "src/measure/disk.hpp"

namespace ebbtide::measure {
namespace {

constexpr double kOverhead = 1e-6;

// Ops of which fp32 runs at `rate` and bf16 at twice that, less what 1e8 of work comes to.
void add_ops(ComputeFigures& compute, OpClass op_class, double rate) {
  for (const double work : {1e8, 1e9, 1e12}) {
    const double seconds = (work + 1e8) / rate;
    compute.ops.push_back(
        {op_class, "op", {work, seconds + kOverhead}, {work, seconds / 2 + kOverhead}});
  }
}

Figures figures() {
  Figures figures{.cpu_name = "Test \"CPU\"",
                  .date = "2026-12-01",
                  .threads = 3,
                  .memory_bytes = std::uint64_t{32} << 30};
  figures.compute.op_overhead_s = kOverhead;
  add_ops(figures.compute, OpClass::kMatmul, 1e11);
  add_ops(figures.compute, OpClass::kAttention, 0.5e11);
  for (const double work : {1e6, 1e8})
    figures.compute.ops.push_back({OpClass::kElementwise,
                                   "add",
                                   {work, work / 1e10 + kOverhead},
                                   {work, work / 1e10 + kOverhead}});
  figures.memory = {.triad_bytes_per_s = 2e10,
                    .adamw_parameters = 1000000,
                    .adamw_fp32 = {2.8e7, 2e-3},
                    .adamw_bf16 = {3.0e7, 2e-3}};
  figures.copies = {.sizes = {{1 << 20, 9e9, 9e9, 9e9, 9e9}, {32 << 20, 8e9, 7e9, 5e9, 4e9}},
                    .latency_s = 2e-6};
  return figures;
}

Figures figures_with_disk() {
  Figures with_disk = figures();
  const DiskFigure other{1e6, 1, 2};
  with_disk.disk = DiskFigures{
      .directories = {"/a", "/b"},
      .capacity_bytes = 1 << 30,
      .cells = {{kSmallestBlockBytes, 1, {1e7, 1e-4, 3e-4}, other, other, other},
                {kUsualBlockBytes, kUsualDepth, {6e9, 2, 3}, {4e9, 2, 3}, {3e9, 2, 3}, other}}};
  return with_disk;
}

TEST(MachineOf, SaysWhatWasMeasured) {
  const hardware::Machine machine = machine_of(figures_with_disk()).machine;
  EXPECT_NEAR(machine.device.peak_fp32_flops_per_s, 1e11, 1e8);
  EXPECT_NEAR(machine.device.peak_bf16_flops_per_s, 2e11, 2e8);
  EXPECT_NEAR(machine.device.matmul.peak_fraction, 1, 1e-3);
  EXPECT_NEAR(machine.device.matmul.half, 1e8, 1e6);
  EXPECT_NEAR(machine.device.attention.peak_fraction, 0.5, 1e-3);
  EXPECT_NEAR(machine.device.attention.half, 1e8, 1e6);
  EXPECT_EQ(machine.device.memory_bytes_per_s, 2e10);
  EXPECT_EQ(machine.device.elementwise.peak_fraction, 0.5);
  EXPECT_EQ(machine.link.alone_bytes_per_s, 7e9);
  EXPECT_EQ(machine.link.both_ways_bytes_per_s, 4e9);
  EXPECT_EQ(machine.host.flops_per_s, 16 * 1000000 / 2e-3);
  EXPECT_EQ(machine.nvme.drives, 2U);
  EXPECT_EQ(machine.nvme.capacity_bytes, 1U << 30);
  EXPECT_EQ(machine.nvme.read_bytes_per_s, 3e9);
  EXPECT_EQ(machine.nvme.write_bytes_per_s, 2e9);
  EXPECT_EQ(machine.nvme.latency_s, 1e-4);
  EXPECT_EQ(machine.nvme.latency_p99_s, 3e-4);
}

TEST(MachineOf, GivesASourceForEveryKeyThatItHas) {
  for (const Figures& given : {figures(), figures_with_disk()}) {
    const MeasuredMachine measured = machine_of(given);
    const std::string text = hardware::machine_text(measured.machine, measured.sources);
    EXPECT_EQ(hardware::parse_machine(text, "text"), measured.machine);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      EXPECT_EQ(line.find(" = ") != std::string::npos, line.find("  # ") != std::string::npos)
          << line;
    EXPECT_TRUE(measured.sources.at("link.alone")
                    .starts_with("measured by ebbtide bench 2026-12-01 on Test \"CPU\", 3 threads"))
        << measured.sources.at("link.alone");
  }
}

// Two rates that were measured one after the other come out in any order.
TEST(MachineOf, NeverHasALinkThatIsFasterBothWays) {
  Figures given = figures();
  given.copies.sizes.back() = {32 << 20, 8e9, 7e9, 7.5e9, 7.6e9};
  const MeasuredMachine measured = machine_of(given);
  EXPECT_EQ(measured.machine.link.both_ways_bytes_per_s, 7e9);
  EXPECT_NO_THROW(hardware::parse_machine(hardware::machine_text(measured.machine), "text"));
}

TEST(MachineOf, TakesNoCacheForMemory) {
  Figures given = figures();
  const Timing from_cache{1e5, 1e5 / 9e10 + kOverhead};
  given.compute.ops.push_back({OpClass::kElementwise, "add", from_cache, from_cache});
  EXPECT_EQ(machine_of(given).machine.device.elementwise.peak_fraction, 0.5);
  std::erase_if(given.compute.ops, [](const OpFigure& figure) {
    return figure.op_class == OpClass::kElementwise && figure.fp32.work > 1e5;
  });
  EXPECT_EQ(machine_of(given).machine.device.elementwise.peak_fraction, 1);
}

TEST(MachineOf, SaysThatADiskWasNotMeasured) {
  const MeasuredMachine measured = machine_of(figures());
  EXPECT_EQ(measured.machine.nvme.capacity_bytes, 4096U);
  EXPECT_TRUE(measured.sources.at("nvme.read").starts_with("estimate, not measured"));
}

}  // namespace
}  // namespace ebbtide::measure
