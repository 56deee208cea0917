// What a trace holds of a step, as its readers see it.
#include "src/report/trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ebbtide/hardware.hpp"
#include "src/report/exposure.hpp"
#include "tests/plan/layered_program.hpp"
#include "tests/plan/plan_builder.hpp"
#include "tests/report/trace_reader.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::report {
namespace {

using plan_test::Layered;
using test::ReadTrace;
using test::TraceSlice;

constexpr double kRoundingUs = 1.0 / 16;

// Six layers save a value each, which travels alone through the host arena to NVMe and comes back;
// then the same once more.
class LayeredTrace : public testing::Test {
 protected:
  LayeredTrace()
      : layered_({.layers = 6, .offloaded = 6, .reach = Reach::kNvme, .op_seconds = 1e-4}),
        plan_(make_plan(layered_.program,
                        {layered_.device_bytes(2), std::uint64_t{256} << 10, 1 << 20}, hardware_,
                        {.bucket_bytes = 0})),
        timeline_(simulate(layered_.program, plan_, hardware_, Jitter{.seed = 3})) {}

  StepRecord step(std::int64_t number) const {
    StepRecord record{.step = number, .step_seconds = 2 * timeline_.step_seconds + 0.3};
    for (const double start_s : {0.1, 0.2 + timeline_.step_seconds})
      record.runs.push_back({.name = "layers",
                             .program = &layered_.program,
                             .plan = &plan_,
                             .start_s = start_s,
                             .timeline = timeline_});
    return record;
  }
  std::filesystem::path write(const StepRecord& record) const {
    const std::filesystem::path path = directory_ / "trace.json";
    Trace trace(path, "test");
    trace.add(record, hardware_);
    return path;
  }
  const std::vector<Task>& tasks(Lane lane) const { return plan_.tasks[index(lane)]; }

  const HardwareModel hardware_ = generic_cpu_hardware();
  const Layered layered_;
  const Plan plan_;
  const Timeline timeline_;
  test::TemporaryDirectory directory_;
};

TEST_F(LayeredTrace, HasEveryTaskAsOneSliceFromItsStartToItsEnd) {
  const StepRecord record = step(1);
  const ReadTrace trace = test::read_trace(write(record));
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    const std::vector<TraceSlice> slices =
        trace.of(std::string(ebbtide::name(static_cast<Lane>(lane))));
    const std::size_t count = plan_.tasks[lane].size();
    ASSERT_EQ(slices.size(), 2 * count);
    std::vector<int> seen(2 * count, 0);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const std::size_t run = i / count;  // slices of a run stand together
      const auto task = slices[i].args.at("task").get<std::size_t>();
      ++seen.at(run * count + task);
      const Interval& when = timeline_.tasks[lane].at(task);
      EXPECT_NEAR(slices[i].start_us, (record.runs[run].start_s + when.start_s) * 1e6, kRoundingUs);
      EXPECT_NEAR(slices[i].end_us, (record.runs[run].start_s + when.end_s) * 1e6, kRoundingUs);
    }
    EXPECT_EQ(std::ranges::count(seen, 1), static_cast<std::ptrdiff_t>(seen.size()));
  }
  ASSERT_EQ(trace.of("step").size(), 1U);
  EXPECT_EQ(trace.of("step")[0].name, "step 1");
  EXPECT_NEAR(trace.of("step")[0].end_us, record.step_seconds * 1e6, kRoundingUs);
  EXPECT_EQ(trace.of("run").size(), 2U);
}

// Readers hold times as doubles, and whole nanoseconds: nothing may be lost there.
TEST_F(LayeredTrace, HasTimesThatReadersTakeAsTheyAre) {
  const ReadTrace trace = test::read_trace(write(step(1)));
  for (const TraceSlice& slice : trace.slices) {
    EXPECT_EQ(std::trunc(slice.start_us * 1000), slice.start_us * 1000);
    EXPECT_EQ(std::trunc(slice.end_us * 1000), slice.end_us * 1000);
  }
}

TEST_F(LayeredTrace, GivesTasksInFlightAtOnceTracksOfTheirOwn) {
  const ReadTrace trace = test::read_trace(write(step(1)));
  test::expect_no_overlap(trace);
  std::map<std::string, std::set<std::pair<int, int>>> tracks;
  for (const TraceSlice& slice : trace.slices) tracks[slice.category].insert(slice.track);
  for (const Lane lane : {Lane::kCompute, Lane::kD2h, Lane::kH2d})
    EXPECT_EQ(tracks[std::string(ebbtide::name(lane))].size(), 1U) << ebbtide::name(lane);
  EXPECT_GT(tracks["nvme_write"].size(), 1U);
  for (const auto& [category, some] : tracks)
    for (const auto& track : some) EXPECT_TRUE(trace.track_names.contains(track)) << category;
}

TEST_F(LayeredTrace, LeadsFromEachStoreToTheLoadOfTheSameValue) {
  const ReadTrace trace = test::read_trace(write(step(1)));
  EXPECT_EQ(trace.open_arrows, 0U);
  std::map<std::pair<std::string, std::string>, int> kinds;
  std::set<std::pair<std::size_t, std::size_t>> joined;
  for (const test::TraceArrow& arrow : trace.arrows) {
    const TraceSlice& from = trace.slices[arrow.from];
    const TraceSlice& to = trace.slices[arrow.to];
    EXPECT_LE(from.end_us, to.start_us);
    EXPECT_LE(arrow.start_us, arrow.end_us);
    EXPECT_EQ(from.args.at("layer"), to.args.at("layer"));
    EXPECT_TRUE(joined.emplace(arrow.from, arrow.to).second) << "two arrows for one";
    ++kinds[{from.category, to.category}];
  }
  // The way down and back of every value that crossed: each step of it leads to the next.
  const auto down = static_cast<int>(2 * tasks(Lane::kNvmeRead).size());
  ASSERT_GT(down, 0);
  EXPECT_EQ((kinds[{"d2h", "nvme_write"}]), static_cast<int>(2 * tasks(Lane::kNvmeWrite).size()));
  EXPECT_EQ((kinds[{"nvme_write", "nvme_read"}]), down);
  EXPECT_EQ((kinds[{"nvme_read", "h2d"}]), down);
}

TEST_F(LayeredTrace, CountsWhatTiersHoldWithinTheirBudgets) {
  const ReadTrace trace = test::read_trace(write(step(1)));
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    const auto& held = trace.counters.at(std::string(ebbtide::name(tier)) + " held bytes");
    const auto homes = static_cast<double>(layered_.program.home_bytes()[index(tier)]);
    EXPECT_EQ(held.front().second, homes);
    EXPECT_EQ(held.back().second, homes);
    double most = 0;
    for (const auto& [at_us, bytes] : held) most = std::max(most, bytes);
    EXPECT_GT(most, homes);
    EXPECT_LE(most, static_cast<double>(plan_.span_bytes[index(tier)]));
    EXPECT_LE(most, static_cast<double>(plan_.budgets.of(tier)));
  }
}

TEST_F(LayeredTrace, CountsRatesThatAddUpToTheBytesMoved) {
  const ReadTrace trace = test::read_trace(write(step(1)));
  for (const Lane lane : {Lane::kD2h, Lane::kH2d, Lane::kNvmeWrite, Lane::kNvmeRead}) {
    const auto& rates = trace.counters.at(std::string(ebbtide::name(lane)) + " rate GB/s");
    double bytes = 0;
    for (std::size_t i = 0; i + 1 < rates.size(); ++i)
      bytes += rates[i].second * 1e3 * (rates[i + 1].first - rates[i].first);
    EXPECT_EQ(rates.back().second, 0);
    std::uint64_t moved = 0;
    for (const Task& task : tasks(lane))
      for (const Segment& segment : plan_.segments_of(task))
        moved += layered_.program.value(segment.value).size_bytes;
    EXPECT_NEAR(bytes, 2.0 * static_cast<double>(moved), 1e-6 * static_cast<double>(moved));
  }
}

// The table of exposed seconds, found anew from what the trace says.
TEST_F(LayeredTrace, HasASliceForEveryTimeThatComputeStoodStillForALane) {
  StepRecord record = step(1);
  record.data_seconds = 0.25;  // of 0.3 s between the runs
  const ReadTrace trace = test::read_trace(write(record));
  const Exposure whole = exposure_of(record, hardware_);
  std::map<std::string, double> by_lane;
  std::map<std::string, double> by_length;
  std::map<std::string, double> by_cause;
  for (const TraceSlice& slice : trace.of("compute waits")) {
    const double seconds = slice.args.at("seconds");
    EXPECT_NEAR(slice.end_us - slice.start_us, seconds * 1e6, 2 * kRoundingUs);
    for (std::size_t i = 0; i < kCauseCount; ++i) {
      const std::string cause(name(static_cast<Cause>(i)));
      by_cause[cause] += slice.args.at("causes").value(cause, 0.0);
    }
    if (!slice.args.contains("lane")) continue;
    const std::string lane = slice.args.at("lane");
    EXPECT_TRUE(slice.name.starts_with("compute waits for " + lane + ": ")) << slice.name;
    EXPECT_TRUE(slice.args.at("waited_for").get<std::string>().starts_with(lane + " task "));
    by_lane[lane] += seconds;
    by_length[lane] += (slice.end_us - slice.start_us) / 1e6;
  }
  ASSERT_GT(whole.exposed_s(), 0);
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    const std::string lane(ebbtide::name(static_cast<Lane>(i)));
    EXPECT_NEAR(by_lane[lane], whole.lanes[i].exposed_s, 1e-9) << lane;
    EXPECT_NEAR(by_length[lane], whole.lanes[i].exposed_s, 1e-5) << lane;
  }
  const std::size_t ops = 2 * tasks(Lane::kCompute).size();
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    // Of what no task was waited for, the shortest stretches are left out.
    const bool is_dispatch = static_cast<Cause>(i) == Cause::kDispatch;
    const std::string cause(name(static_cast<Cause>(i)));
    EXPECT_NEAR(by_cause[cause], whole.causes[i], is_dispatch ? 10e-6 * ops : 1e-9) << cause;
  }
}

// What a run leaves that is killed: the file, cut anywhere.
TEST_F(LayeredTrace, IsGoodToReadWhereverItIsCutOff) {
  const std::string whole = test::text_of_file(write(step(1)));
  const std::size_t all = test::parse_trace(whole).slices.size();
  std::size_t before = 0;
  for (std::size_t length = 1; length <= whole.size(); length += 61) {
    const std::size_t slices = test::parse_trace(whole.substr(0, length)).slices.size();
    EXPECT_GE(slices, before);
    before = slices;
  }
  EXPECT_GT(before, all / 2);
  EXPECT_TRUE(nlohmann::json::accept(whole));
  EXPECT_TRUE(whole.ends_with("]")) << "a reader takes bytes behind the array for an error";
}

TEST_F(LayeredTrace, IsInTheFileStepByStep) {
  const std::filesystem::path path = directory_ / "trace.json";
  Trace trace(path, "test");
  for (std::int64_t number = 4; number < 7; ++number) {
    trace.add(step(number), hardware_);
    const ReadTrace read = test::read_trace(path);
    const std::vector<TraceSlice> steps = read.of("step");
    ASSERT_EQ(steps.size(), static_cast<std::size_t>(number - 3));
    EXPECT_EQ(steps.back().name, "step " + std::to_string(number));
    test::expect_no_overlap(read);
    for (std::size_t i = 1; i < steps.size(); ++i)
      EXPECT_EQ(steps[i].start_us, steps[i - 1].end_us);
    EXPECT_EQ(read.of("compute").size(), steps.size() * 2 * tasks(Lane::kCompute).size());
  }
  EXPECT_EQ(trace.task_count(),
            6 * (plan_.tasks[0].size() + plan_.tasks[1].size() + plan_.tasks[2].size() +
                 plan_.tasks[3].size() + plan_.tasks[4].size()));
}

// A value of 1 KiB is made, stored for 3 s while compute is free again after 1 s, and used then.
TEST(Trace, SaysHowLongATaskWaitedForWhat) {
  Program program;
  const KindId kind = program.add_kind({"the \"value\"\\\n\xff", "values", {}});
  const KernelId kernel = program.add_kernel({"make\t\"it\"", Place::kDevice, {}});
  const ValueId value = program.add_value({.size_bytes = 1024, .kind = kind, .at = {5, 7}});
  program.add_op(kernel, {write(value)}, 0, OpCost{3e9, 2e6});
  program.add_op(kernel, {update(value)}, 0, OpCost{3e9, 2e6});
  plan_test::PlanBuilder builder(program);
  const Wait made = builder.op(0, {0});
  const Wait stored = builder.transfer(Lane::kD2h, {{0, 0, value}}, {made});
  builder.op(1, {0}, {stored});
  Timeline timeline;
  timeline.tasks[index(Lane::kCompute)] = {{0, 1}, {4.25, 5}};
  timeline.tasks[index(Lane::kD2h)] = {{1, 4}};
  timeline.step_seconds = 5;
  StepRecord record{.step = 1, .step_seconds = 5};
  record.runs.push_back({"run", &program, &builder.plan(), 0, timeline});

  const test::TemporaryDirectory directory;
  { Trace(directory / "trace.json", "a \"name\"").add(record, generic_cpu_hardware()); }
  ASSERT_TRUE(nlohmann::json::accept(test::text_of_file(directory / "trace.json")));
  const ReadTrace trace = test::read_trace(directory / "trace.json");
  const std::vector<TraceSlice> compute = trace.of("compute");
  ASSERT_EQ(compute.size(), 2U);
  EXPECT_EQ(compute[0].name, "make\t\"it\"");
  EXPECT_EQ(compute[0].args["flops"], 3e9);
  EXPECT_EQ(compute[0].args["layer"], 5);
  EXPECT_EQ(compute[0].args["chunk"], 7);
  EXPECT_EQ(compute[0].args["wait_seconds"], 0);
  EXPECT_FALSE(compute[0].args.contains("waited_for"));
  EXPECT_EQ(compute[1].args["wait_seconds"], 3.25);
  EXPECT_EQ(compute[1].args["waited_for"], "d2h task 0: the \"value\"\\\n\xef\xbf\xbd");
  EXPECT_EQ(trace.of("d2h")[0].args["bytes"], 1024);
}

TEST(Trace, SaysWhereItCannotBeWritten) {
  const test::TemporaryDirectory directory;
  EXPECT_THROW(Trace(directory / "missing" / "trace.json", "test"), std::system_error);
  EXPECT_THROW(Trace("/dev/full", "test"), std::system_error);
}

}  // namespace
}  // namespace ebbtide::report
