#include <gtest/gtest.h>

#include "tests/plan/plan_builder.hpp"
#include "tiering/execute/plan_order.hpp"
#include "tiering/execute/releases.hpp"

namespace ebbtide::execute {
namespace {

using plan_test::PlanBuilder;

// Ops that write or read one value of a page each, on the device.
class ReleasesOf : public testing::Test {
 protected:
  static constexpr std::uint64_t kBytes = 4096;

  ReleasesOf() {
    kind_ = program_.add_kind({.name = "value", .category = "values", .resident_limit = {}});
    device_ = program_.add_kernel({"device", Place::kDevice, {}});
  }
  ValueId value(std::uint64_t size_bytes = kBytes) {
    return program_.add_value({.size_bytes = size_bytes, .kind = kind_});
  }
  OpId op(std::initializer_list<Use> uses) {
    return program_.add_op(device_, uses, std::uint64_t{0}, {});
  }
  static std::vector<std::string> text(const Releases& releases) {
    std::vector<std::string> lines;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      for (const Fill& f : releases.fills[lane]) {
        lines.push_back(std::string(name(static_cast<Lane>(lane))) + " " + std::to_string(f.task) +
                        (f.moment == Moment::kBefore ? " before " : " after ") +
                        std::string(name(f.tier)) + " " + std::to_string(f.offset) + "+" +
                        std::to_string(f.size_bytes));
      }
    }
    for (const Fill& f : releases.at_end)
      lines.push_back("end " + std::string(name(f.tier)) + " " + std::to_string(f.offset) + "+" +
                      std::to_string(f.size_bytes));
    return lines;
  }

  Program program_;
  KindId kind_ = 0;
  KernelId device_ = 0;
};

using Lines = std::vector<std::string>;

TEST_F(ReleasesOf, AValueComeAfterItsLastUse) {
  const ValueId a = value();
  const OpId make = op({write(a)});
  const OpId use = op({read(a)});
  const OpId again = op({read(a)});
  PlanBuilder plan(program_);
  for (const OpId id : {make, use, again}) plan.op(id, {256});
  EXPECT_EQ(text(find_releases(program_, plan.plan())), Lines{"compute 2 after device 256+4096"});
}

TEST_F(ReleasesOf, ACopiedValueComeAfterTheCopyAndOfItsCopyAtTheLoad) {
  const ValueId a = value();
  const ValueId b = value();
  const OpId make_a = op({write(a)});
  const OpId make_b = op({write(b)});
  const OpId use = op({read(a)});
  PlanBuilder plan(program_);
  const Wait made = plan.op(make_a, {0});
  const Wait stored = plan.transfer(Lane::kD2h, {{0, 0, a}}, {made});
  plan.op(make_b, {0}, {stored});
  const Wait loaded = plan.transfer(Lane::kH2d, {{0, 4096, a}}, {stored});
  plan.op(use, {4096}, {loaded});
  EXPECT_EQ(text(find_releases(program_, plan.plan())),
            (Lines{"compute 1 after device 0+4096", "compute 2 after device 4096+4096",
                   "d2h 0 after device 0+4096", "h2d 0 after host 0+4096"}));
}

TEST_F(ReleasesOf, ABlockWithTwoUnorderedReadersComeBeforeItsNextTenant) {
  const ValueId a = value();
  const ValueId b = value();
  const OpId make_a = op({write(a)});
  const OpId use_a = op({read(a)});
  const OpId make_b = op({write(b)});
  PlanBuilder plan(program_);
  const Wait made = plan.op(make_a, {0});
  const Wait stored = plan.transfer(Lane::kD2h, {{0, 0, a}}, {made});
  plan.op(use_a, {0});
  plan.op(make_b, {0}, {stored});
  const Lines lines = text(find_releases(program_, plan.plan()));
  EXPECT_EQ(lines, (Lines{"compute 2 before device 0+4096", "compute 2 after device 0+4096",
                          "d2h 0 after host 0+4096"}));
}

TEST_F(ReleasesOf, ABlockTakenInPartsIsFilledInParts) {
  const ValueId a = value(2 * kBytes);
  const ValueId b = value();
  const OpId make_a = op({write(a)});
  const OpId use_a = op({read(a)});
  const OpId make_b = op({write(b)});
  PlanBuilder plan(program_);
  const Wait made = plan.op(make_a, {0});
  const Wait stored = plan.transfer(Lane::kD2h, {{0, 0, a}}, {made});
  plan.op(use_a, {0});
  plan.op(make_b, {4096}, {stored});
  const Lines lines = text(find_releases(program_, plan.plan()));
  EXPECT_EQ(lines, (Lines{"compute 2 before device 4096+4096", "compute 2 after device 4096+4096",
                          "d2h 0 after host 0+8192", "end device 0+4096"}));
}

TEST_F(ReleasesOf, AMoveOntoItselfLeaveOnlyWhatItDoesNotCover) {
  const ValueId a = value();
  const ValueId b = value();
  const OpId make_a = op({write(a)});
  const OpId make_b = op({write(b)});
  const OpId use = op({read(a), read(b)});
  PlanBuilder plan(program_);
  plan.op(make_a, {256});
  plan.op(make_b, {256 + 4096});
  plan.move({{256, 0, a}, {256 + 4096, 4096, b}});
  plan.op(use, {0, 4096});
  EXPECT_EQ(text(find_releases(program_, plan.plan())),
            (Lines{"compute 2 after device 8192+256", "compute 3 after device 0+4096",
                   "compute 3 after device 4096+4096"}));
}

TEST_F(ReleasesOf, HomesAreNeverFilled) {
  HomeLayout homes;
  const Home home = homes.add(kBytes, Tier::kHost);
  const ValueId a = program_.add_value({.kind = kind_}, home);
  const OpId change = op({update(a)});
  PlanBuilder plan(program_);
  const Wait loaded = plan.transfer(Lane::kH2d, {{0, 0, a}});
  const Wait changed = plan.op(change, {0}, {loaded});
  plan.transfer(Lane::kD2h, {{0, 0, a}}, {changed});
  EXPECT_EQ(text(find_releases(program_, plan.plan())), Lines{"d2h 0 after device 0+4096"});
}

TEST_F(ReleasesOf, ABlockWrittenByTwoTasksOfAWideLaneWaitForBoth) {
  const ValueId a = value();
  const ValueId b = value();
  const OpId make_a = op({write(a)});
  const OpId make_b = op({write(b)});
  PlanBuilder plan(program_);
  plan.set_width(Lane::kNvmeWrite, 2);
  const Wait made = plan.op(make_a, {0});
  const Wait stored = plan.transfer(Lane::kD2h, {{0, 0, a}}, {made});
  plan.transfer(Lane::kNvmeWrite, {{0, 0, a}}, {stored});
  const Wait spilled = plan.transfer(Lane::kNvmeWrite, {{0, 4096, a}});
  const Wait made_b = plan.op(make_b, {0}, {stored});
  plan.transfer(Lane::kD2h, {{0, 0, b}}, {made_b, spilled});
  EXPECT_EQ(text(find_releases(program_, plan.plan())),
            (Lines{"d2h 0 after device 0+4096", "d2h 1 before host 0+4096",
                   "d2h 1 after device 0+4096", "d2h 1 after host 0+4096"}));
}

TEST_F(ReleasesOf, AnOrderKnowsWhatEveryTaskMayRelyOn) {
  const ValueId a = value();
  const OpId make = op({write(a)});
  const OpId use = op({read(a)});
  PlanBuilder plan(program_);
  plan.set_width(Lane::kNvmeWrite, 2);
  const Wait made = plan.op(make, {0});
  const Wait stored = plan.transfer(Lane::kD2h, {{0, 0, a}}, {made});
  for (std::uint64_t i = 0; i < 3; ++i)
    plan.transfer(Lane::kNvmeWrite, {{0, i * 4096, a}}, {stored});
  plan.op(use, {0});
  const PlanOrder order(plan.plan());
  EXPECT_EQ(order.tasks().size(), 6U);
  EXPECT_TRUE(order.is_before({Lane::kCompute, 0}, {Lane::kD2h, 0}));
  EXPECT_TRUE(order.is_before({Lane::kCompute, 0}, {Lane::kNvmeWrite, 0})) << "through d2h";
  EXPECT_FALSE(order.is_before({Lane::kNvmeWrite, 0}, {Lane::kNvmeWrite, 1})) << "both in flight";
  EXPECT_TRUE(order.is_before({Lane::kNvmeWrite, 0}, {Lane::kNvmeWrite, 2}));
  EXPECT_FALSE(order.is_before({Lane::kD2h, 0}, {Lane::kCompute, 1}));
}

}  // namespace
}  // namespace ebbtide::execute
