// Steps that are slow for one reason, in virtual time: the accounting names it.
#include <gtest/gtest.h>

#include "src/report/exposure.hpp"
#include "tests/plan/layered_program.hpp"

namespace ebbtide::report {
namespace {

using plan_test::Layered;
using plan_test::LayeredShape;

constexpr std::uint64_t kValueBytes = std::uint64_t{64} << 10;
constexpr double kOpSeconds = 0.02;

// Bytes a second at which a saved value takes so many ops' time.
double ops_a_value(double ops) {
  return static_cast<double>(kValueBytes) / (ops * kOpSeconds);
}

// All that is moved is fast: a fifth of an op a value.
HardwareModel fast_machine() {
  HardwareModel model = generic_cpu_hardware();
  model.d2h = model.h2d = {ops_a_value(0.2), 0};
  model.nvme_write = model.nvme_read = {ops_a_value(0.2), 0};
  return model;
}

struct Case {
  Layered step{
      {.layers = 24, .offloaded = 24, .size_bytes = kValueBytes, .op_seconds = kOpSeconds}};
  HardwareModel hardware = fast_machine();
  std::uint64_t device_slots = 12;
  std::uint64_t host_values = 64;
  PlanOptions options{.prefetch_chunk_steps = 4};

  explicit Case(Reach reach = Reach::kHost)
      : step({.layers = 24,
              .offloaded = 24,
              .reach = reach,
              .size_bytes = kValueBytes,
              .op_seconds = kOpSeconds}) {}

  Exposure exposure() const {
    const Budgets budgets{step.device_bytes(device_slots),
                          kPageAlignment + host_values * kValueBytes, 64 * kValueBytes};
    const Plan plan = make_plan(step.program, budgets, hardware, options);
    EXPECT_TRUE(verify(step.program, plan).ok());
    return exposure_of(step.program, plan, simulate(step.program, plan, hardware), hardware);
  }
};

double part(const Exposure& exposure, Cause cause) {
  return exposure.causes[index(cause)] / exposure.still_s();
}

void expect_cause(const Exposure& exposure, Cause cause) {
  EXPECT_GT(exposure.still_s(), 0.1 * exposure.step_s) << name(cause);
  EXPECT_EQ(exposure.main_cause(), cause)
      << name(exposure.main_cause()) << " instead of " << name(cause);
  EXPECT_GT(part(exposure, cause), 0.4) << name(cause);
}

TEST(ExposureCauses, NothingStandsStillWhereAllIsWell) {
  for (const Reach reach : {Reach::kHost, Reach::kNvme}) {
    const Exposure exposure = Case(reach).exposure();
    EXPECT_GT(exposure.of(Lane::kH2d).bytes, 10 * kValueBytes);
    EXPECT_LT(exposure.still_s(), 0.05 * exposure.step_s);
  }
}

TEST(ExposureCauses, NamesALateIssue) {
  Case late;
  late.hardware.h2d = {ops_a_value(0.7), 0};
  late.options.prefetch_chunk_steps = 0;
  expect_cause(late.exposure(), Cause::kLateIssue);
}

TEST(ExposureCauses, NamesALateIssueOfTheDiskBehindTheLoad) {
  Case late(Reach::kNvme);
  late.hardware.nvme_read = {ops_a_value(0.6), 0};
  late.options.prefetch_chunk_steps = 0;
  const Exposure exposure = late.exposure();
  expect_cause(exposure, Cause::kLateIssue);
  EXPECT_GT(exposure.of(Lane::kNvmeRead).causes[index(Cause::kLateIssue)], 0);
}

TEST(ExposureCauses, NamesTheRateOfALinkThatNeverRests) {
  Case slow;
  slow.hardware.h2d = slow.hardware.d2h = {ops_a_value(2), 0};
  slow.options.prefetch_chunk_steps = 24;
  slow.device_slots = 6;
  expect_cause(slow.exposure(), Cause::kLinkRate);
}

// What a load that comes too late cannot hide all the same: the last value saved is there late, and
// is needed first.
TEST(ExposureCauses, ChargesALateLoadOnlyAsFarAsTheLinkHadRested) {
  Case late;
  late.hardware.h2d = late.hardware.d2h = {ops_a_value(3), 0};
  late.options.prefetch_chunk_steps = 0;
  late.device_slots = 3;
  const Exposure exposure = late.exposure();
  EXPECT_GT(part(exposure, Cause::kLateIssue), 0.05);
  EXPECT_GT(part(exposure, Cause::kLinkRate), 0.3);
}

// A load takes longer than the op before it, whose time alone would not have been enough: rests of
// the link before that would have been.
TEST(ExposureCauses, LooksForRestsFurtherBackThanTheLast) {
  Case late;
  late.hardware.h2d = {ops_a_value(1.6), 0};
  late.options.prefetch_chunk_steps = 0;
  const Exposure exposure = late.exposure();
  expect_cause(exposure, Cause::kLateIssue);
  EXPECT_GT(part(exposure, Cause::kLateIssue), 0.8);
}

TEST(ExposureCauses, NamesRoomOnTheDevice) {
  Case tight;
  tight.hardware.h2d = tight.hardware.d2h = {ops_a_value(0.7), 0};
  tight.device_slots = 1;
  expect_cause(tight.exposure(), Cause::kDeviceRoom);
}

TEST(ExposureCauses, NamesRoomInTheHostArenaThroughWhichDisksAreFed) {
  Case tight(Reach::kNvme);
  tight.hardware.h2d = tight.hardware.d2h = {ops_a_value(0.7), 0};
  tight.hardware.nvme_write = tight.hardware.nvme_read = {ops_a_value(0.7), 0};
  tight.host_values = 1;
  expect_cause(tight.exposure(), Cause::kHostRoom);
}

TEST(ExposureCauses, NamesTheRateOfADisk) {
  Case slow(Reach::kNvme);
  slow.hardware.nvme_write = slow.hardware.nvme_read = {ops_a_value(3), 0};
  slow.options.prefetch_chunk_steps = 24;
  slow.device_slots = slow.host_values = 4;
  expect_cause(slow.exposure(), Cause::kDiskRate);
}

TEST(ExposureCauses, NamesSmallTransfersWhereLatencyIsAllTheirTime) {
  Case small;
  small.hardware.h2d = small.hardware.d2h = {ops_a_value(0.2), 2 * kOpSeconds};
  small.options.bucket_bytes = 0;
  expect_cause(small.exposure(), Cause::kSmallTransfers);
}

// A value goes down for an op elsewhere and comes back, the device waiting for it.
Exposure round_trip(Place place, const OpCost& cost) {
  Program program;
  const KindId kind = program.add_kind({"value", "values", {}});
  const KernelId here = program.add_kernel({"mix", Place::kDevice, {}});
  const KernelId there = program.add_kernel({"elsewhere", place, {}});
  const ValueId x = program.add_value({.size_bytes = kValueBytes, .kind = kind});
  const auto op = [&](KernelId kernel, const Use& use, const OpCost& of) {
    program.begin_chunk_step();
    program.add_op(kernel, std::span(&use, 1), {}, of);
  };
  const OpCost work{.flops = kOpSeconds * 1e11};
  op(here, write(x), work);
  op(there, update(x), cost);
  op(here, read(x), work);
  const HardwareModel hardware = fast_machine();
  const Plan plan =
      make_plan(program, {4 * kValueBytes, 4 * kValueBytes, 4 * kValueBytes}, hardware, {});
  return exposure_of(program, plan, simulate(program, plan, hardware), hardware);
}

TEST(ExposureCauses, NamesAnOptimizerOnTheHost) {
  expect_cause(round_trip(Place::kHost, {.flops = 2e10}), Cause::kHostOptimizer);
}

TEST(ExposureCauses, NamesACollective) {
  expect_cause(round_trip(Place::kComm, {.sent_bytes = 6e9}), Cause::kCollective);
}

}  // namespace
}  // namespace ebbtide::report
