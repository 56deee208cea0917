// What is told of values, against the program that uses them.
#include "src/plan/value_story.hpp"

#include <gtest/gtest.h>

#include "src/hardware/known_machines.hpp"

namespace ebbtide::plan {
namespace {

class ValueStories : public testing::Test {
 protected:
  ValueStories() {
    Request request;
    request.options.run.dtype = DType::kBf16;
    request.options.run.seq_len = 4096;
    request.options.memory.device_bytes = std::uint64_t{20} << 20;
    request.options.memory.host_bytes = std::uint64_t{40} << 20;
    request.options.memory.nvme_bytes = std::uint64_t{1} << 30;
    request.options.planning.activations = model::ActivationMode::kOffload;
    request.machine = hardware::load_machine("rtx4090");
    run_ = plan_run(request);
    if (!run_.fits()) throw std::runtime_error(run_.why_not);
  }
  std::map<ValueId, ValueStory> all() const {
    std::set<ValueId> values;
    for (ValueId id = 0; id < program().value_count(); ++id) values.insert(id);
    return stories_of(run_.step.front(), values);
  }
  const Program& program() const { return *run_.step.front().program; }

  PlannedRun run_;
};

TEST_F(ValueStories, HoldEveryUseAndBeginWithTheMaking) {
  std::size_t uses = 0;
  for (const auto& [value, story] : all()) {
    double last_s = 0;
    for (const ValueEvent& event : story.events) {
      uses += event.task == TaskKind::kOp ? 1 : 0;
      EXPECT_GE(event.start_s, last_s);
      last_s = event.start_s;
    }
    if (program().home(value) == nullptr && !story.events.empty()) {
      EXPECT_EQ(story.events.front().access, Access::kWrite) << program().describe(value);
    }
  }
  EXPECT_EQ(uses, program().use_count());
}

TEST_F(ValueStories, SayHowFarDownAValueGoes) {
  PerTier<std::size_t> values{};
  for (const auto& [value, story] : all()) {
    bool crosses_to_host = false;
    bool crosses_to_nvme = false;
    for (const ValueEvent& event : story.events) {
      crosses_to_host |= event.lane == Lane::kD2h;
      crosses_to_nvme |= event.lane == Lane::kNvmeWrite;
    }
    if (program().home(value) != nullptr) continue;
    const Tier expected = crosses_to_nvme   ? Tier::kNvme
                          : crosses_to_host ? Tier::kHost
                                            : Tier::kDevice;
    EXPECT_EQ(story.lowest(program(), value), expected) << program().describe(value);
    ++values[index(expected)];
  }
  for (const std::size_t count : values) EXPECT_GT(count, 0U);
}

TEST_F(ValueStories, KnowWhatLeavesByPolicy) {
  std::size_t leaving = 0;
  for (const auto& [value, story] : all()) {
    if (!story.leaves_by_policy()) continue;
    ++leaving;
    EXPECT_EQ(program().kind(program().value(value).kind).category, "saved activations");
  }
  EXPECT_GT(leaving, 0U);
}

}  // namespace
}  // namespace ebbtide::plan
