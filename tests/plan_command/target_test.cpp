// Budgets of a rank: what the machine has less a margin, or what was given.
#include "src/plan/target.hpp"

#include <gtest/gtest.h>

#include "src/hardware/known_machines.hpp"
#include "src/hardware/rank_view.hpp"

namespace ebbtide::plan {
namespace {

constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;

train::TrainOptions bf16() {
  train::TrainOptions options;
  options.run.dtype = DType::kBf16;
  return options;
}

TEST(Target, LeavesAMarginOfWhatTheMachineHas) {
  const hardware::Machine machine = hardware::load_machine("rtx4090x8");
  const Target target = target_of(machine, bf16(), 8);
  EXPECT_EQ(target.budgets.device_bytes, 23 * kGibibyte);
  EXPECT_EQ(target.budgets.host_bytes, 120 * kGibibyte);  // an eighth of 1 TiB less a sixteenth
  EXPECT_LT(target.budgets.nvme_bytes, machine.nvme.capacity_bytes * 2 / 8);
  EXPECT_GT(target.budgets.nvme_bytes, machine.nvme.capacity_bytes * 2 / 8 * 94 / 100);
  EXPECT_EQ(target.ranks_on_node, 8U);
  EXPECT_EQ(target.flops_per_s, machine.device.peak_bf16_flops_per_s);
}

TEST(Target, DividesWhatIsGivenForANodeAmongItsRanks) {
  train::TrainOptions options = bf16();
  options.memory.device_bytes = 16 * kGibibyte;
  options.memory.host_bytes = 512 * kGibibyte;
  options.memory.nvme_bytes = 80 * kGibibyte;
  const Target target = target_of(hardware::load_machine("rtx4090x8"), options, 8);
  EXPECT_EQ(target.budgets.device_bytes, 16 * kGibibyte);
  EXPECT_EQ(target.budgets.host_bytes, 64 * kGibibyte);
  EXPECT_EQ(target.budgets.nvme_bytes, 10 * kGibibyte);
  EXPECT_NE(text(target).find("as --host-memory says"), std::string::npos) << text(target);
}

TEST(Target, LeavesNothingTwiceOfAFileThatBenchWrote) {
  hardware::Machine machine = hardware::load_machine("rtx4090");
  machine.device.memory_bytes_per_s = machine.host.memory_bytes_per_s;  // the CPU is the device
  const Target target = target_of(machine, bf16(), 1);
  EXPECT_EQ(target.budgets.device_bytes, machine.device.memory_bytes);
  EXPECT_EQ(target.budgets.host_bytes, machine.host.memory_bytes);
}

TEST(Target, PacesItsLinksAsOptionsSay) {
  train::TrainOptions options = bf16();
  options.transfer.link_bytes_per_s = 1e9;
  const hardware::Machine machine = hardware::load_machine("rtx4090");
  const HardwareModel slow = target_of(machine, options, 1).rates;
  EXPECT_EQ(slow.h2d.bytes_per_s, 1e9);
  // What the simulator takes it from: else the pace were planned for and then not simulated.
  EXPECT_EQ(slow.rate_alone(Lane::kD2h).bytes_per_s, 1e9);
  EXPECT_EQ(slow.shared.link_both_ways_bytes_per_s, 1e9);
  options.transfer.link_bytes_per_s = 1e12;
  EXPECT_EQ(target_of(machine, options, 1).rates.h2d.bytes_per_s,
            hardware::hardware_of(machine, DType::kBf16, 1).h2d.bytes_per_s);
}

}  // namespace
}  // namespace ebbtide::plan
