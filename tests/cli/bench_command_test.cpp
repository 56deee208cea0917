// `ebbtide bench` as a child process, with next to no time.
#include <gtest/gtest.h>

#include <csignal>

#include "src/hardware/machine_file.hpp"
#include "tests/cli/child.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::test {
namespace {

using Arguments = std::vector<std::string>;
namespace fs = std::filesystem;

class BenchCommand : public testing::Test {
 protected:
  BenchCommand() { fs::create_directory(directory_ / "drive"); }

  Arguments bench(const Arguments& more) const {
    Arguments arguments{"bench", "--threads", "1", "--output", file_, "--time-limit", "0.1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void expect_refused(const Arguments& arguments, const Arguments& parts) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    for (const std::string& text : parts)
      EXPECT_NE(outcome.err.find(text), std::string::npos) << text << " in: " << outcome.err;
    EXPECT_EQ(outcome.out.find("measuring"), std::string::npos) << "it measured first";
  }

  TemporaryDirectory directory_;
  const fs::path file_ = directory_ / "machine.toml";
};

void expect_positive(const hardware::Machine& machine) {
  for (const double figure :
       {machine.device.op_overhead_s, machine.device.attention.peak_fraction,
        machine.link.both_ways_bytes_per_s, machine.link.latency_s, machine.host.flops_per_s,
        machine.nvme.read_bytes_per_s, machine.nvme.write_bytes_per_s, machine.nvme.latency_s})
    EXPECT_GT(figure, 0);  // the format holds the others above zero
}

TEST_F(BenchCommand, WritesAFileOfAllThatItMeasured) {
  const Outcome outcome = run(bench({"--nvme-path", directory_ / "drive"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  expect_positive(hardware::read_machine_file(file_));
  for (const char* part : {"matmul", "attention", "RMSNorm", "triad", "AdamW", "d2h beside h2d",
                           "1.00 MiB", "were written", "1 threads"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in: " << outcome.out;
  EXPECT_NE(
      outcome.out.find("wrote " + file_.string() + "; use it with --hardware " + file_.string()),
      std::string::npos);
  EXPECT_EQ(text_of(file_).find("estimate"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(directory_ / "drive"));
}

TEST_F(BenchCommand, EstimatesADriveThatItWasNotGiven) {
  const Outcome outcome = run(bench({}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  expect_positive(hardware::read_machine_file(file_));
  EXPECT_NE(outcome.out.find("NVMe: not measured"), std::string::npos) << outcome.out;
  EXPECT_NE(text_of(file_).find("estimate, not measured"), std::string::npos);
}

TEST_F(BenchCommand, ReplacesAFileOnlyWhenItIsTold) {
  directory_.write("machine.toml", "mine");
  expect_refused(bench({}), {"machine.toml", "--force"});
  EXPECT_EQ(text_of(file_), "mine");
  const Outcome outcome = run(bench({"--force"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NO_THROW(hardware::read_machine_file(file_));
}

TEST_F(BenchCommand, RefusesAnOutputBeforeItMeasures) {
  const auto to = [](const std::string& output) {
    return Arguments{"bench", "--threads", "1", "--time-limit", "0.1", "--output", output};
  };
  expect_refused(to(directory_ / "nowhere/machine.toml"), {"--output", "errno"});
  expect_refused(to(directory_.path()), {"--output", "directory"});
  expect_refused(to(""), {"--output"});
}

TEST_F(BenchCommand, RefusesADriveThatIsNotThere) {
  expect_refused(bench({"--nvme-path", directory_ / "drive", "--nvme-path", directory_ / "none"}),
                 {"--nvme-path", "none", "errno"});
  expect_refused(bench({"--nvme-path", directory_.write("file", "")}), {"--nvme-path", "file"});
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(BenchCommand, RefusesFlagsThatCannotBeMeant) {
  const auto with = [&](const std::string& flag, const std::string& value) {
    return Arguments{"bench", "--output", file_, flag, value};
  };
  expect_refused(with("--threads", "0"), {"--threads", "at least 1"});
  expect_refused(with("--threads", "all"), {"--threads", "all"});
  expect_refused(with("--time-limit", "0"), {"--time-limit", "must be from"});
  expect_refused(with("--time-limit", "soon"), {"--time-limit", "soon"});
  expect_refused(bench({"--fast"}), {"--fast", "ebbtide bench --help"});
}

TEST_F(BenchCommand, EndsAtASignalAndLeavesNothing) {
  for (const auto& [signal, name] : {std::pair(SIGINT, "SIGINT"), std::pair(SIGTERM, "SIGTERM")}) {
    Child child({"bench", "--threads", "1", "--output", file_, "--time-limit", "80000",
                 "--nvme-path", directory_ / "drive"});
    ASSERT_TRUE(child.wait_for_output("measuring kernels"));
    child.send(signal);
    const Outcome outcome = child.wait();
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(outcome.err.find(std::string("cancelled by ") + name), std::string::npos)
        << outcome.err;
    EXPECT_FALSE(fs::exists(file_));
    EXPECT_TRUE(fs::is_empty(directory_ / "drive"));
  }
}

TEST_F(BenchCommand, HasHelpWithADefaultForEveryFlag) {
  const Outcome help = run({"bench", "--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* flag : {"--output", "--force", "--nvme-path", "--time-limit", "--threads"})
    EXPECT_NE(help.out.find(std::string("  ") + flag), std::string::npos) << flag;
}

}  // namespace
}  // namespace ebbtide::test
