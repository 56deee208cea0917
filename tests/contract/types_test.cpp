#include "ebbtide/types.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "ebbtide/error.hpp"
#include "ebbtide/hardware.hpp"

namespace ebbtide {
namespace {

TEST(Types, RoundToTheAlignmentOfTheTier) {
  EXPECT_EQ(extent(1, Tier::kDevice), 256U);
  EXPECT_EQ(extent(256, Tier::kDevice), 256U);
  EXPECT_EQ(extent(257, Tier::kDevice), 512U);
  EXPECT_EQ(extent(1, Tier::kHost), 4096U);
  EXPECT_EQ(extent(28'824'000, Tier::kNvme), 28'827'648U);
  EXPECT_EQ(align_up(0, 4096), 0U);
}

TEST(Types, HaveANameEach) {
  std::set<std::string_view> lanes;
  for (std::size_t i = 0; i < kLaneCount; ++i) lanes.insert(name(static_cast<Lane>(i)));
  EXPECT_EQ(lanes.size(), kLaneCount);
  EXPECT_EQ(name(Lane::kNvmeRead), "nvme_read");
  EXPECT_EQ(name(Tier::kNvme), "nvme");
  EXPECT_EQ(name(DType::kBf16), "bf16");
}

TEST(Types, KnowTheSizeOfAnElement) {
  EXPECT_EQ(dtype_bytes(DType::kBf16), 2U);
  EXPECT_EQ(dtype_bytes(DType::kF32), 4U);
  EXPECT_EQ(dtype_bytes(DType::kU32), 4U);
  EXPECT_EQ(dtype_bytes(DType::kF64), 8U);
  EXPECT_EQ(dtype_bytes(DType::kU8), 1U);
}

TEST(Types, KnowTheTiersOfALane) {
  std::set<std::pair<Tier, Tier>> ways;
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    const auto lane = static_cast<Lane>(i);
    if (is_transfer(lane)) ways.emplace(route(lane).from, route(lane).to);
  }
  const std::set<std::pair<Tier, Tier>> between_neighbours{{Tier::kDevice, Tier::kHost},
                                                           {Tier::kHost, Tier::kDevice},
                                                           {Tier::kHost, Tier::kNvme},
                                                           {Tier::kNvme, Tier::kHost}};
  EXPECT_EQ(ways, between_neighbours);
  EXPECT_EQ(route(Lane::kD2h).from, Tier::kDevice);
  EXPECT_EQ(route(Lane::kNvmeRead).from, Tier::kNvme);
  EXPECT_EQ(route(Lane::kHostCompute).from, Tier::kHost);
  EXPECT_FALSE(is_transfer(Lane::kHostCompute));
  EXPECT_FALSE(is_transfer(Lane::kComm));
}

TEST(HardwareModel, TakesTheSlowerOfComputeAndMemory) {
  HardwareModel model;
  model.device_flops_per_s = 100;
  model.device_memory_bytes_per_s = 10;
  model.host_flops_per_s = 1;
  model.host_memory_bytes_per_s = 10;
  model.op_overhead_s = 0.5;
  EXPECT_DOUBLE_EQ(model.op_seconds({.flops = 200, .memory_bytes = 10}, Place::kDevice), 2.5);
  EXPECT_DOUBLE_EQ(model.op_seconds({.flops = 200, .memory_bytes = 50}, Place::kDevice), 5.5);
  EXPECT_DOUBLE_EQ(model.op_seconds({.flops = 200, .memory_bytes = 50}, Place::kHost), 200.5);
  EXPECT_DOUBLE_EQ(model.move_seconds(5), 1);  // read and written
}

TEST(HardwareModel, TimesACollectiveByTheBytesSent) {
  HardwareModel model = generic_cpu_hardware();
  model.collective = {100, 0.25};
  EXPECT_DOUBLE_EQ(model.op_seconds({.flops = 1e12, .sent_bytes = 50}, Place::kComm), 0.75);
  model.collective = {};
  EXPECT_THROW(model.op_seconds({.sent_bytes = 50}, Place::kComm), ContractViolation);
}

TEST(Types, KnowWhereOpsRun) {
  for (const Place place : {Place::kDevice, Place::kHost, Place::kComm})
    EXPECT_FALSE(is_transfer(op_lane(place)));
  EXPECT_EQ(op_lane(Place::kComm), Lane::kComm);
  EXPECT_EQ(operand_tier(Place::kDevice), Tier::kDevice);
  EXPECT_EQ(operand_tier(Place::kHost), Tier::kHost);
  EXPECT_EQ(operand_tier(Place::kComm), Tier::kDevice);
}

TEST(HardwareModel, KnowsAnOpsClassAsFarAsItsRatesAreKnown) {
  HardwareModel model;
  model.device_flops_per_s = 100;
  model.device_memory_bytes_per_s = 10;
  model.op_overhead_s = 0.5;
  const OpCost cost{.flops = 200, .memory_bytes = 10};
  EXPECT_DOUBLE_EQ(model.device_seconds(cost, OpClass::kAttention), 2.5);
  model.class_rates = {WorkRate{100, 50}, WorkRate{50, 100}, WorkRate{10, 5}};
  EXPECT_DOUBLE_EQ(model.device_seconds(cost, OpClass::kMatmul), 0.5 + 2.5);
  EXPECT_DOUBLE_EQ(model.device_seconds(cost, OpClass::kAttention), 0.5 + 6);
  EXPECT_DOUBLE_EQ(model.device_seconds(cost, OpClass::kElementwise), 0.5 + 1.5);
  // Memory binds a product, too, and no work takes no time.
  EXPECT_DOUBLE_EQ(model.device_seconds({.flops = 1, .memory_bytes = 95}, OpClass::kMatmul), 10.5);
  EXPECT_DOUBLE_EQ(model.device_seconds({}, OpClass::kMatmul), 0.5);
}

TEST(HardwareModel, HasARateForEachTransferLaneAlone) {
  const HardwareModel model = generic_cpu_hardware();
  EXPECT_DOUBLE_EQ(model.rate(Lane::kH2d).seconds(6e9), 1 + 2e-5);
  EXPECT_EQ(model.rate(Lane::kNvmeWrite).bytes_per_s, 1e9);
  EXPECT_THROW(model.rate(Lane::kCompute), ContractViolation);
  EXPECT_THROW(model.rate(Lane::kComm), ContractViolation);
}

}  // namespace
}  // namespace ebbtide
