#include "src/hardware/rank_view.hpp"

#include <gtest/gtest.h>

#include <string>

#include "ebbtide/error.hpp"
#include "src/hardware/machine_file.hpp"
#include "tests/hardware/example_machine.hpp"

namespace ebbtide::hardware {
namespace {

Machine example() {
  return parse_machine(testing::kExample, "test.toml");
}

// The example's cards without peer-to-peer.
Machine through_host() {
  Machine machine = example();
  machine.peer = {PeerPath::kThroughHost, 0, 0};
  return machine;
}

std::string refusal(const Machine& machine, std::uint64_t ranks) {
  try {
    hardware_of(machine, DType::kBf16, ranks);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kBadUsage)) << error.what();
    return error.what();
  }
  return "";
}

TEST(RankView, TakesTheDevicesRatesByDtype) {
  const HardwareModel bf16 = hardware_of(example(), DType::kBf16, 4);
  EXPECT_EQ(bf16.name, "4x example");
  EXPECT_DOUBLE_EQ(bf16.device_flops_per_s, 0.8 * 1e14);
  EXPECT_DOUBLE_EQ(bf16.device_memory_bytes_per_s, 0.9 * 1e12);
  EXPECT_EQ(bf16.op_overhead_s, 4e-6);
  const HardwareModel fp32 = hardware_of(example(), DType::kF32, 4);
  EXPECT_DOUBLE_EQ(fp32.device_flops_per_s, 0.8 * 5e13);
  EXPECT_THROW(hardware_of(example(), DType::kU8, 4), ContractViolation);
}

TEST(RankView, RunsAnOpOfHalfAtHalfTheRateOfItsClass) {
  const HardwareModel model = hardware_of(example(), DType::kBf16, 4);
  const double overhead = 4e-6;
  EXPECT_DOUBLE_EQ(model.device_seconds({1e9, 0}, OpClass::kMatmul), overhead + 2e9 / 8e13);
  EXPECT_DOUBLE_EQ(model.device_seconds({2e9, 0}, OpClass::kAttention), overhead + 4e9 / 5e13);
  const double mib = 1048576;
  EXPECT_DOUBLE_EQ(model.device_seconds({1, mib}, OpClass::kElementwise),
                   overhead + 2 * mib / 9e11);
}

TEST(RankView, GivesARankItsPartOfTheNodeWhenAllCopy) {
  const HardwareModel model = hardware_of(example(), DType::kBf16, 4);
  EXPECT_DOUBLE_EQ(model.d2h.bytes_per_s, 11e9);
  EXPECT_DOUBLE_EQ(model.h2d.bytes_per_s, 11e9);
  EXPECT_EQ(model.d2h.latency_s, 1e-5);
  EXPECT_DOUBLE_EQ(model.nvme_read.bytes_per_s, 2 * 7e9 / 4);
  EXPECT_DOUBLE_EQ(model.nvme_write.bytes_per_s, 2 * 6e9 / 4);
  EXPECT_EQ(model.nvme_read.latency_s, 8e-5);
  EXPECT_DOUBLE_EQ(model.nvme_endurance_bytes, 2 * 2400e12 / 4);
  EXPECT_DOUBLE_EQ(model.host_memory_bytes_per_s, 300e9 / 4);
  EXPECT_DOUBLE_EQ(model.host_flops_per_s, 2e12 / 4);
}

TEST(RankView, KnowsWhatLanesReachWhileTheOthersRest) {
  const SharedRates shared = hardware_of(example(), DType::kBf16, 1).shared;
  EXPECT_DOUBLE_EQ(shared.link_bytes_per_s, example().link.alone_bytes_per_s);
  EXPECT_DOUBLE_EQ(shared.link_both_ways_bytes_per_s, 20e9);
  EXPECT_DOUBLE_EQ(shared.nvme_read_bytes_per_s, 14e9);
  EXPECT_DOUBLE_EQ(shared.nvme_write_bytes_per_s, 12e9);
  EXPECT_DOUBLE_EQ(hardware_of(example(), DType::kBf16, 4).shared.link_bytes_per_s, 11e9);
}

TEST(RankView, GivesARankAloneTheWholeNode) {
  const HardwareModel model = hardware_of(example(), DType::kBf16, 1);
  EXPECT_DOUBLE_EQ(model.d2h.bytes_per_s, 20e9);
  EXPECT_DOUBLE_EQ(model.nvme_read.bytes_per_s, 14e9);
  EXPECT_DOUBLE_EQ(model.host_memory_bytes_per_s, 300e9);
}

// Of 44 GB/s three ranks get 14.7 each, two their 20.
TEST(RankView, SharesWhatTheLinksCarryTogether) {
  EXPECT_DOUBLE_EQ(hardware_of(example(), DType::kBf16, 3).h2d.bytes_per_s, 44e9 / 3);
  EXPECT_DOUBLE_EQ(hardware_of(example(), DType::kBf16, 2).h2d.bytes_per_s, 20e9);
}

// Links and drives would move 4 * 2 * 11 + 26 = 114 GB/s.
TEST(RankView, ScalesTransfersDownToWhatDramCarries) {
  Machine machine = example();
  machine.host.memory_bytes_per_s = 57e9;
  const HardwareModel model = hardware_of(machine, DType::kBf16, 4);
  EXPECT_DOUBLE_EQ(model.d2h.bytes_per_s, 5.5e9);
  EXPECT_DOUBLE_EQ(model.h2d.bytes_per_s, 5.5e9);
  EXPECT_DOUBLE_EQ(model.nvme_read.bytes_per_s, 1.75e9);
  EXPECT_DOUBLE_EQ(model.nvme_write.bytes_per_s, 1.5e9);
  machine.host.memory_bytes_per_s = 114e9;
  EXPECT_DOUBLE_EQ(hardware_of(machine, DType::kBf16, 4).d2h.bytes_per_s, 11e9);
}

TEST(RankView, CollectivesGoBetweenDevicesWhereTheyCan) {
  const HardwareModel model = hardware_of(example(), DType::kBf16, 4);
  EXPECT_EQ(model.peer_path, PeerPath::kDirect);
  EXPECT_DOUBLE_EQ(model.collective.bytes_per_s, 200e9);
  EXPECT_EQ(model.collective.latency_s, 5e-6);
}

TEST(RankView, CollectivesCrossBothDirectionsAndDramTwiceWithoutPeerToPeer) {
  Machine machine = through_host();
  HardwareModel model = hardware_of(machine, DType::kBf16, 4);
  EXPECT_EQ(model.peer_path, PeerPath::kThroughHost);
  EXPECT_DOUBLE_EQ(model.collective.bytes_per_s, 11e9);
  EXPECT_EQ(model.collective.latency_s, 2e-5);
  machine.host.memory_bytes_per_s = 40e9;  // 10 a rank, of which a byte takes two
  model = hardware_of(machine, DType::kBf16, 4);
  EXPECT_DOUBLE_EQ(model.collective.bytes_per_s, 5e9);
}

TEST(RankView, CollectivesOfSeveralNodesTakeTheNetwork) {
  const HardwareModel model = hardware_of(example(), DType::kBf16, 8);
  EXPECT_DOUBLE_EQ(model.collective.bytes_per_s, 12.5e9 / 4);
  EXPECT_EQ(model.collective.latency_s, 5e-6);
  // All else is as on one full node.
  EXPECT_DOUBLE_EQ(model.d2h.bytes_per_s, 11e9);
  EXPECT_DOUBLE_EQ(model.host_memory_bytes_per_s, 75e9);
}

TEST(RankView, RefusesRanksThatTheMachineCannotHold) {
  EXPECT_NE(refusal(example(), 0).find("0 ranks"), std::string::npos);
  EXPECT_NE(refusal(example(), 6).find("multiple of its 4"), std::string::npos);
  Machine machine = example();
  machine.network.reset();
  EXPECT_NE(refusal(machine, 8).find("'4x example': it has 4 and no network"), std::string::npos);
  EXPECT_EQ(refusal(machine, 4), "");
}

TEST(RankView, SharesTheBytesOfANode) {
  const Budgets four = budgets_of(example(), 4);
  EXPECT_EQ(four.device_bytes, std::uint64_t{24} << 30);
  EXPECT_EQ(four.host_bytes, std::uint64_t{256} << 30);
  EXPECT_EQ(four.nvme_bytes, 2'000'000'000'000U);
  const Budgets eight = budgets_of(example(), 8);
  EXPECT_EQ(eight.host_bytes, four.host_bytes);
  EXPECT_EQ(budgets_of(example(), 1).nvme_bytes, 8'000'000'000'000U);
  EXPECT_THROW(budgets_of(example(), 5), Error);
}

}  // namespace
}  // namespace ebbtide::hardware
