// Which transfers a trace joins by arrows, in plans written by hand.
#include "src/report/trace_flows.hpp"

#include <gtest/gtest.h>

#include "tests/plan/plan_builder.hpp"

namespace ebbtide::report {
namespace {

constexpr std::uint64_t kPage = kPageAlignment;

// Two values of a page each; tasks begin in the order in which they are added.
class Flows : public testing::Test {
 protected:
  Flows() {
    const KindId kind = program_.add_kind({"value", "values", {}});
    device_ = program_.add_kernel({"device op", Place::kDevice, {}});
    host_ = program_.add_kernel({"host op", Place::kHost, {}});
    for (ValueId& value : values_) value = program_.add_value({.size_bytes = kPage, .kind = kind});
    make_ = program_.add_op(device_, {write(values_[0]), write(values_[1])}, 0, OpCost{});
    change_ = program_.add_op(host_, {update(values_[0])}, 0, OpCost{});
  }
  void transfer(Lane lane, std::initializer_list<Segment> segments) {
    builder_.transfer(lane, segments);
    add(lane);
  }
  void add(Lane lane) { order_.push_back({lane, next_[index(lane)]++}); }
  void expect_flows(const std::vector<std::pair<TaskAt, TaskAt>>& expected) const {
    const std::vector<Flow> found = flows(program_, builder_.plan(), order_);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].from, expected[i].first) << i;
      EXPECT_EQ(found[i].to, expected[i].second) << i;
    }
  }

  Program program_;
  KernelId device_ = 0;
  KernelId host_ = 0;
  std::array<ValueId, 2> values_{};
  OpId make_ = 0;
  OpId change_ = 0;
  plan_test::PlanBuilder builder_{program_};
  std::vector<TaskAt> order_;
  PerLane<std::uint32_t> next_{};
};

TEST_F(Flows, ComeFromTheHostCopyThatWasRead) {
  builder_.op(make_, {0, kPage});
  add(Lane::kCompute);
  transfer(Lane::kD2h, {{0, 0, values_[0]}});
  transfer(Lane::kNvmeWrite, {{0, 0, values_[0]}});
  transfer(Lane::kH2d, {{0, 0, values_[0]}});  // the copy in the host arena is still there
  transfer(Lane::kNvmeRead, {{0, kPage, values_[0]}});
  transfer(Lane::kH2d, {{kPage, 0, values_[0]}});
  expect_flows({{{Lane::kD2h, 0}, {Lane::kNvmeWrite, 0}},
                {{Lane::kD2h, 0}, {Lane::kH2d, 0}},
                {{Lane::kNvmeWrite, 0}, {Lane::kNvmeRead, 0}},
                {{Lane::kNvmeRead, 0}, {Lane::kH2d, 1}}});
}

TEST_F(Flows, JoinTwoBucketsOnce) {
  builder_.op(make_, {0, kPage});
  add(Lane::kCompute);
  transfer(Lane::kD2h, {{0, 0, values_[0]}, {kPage, kPage, values_[1]}});
  transfer(Lane::kH2d, {{kPage, kPage, values_[1]}, {0, 0, values_[0]}});
  expect_flows({{{Lane::kD2h, 0}, {Lane::kH2d, 0}}});
}

TEST_F(Flows, DoNotBringBackWhatTheHostHasWrittenSince) {
  builder_.op(make_, {0, kPage});
  add(Lane::kCompute);
  transfer(Lane::kD2h, {{0, 0, values_[0]}});
  builder_.op(change_, {0});
  add(Lane::kHostCompute);
  transfer(Lane::kH2d, {{0, 0, values_[0]}});
  expect_flows({});
}

}  // namespace
}  // namespace ebbtide::report
