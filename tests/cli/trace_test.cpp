// --trace of whole runs: what is in the file, however the run ended.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <map>

#include "tests/cli/train_command.hpp"
#include "tests/report/trace_reader.hpp"

namespace ebbtide::test {
namespace {

class TraceFlag : public TrainCommand {
 protected:
  std::filesystem::path path() const { return directory_ / "trace.json"; }
  Arguments traced(Arguments arguments) const {
    arguments.insert(arguments.end(), {"--trace", path()});
    return arguments;
  }
  std::vector<std::string> steps() const {
    std::vector<std::string> names;
    for (const TraceSlice& slice : read_trace(path()).of("step")) names.push_back(slice.name);
    return names;
  }
  bool is_closed() const { return nlohmann::json::accept(text_of_file(path())); }
};

using Names = std::vector<std::string>;

TEST_F(TraceFlag, TracesStepsFromTheSecondOn) {
  EXPECT_EQ(run(traced(with_steps(train({}), "6"))).status, 0);
  EXPECT_EQ(steps(), (Names{"step 2", "step 3", "step 4"}));
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(run(traced(with_steps(train({"--trace-steps", "1"}), "3"))).status, 0);
  EXPECT_EQ(steps(), Names{"step 2"});
  EXPECT_EQ(run(traced(with_steps(train({}), "1"))).status, 0);
  EXPECT_EQ(steps(), Names{"step 1"}) << "a run of one step has no other";
}

// What the trace says of a measured step is what the log says.
TEST_F(TraceFlag, AgreesWithTheLog) {
  const Logged log = logged(traced(tiered({})));
  const ReadTrace trace = read_trace(path());
  EXPECT_EQ(trace.open_arrows, 0U);
  EXPECT_GT(trace.arrows.size(), 0U);
  expect_no_overlap(trace);
  const std::vector<TraceSlice> steps = trace.of("step");
  ASSERT_EQ(steps.size(), 2U);
  double all_exposed_s = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const nlohmann::json& line = log.steps.at(i + 1);
    EXPECT_NEAR(steps[i].end_us - steps[i].start_us, line["step_seconds"].get<double>() * 1e6, 1);
    std::map<std::string, double> exposed_s;
    for (const TraceSlice& slice : trace.of("compute waits"))
      if (slice.start_us >= steps[i].start_us && slice.start_us < steps[i].end_us)
        exposed_s[slice.args.value("lane", "")] += slice.args.at("seconds").get<double>();
    for (const auto& [lane, seconds] : line["exposed_seconds"].items()) {
      EXPECT_NEAR(exposed_s[lane], seconds.get<double>(), 1e-9) << lane;
      all_exposed_s += seconds.get<double>();
    }
  }
  EXPECT_GT(all_exposed_s, 0);
  for (const char* counter : {"device held bytes", "host held bytes"}) {
    for (const auto& [at_us, bytes] : trace.counters.at(counter)) EXPECT_LE(bytes, 32 << 20);
  }
}

TEST_F(TraceFlag, ChangesNoNumber) {
  const Logged plain = logged(tiered({}));
  expect_same_log(plain.steps, logged(traced(tiered({}))).steps);
}

TEST_F(TraceFlag, RefusesAFileThatCannotBeWritten) {
  for (const std::string& file : {std::string(directory_ / "nowhere/trace"),
                                  std::string(directory_ / "swap"), std::string("/dev/full")}) {
    const Outcome outcome = run(train({"--trace", file}));
    expect_refusal(outcome, {"--trace", file, "name a file "});
    EXPECT_TRUE(outcome.out.empty()) << outcome.out;
  }
  expect_refused(train({"--trace", path(), "--dry-run"}), {"--trace", "'ebbtide plan --trace'"});
}

// A limit on the size of files stands for a disk that is full.
TEST_F(TraceFlag, LeavesTheTraceOfTheRunBeforeWhereTheNextIsRefused) {
  directory_.write("trace.json", "of the run before");
  const std::string log = directory_.write("log.jsonl", "of the run before");
  const Arguments tiny = set(traced(train({"--log-json", log})), "--device-memory", "4KiB");
  expect_refused(tiny, {"--device-memory"});
  EXPECT_EQ(text_of_file(path()), "of the run before");
  EXPECT_EQ(text_of_file(log), "of the run before");
}

TEST_F(TraceFlag, GoesOnWithoutATraceWhenTheDiskIsFull) {
  const auto limited = [] {
    const rlimit limit{400 << 10, 400 << 10};
    return ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
  };
  const Logged run = logged(traced(with_steps(train({"--trace-steps", "100"}), "20")), limited);
  EXPECT_EQ(run.steps.size(), 20U);
  EXPECT_EQ(run.warnings_with("--trace: cannot write the trace: File too large"), 1U);
  const std::size_t whole = steps().size();
  ASSERT_GT(whole, 0U);
  ASSERT_LT(whole, 19U);
  EXPECT_EQ(run.warnings_with("its trace ends after " + std::to_string(whole) + " step"), 1U);
  EXPECT_TRUE(is_closed());
  const ReadTrace trace = read_trace(path());
  EXPECT_EQ(trace.of("compute").size() % whole, 0U) << "a part of a step was left";
}

TEST_F(TraceFlag, ClosesTheFileAtASignal) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Child child(traced(with_steps(tiered({"--trace-steps", "2"}), "100000")));
    ASSERT_TRUE(child.wait_for_output("step 4/"));
    child.send(signal);
    EXPECT_EQ(child.wait().status, 1);
    EXPECT_TRUE(is_closed());
    EXPECT_EQ(steps(), (Names{"step 2", "step 3"}));
  }
}

TEST_F(TraceFlag, LeavesWholeStepsWhenTheRunIsKilled) {
  Child child(traced(with_steps(tiered({"--trace-steps", "100000"}), "100000")));
  ASSERT_TRUE(child.wait_for_output("step 6/"));
  child.send(SIGKILL);
  EXPECT_EQ(child.wait().ended_by, SIGKILL);
  EXPECT_FALSE(is_closed());
  EXPECT_GE(steps().size(), 4U);
  expect_no_overlap(read_trace(path()));
}

TEST_F(TraceFlag, OfAPlanIsNoWarningWhereItCannotBeWritten) {
  const Outcome outcome = run({"plan", "--seq-len", "512", "--trace", "/dev/full"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("cannot write the trace: No space left on device"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.out.find("fits"), std::string::npos) << outcome.out;
}

TEST_F(TraceFlag, OfAPlanHasTheSimulatedStep) {
  const Arguments plan{"plan", "--seq-len",           "1024",  "--chunk-tokens",
                       "256",  "--device-memory",     "12MiB", "--host-memory",
                       "1GiB", "--grad-accumulation", "9"};
  const Outcome outcome = run(traced(plan));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(steps(), Names{"simulated step"});
  EXPECT_TRUE(is_closed());
  const ReadTrace trace = read_trace(path());
  EXPECT_EQ(trace.of("run").size(), 5U);  // first, two that are alike, last; the optimizer
  EXPECT_GT(trace.of("h2d").size(), 0U);
  expect_no_overlap(trace);
  expect_refused({"plan", "--trace", directory_ / "nowhere/trace"},
                 {"--trace", "nowhere/trace", "No such file or directory"});
  expect_refused({"plan", "--trace-steps", "3"}, {"--trace-steps", "'ebbtide train'"});
}

}  // namespace
}  // namespace ebbtide::test
