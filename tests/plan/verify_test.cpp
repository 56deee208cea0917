#include <gtest/gtest.h>

#include <map>

#include "tests/plan/interpreter.hpp"
#include "tests/plan/spill.hpp"

namespace ebbtide::plan_test {
namespace {

using enum PlanFault;

// So that a failure shows the fault's name and the verifier's words.
void expect_fault(const Program& program, const Plan& plan, PlanFault fault,
                  const std::string& words = "") {
  const Verdict verdict = verify(program, plan);
  EXPECT_EQ(name(verdict.fault), name(fault)) << verdict.message;
  EXPECT_NE(verdict.message.find(words), std::string::npos) << verdict.message;
}

Task& task(Plan& plan, Lane lane, std::size_t i) {
  return plan.tasks[index(lane)][i];
}
Wait& first_wait(Plan& plan, Lane lane, std::size_t i) {
  return plan.waits[task(plan, lane, i).waits_begin];
}
Segment& segment(Plan& plan, Lane lane, std::size_t i) {
  return plan.segments[task(plan, lane, i).first];
}
void set_operand(const Program& program, Plan& plan, OpId op, std::uint32_t use,
                 std::uint64_t address) {
  plan.operand_units[program.op(op).uses_begin + use] =
      static_cast<std::uint32_t>(address / kDeviceAlignment);
}

TEST(Verify, AcceptsAPlanInWhichEveryLaneHasWork) {
  const Spill spill;
  const Verdict verdict = verify(spill.program, spill.plan());
  EXPECT_TRUE(verdict.ok()) << verdict.message;
  const Homes homes = initial_homes(spill.program, 1);
  const Homes right = run_in_order(spill.program, homes);
  const Plan plan = spill.plan();
  Interpreter interpreter(spill.program, plan);
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    ASSERT_EQ(interpreter.run(homes, seed), right) << "order " << seed;
}

TEST(Verify, NamesTheRaceOfEachWaitTakenOut) {
  const Spill spill;
  const Plan plan = spill.plan();
  const std::map<std::size_t, PlanFault> faults{
      {0, kUnorderedRead},   // store of a before it is made
      {1, kUnorderedRead},   // write of a to disk before it is stored
      {2, kUnorderedRead},   // read of a from disk before it is written
      {3, kUnorderedReuse},  // c made over a while the store reads it
      {4, kUnorderedRead},   // load of a before it has come from disk
      {5, kUnorderedReuse},  // load of a over c before c has moved
      {6, kUnorderedRead},   // use of a before it is loaded
      {7, kUnorderedRead},   // store of b before its last update
      {8, kUnorderedRead},   // host op before its operand is stored
  };
  ASSERT_EQ(plan.waits.size(), faults.size());
  for (const auto& [wait, fault] : faults) {
    SCOPED_TRACE(wait);
    expect_fault(spill.program, without_wait(plan, wait), fault, "not ordered after");
  }
}

TEST(Verify, SaysWhichTaskValueAndAddress) {
  const Spill spill;
  expect_fault(spill.program, without_wait(spill.plan(), 6), kUnorderedRead,
               "compute task 5 (op 4, mix) reads value (0)");
  expect_fault(spill.program, without_wait(spill.plan(), 6), kUnorderedRead, "device address 0");
  expect_fault(spill.program, without_wait(spill.plan(), 6), kUnorderedRead, "h2d task 0");
}

TEST(Verify, FindsIndicesOutOfRange) {
  const Spill spill;
  Plan plan = spill.plan();
  task(plan, Lane::kD2h, 0).first = 99;
  expect_fault(spill.program, plan, kMalformed, "segments 99");
  plan = spill.plan();
  task(plan, Lane::kD2h, 0).waits_begin = 99;
  expect_fault(spill.program, plan, kMalformed, "waits 99");
  plan = spill.plan();
  first_wait(plan, Lane::kD2h, 0).lane = 7;
  expect_fault(spill.program, plan, kMalformed, "lane 7");
  plan = spill.plan();
  segment(plan, Lane::kD2h, 0).value = 99;
  expect_fault(spill.program, plan, kMalformed, "value 99");
  plan = spill.plan();
  task(plan, Lane::kCompute, 0).first = 99;
  expect_fault(spill.program, plan, kMalformed, "op 99");
  plan = spill.plan();
  plan.operand_units.pop_back();
  expect_fault(spill.program, plan, kMalformed, "operand addresses");
}

TEST(Verify, FindsTasksThatALaneCannotDo) {
  const Spill spill;
  Plan plan = spill.plan();
  std::swap(plan.tasks[index(Lane::kD2h)], plan.tasks[index(Lane::kComm)]);
  for (Wait& wait : plan.waits)
    if (wait.lane == index(Lane::kD2h)) wait.lane = index(Lane::kComm);
  expect_fault(spill.program, plan, kMalformed, "comm task 0");
  plan = spill.plan();
  task(plan, Lane::kCompute, 3).kind_bits = static_cast<unsigned>(TaskKind::kTransfer);
  expect_fault(spill.program, plan, kMalformed, "cannot do");
  plan = spill.plan();
  task(plan, Lane::kCompute, 0).first = spill.add;
  expect_fault(spill.program, plan, kMalformed, "cannot run on this lane");
  plan = spill.plan();
  plan.width[index(Lane::kCompute)] = 2;
  expect_fault(spill.program, plan, kMalformed, "width 2");
  plan = spill.plan();
  plan.width[index(Lane::kNvmeRead)] = 0;
  expect_fault(spill.program, plan, kMalformed, "width 0");
}

TEST(Verify, FindsAddressesThatAreNotAligned) {
  const Spill spill;
  Plan plan = spill.plan();
  segment(plan, Lane::kD2h, 0).from = 8;
  expect_fault(spill.program, plan, kMalformed, "no multiple of 256");
  plan = spill.plan();
  segment(plan, Lane::kNvmeWrite, 0).to = 512;
  expect_fault(spill.program, plan, kMalformed, "no multiple of 4096");
  plan = spill.plan();
  set_operand(spill.program, plan, spill.add, 0, 3 * kPage + kSlot);
  expect_fault(spill.program, plan, kMalformed, "no multiple of 4096");
}

TEST(Verify, FindsBytesPastTheBudget) {
  const Spill spill;
  Plan plan = spill.plan();
  set_operand(spill.program, plan, spill.make_a, 0, 3 * kSlot);
  expect_fault(spill.program, plan, kOverBudget, "device address 768");
  plan = spill.plan();
  segment(plan, Lane::kNvmeWrite, 0).to = ~std::uint64_t{0} / kPage * kPage;
  expect_fault(spill.program, plan, kOverBudget);
  plan = spill.plan();
  plan.budgets.host_bytes = 3 * kPage;
  expect_fault(spill.program, plan, kOverBudget, "host budget");
  plan = spill.plan();
  plan.span_bytes[index(Tier::kHost)] = 3 * kPage;
  expect_fault(spill.program, plan, kMalformed, "stated span");
}

TEST(Verify, FindsWaitsThatCanNeverBeMet) {
  const Spill spill;
  Plan plan = spill.plan();
  first_wait(plan, Lane::kD2h, 0).count = 99;
  expect_fault(spill.program, plan, kDeadlock, "waits for 99 tasks");
  plan = spill.plan();  // the store of a waits for the use of a after it came back
  first_wait(plan, Lane::kD2h, 0).count = 6;
  expect_fault(spill.program, plan, kDeadlock, "can never finish");
  plan = spill.plan();  // a task waits for itself
  first_wait(plan, Lane::kNvmeWrite, 0) = {static_cast<unsigned>(Lane::kNvmeWrite), 1};
  expect_fault(spill.program, plan, kDeadlock, "nvme_write task 0");
}

TEST(Verify, FindsOpsOutOfOrderMissingAndDoubled) {
  const Spill spill;
  Plan plan = spill.plan();
  std::swap(task(plan, Lane::kCompute, 0).first, task(plan, Lane::kCompute, 1).first);
  expect_fault(spill.program, plan, kOpOrder);
  plan = spill.plan();
  plan.tasks[index(Lane::kHostCompute)].clear();
  expect_fault(spill.program, plan, kOpOrder, "op 5 (add)");
  plan = spill.plan();
  auto& compute = plan.tasks[index(Lane::kCompute)];
  compute.push_back(compute.back());
  expect_fault(spill.program, plan, kOpOrder, "comes after op 4");
}

TEST(Verify, FindsReadsOfTheWrongPlace) {
  const Spill spill;
  Plan plan = spill.plan();
  set_operand(spill.program, plan, spill.use_c, 0, 0);  // c's old place, if nothing comes there
  expect_fault(spill.program, plan, kUnorderedReuse, "h2d task 0 overwrites value (2)");
  plan.waits[task(plan, Lane::kH2d, 0).waits_begin + 1].count = 5;
  EXPECT_TRUE(verify(spill.program, plan).ok());
  plan = spill.plan();
  set_operand(spill.program, plan, spill.make_b, 0, 2 * kSlot);
  expect_fault(spill.program, plan, kWrongContent, "nothing whole");
  plan = spill.plan();
  segment(plan, Lane::kD2h, 1).value = spill.c;
  expect_fault(spill.program, plan, kWrongContent, "holds value (1)");
}

TEST(Verify, FindsAReadOfAnOldVersion) {
  const Spill spill;
  PlanBuilder to = spill.builder();
  to.op(spill.make_a, {0});
  const Wait made_b = to.op(spill.make_b, {0, kSlot});
  const Wait early = to.transfer(Lane::kD2h, {{kSlot, 3 * kPage, spill.b}}, {made_b});
  to.op(spill.make_c, {2 * kSlot});
  to.op(spill.use_c, {2 * kSlot, kSlot}, {early});
  const Wait done = to.op(spill.use_a, {0, kSlot});
  to.op(spill.add, {3 * kPage, 0}, {early, done});
  expect_fault(spill.program, to.plan(), kWrongContent,
               "reads value (1) version 3 at host address 12288, which holds value (1) version 1");
}

TEST(Verify, FindsOperandsThatShareBytes) {
  const Spill spill;
  Plan plan = spill.plan();
  set_operand(spill.program, plan, spill.make_b, 1, 0);
  expect_fault(spill.program, plan, kMalformed, "share bytes");
}

TEST(Verify, FindsAHomeThatIsNotRestored) {
  const Spill spill;
  PlanBuilder to = spill.builder();
  to.op(spill.make_a, {0});
  to.op(spill.make_b, {0, kSlot});
  to.op(spill.make_c, {2 * kSlot});
  to.op(spill.use_c, {2 * kSlot, kSlot});
  const Wait done = to.op(spill.use_a, {0, kSlot});
  const Wait down = to.transfer(Lane::kD2h, {{kSlot, 3 * kPage, spill.b}}, {done});
  const Wait added = to.op(spill.add, {3 * kPage, 0}, {down});
  EXPECT_TRUE(verify(spill.program, to.plan()).ok());
  PlanBuilder over = to;
  over.transfer(Lane::kD2h, {{kSlot, 0, spill.b}}, {added});
  expect_fault(spill.program, over.plan(), kEndState, "value (3) must end at host address 0");
}

TEST(Verify, FencesTheHomesOfOtherPrograms) {
  const Spill spill;
  Plan plan = spill.plan();
  segment(plan, Lane::kD2h, 0).to = kPage;
  segment(plan, Lane::kNvmeWrite, 0).from = kPage;
  expect_fault(spill.program, plan, kMalformed, "home of another program");
}

TEST(Verify, FindsTwoSegmentsOfOneTransferThatShareBytes) {
  const Spill spill;
  Plan plan = spill.plan();
  const Segment twin = segment(plan, Lane::kD2h, 0);
  plan.segments.push_back(twin);
  plan.segments.push_back(twin);
  task(plan, Lane::kD2h, 0).first = static_cast<std::uint32_t>(plan.segments.size() - 2);
  task(plan, Lane::kD2h, 0).count = 2;
  expect_fault(spill.program, plan, kUnorderedReuse, "same bytes twice");
}

// Values that each take one page on their way to disk and back, with the disk's queue as wide as
// the test asks.
struct DiskTraffic {
  static constexpr std::uint32_t kWidth = 32;
  Program program;
  ValueId x = 0;
  std::vector<ValueId> others;

  explicit DiskTraffic(std::uint32_t count) {
    const KindId kind = program.add_kind({"value", "values", {}});
    const KernelId on_host = program.add_kernel({"make", Place::kHost, {}});
    std::vector<Use> uses;
    for (std::uint32_t i = 0; i < count + 1; ++i) {
      uses.push_back(write(program.add_value({.size_bytes = 64, .kind = kind})));
      if (i > 0) others.push_back(uses.back().value);
    }
    program.add_op(on_host, uses, {}, {});
  }

  // x goes to disk page 0, then the others to pages of their own, then x again to page 0.
  Plan plan(std::uint32_t width, bool ordered) const {
    PlanBuilder to(program, {0, 256 * kPage, 256 * kPage});
    to.set_width(Lane::kNvmeWrite, width);
    for (std::uint32_t i = 0; i <= others.size(); ++i) to.set_operand(i, i * kPage);
    const Wait made = to.op(0, {});
    const Wait first = to.transfer(Lane::kNvmeWrite, {{0, 0, x}}, {made});
    for (std::uint64_t i = 0; i < others.size(); ++i)
      to.transfer(Lane::kNvmeWrite, {{(i + 1) * kPage, (i + 1) * kPage, others[i]}});
    if (ordered) {
      to.transfer(Lane::kNvmeWrite, {{0, 0, x}}, {first});
    } else {
      to.transfer(Lane::kNvmeWrite, {{0, 0, x}});
    }
    return to.plan();
  }
};

TEST(Verify, FindsARewriteOfADiskOffsetInsideTheQueuesDepth) {
  const DiskTraffic near(DiskTraffic::kWidth - 2);
  expect_fault(near.program, near.plan(DiskTraffic::kWidth, false), kUnorderedReuse,
               "nvme_write task 31 overwrites value at nvme address 0");
  EXPECT_TRUE(verify(near.program, near.plan(DiskTraffic::kWidth, true)).ok());
  EXPECT_TRUE(verify(near.program, near.plan(DiskTraffic::kWidth - 1, false)).ok());
  const DiskTraffic far(DiskTraffic::kWidth - 1);
  EXPECT_TRUE(verify(far.program, far.plan(DiskTraffic::kWidth, false)).ok());
}

TEST(Verify, CountsTheWidthFromEachTask) {
  // as above, but with the queue long full: x is written by tasks 6 and 6 + distance
  constexpr std::uint32_t kNarrow = 4;
  const DiskTraffic traffic(10);
  for (std::uint32_t distance = 1; distance <= kNarrow; ++distance) {
    PlanBuilder to(traffic.program, {0, 16 * kPage, 16 * kPage});
    to.set_width(Lane::kNvmeWrite, kNarrow);
    for (std::uint32_t i = 0; i <= traffic.others.size(); ++i) to.set_operand(i, i * kPage);
    const Wait made = to.op(0, {});
    for (std::uint32_t task = 0, other = 0; task < 7 + distance; ++task) {
      const bool is_x = task == 6 || task == 6 + distance;
      const std::uint64_t page = is_x ? 0 : other + 1;
      to.transfer(Lane::kNvmeWrite,
                  {{page * kPage, page * kPage, is_x ? traffic.x : traffic.others[other++]}},
                  {made});
    }
    expect_fault(traffic.program, to.plan(), distance < kNarrow ? kUnorderedReuse : kNone);
  }
}

TEST(Verify, RemembersEveryReaderOfAWideLane) {
  // x is written to disk by the first of two tasks in flight; its page is reused after the second
  const DiskTraffic traffic(1);
  PlanBuilder to(traffic.program, {0, 4 * kPage, 4 * kPage});
  to.set_width(Lane::kNvmeWrite, 4);
  to.set_width(Lane::kNvmeRead, 4);
  to.set_operand(1, kPage);
  const Wait made = to.op(0, {});
  to.transfer(Lane::kNvmeWrite, {{0, 0, traffic.x}}, {made});
  const Wait second = to.transfer(Lane::kNvmeWrite, {{kPage, kPage, traffic.others[0]}});
  to.transfer(Lane::kNvmeRead, {{kPage, 0, traffic.others[0]}}, {second});
  EXPECT_TRUE(verify(traffic.program, to.plan()).ok());
  Plan early = to.plan();
  early.waits.back() = {static_cast<unsigned>(Lane::kNvmeWrite), 1};
  expect_fault(traffic.program, early, kUnorderedRead);
}

TEST(Verify, AcceptsAMoveOverItsOwnBytes) {
  Program program;
  const KindId kind = program.add_kind({"value", "values", {}});
  const KernelId mix = program.add_kernel({"mix", Place::kDevice, {}});
  const ValueId a = program.add_value({.size_bytes = 3 * kSlot, .kind = kind});
  const ValueId b = program.add_value({.size_bytes = kSlot, .kind = kind});
  const auto op = [&](std::initializer_list<Use> uses) {
    return program.add_op(mix, std::span(uses.begin(), uses.size()), {}, {});
  };
  op({write(a)});
  op({write(b)});
  op({read(a), read(b)});
  PlanBuilder to(program, {5 * kSlot, 0, 0});
  to.op(0, {kSlot});
  to.op(1, {4 * kSlot});
  to.move({{kSlot, 0, a}, {4 * kSlot, 3 * kSlot, b}});
  to.op(2, {0, 3 * kSlot});
  EXPECT_TRUE(verify(program, to.plan()).ok()) << verify(program, to.plan()).message;
  Plan stale = to.plan();
  set_operand(program, stale, 2, 0, kSlot);
  expect_fault(program, stale, kWrongContent, "holds value");
}

}  // namespace
}  // namespace ebbtide::plan_test
