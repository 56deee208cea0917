// `ebbtide plan`: what it prints for people and for programs, and its exit status.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/train_command.hpp"

namespace ebbtide::test {
namespace {

using nlohmann::json;

// The small model of TrainCommand, on a known machine unless said otherwise.
class PlanCommand : public TrainCommand {
 protected:
  Arguments plan(const Arguments& more) const {
    Arguments arguments{"plan", "--model", directory_ / "model"};
    arguments.insert(arguments.end(), {"--seq-len", "512", "--chunk-tokens", "64"});
    arguments.insert(arguments.end(), {"--dtype", "bf16", "--threads", "1"});
    arguments.insert(arguments.end(), {"--hardware", "rtx4090"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // The object that it prints, which has to be all that it prints.
  static json object(const Outcome& outcome) {
    std::istringstream out(outcome.out);
    std::string line;
    std::getline(out, line);
    EXPECT_EQ(outcome.out, line + "\n");
    return json::parse(line);
  }
  json planned(const Arguments& more) const {
    Arguments arguments = plan(more);
    arguments.push_back("--json");
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err << outcome.out;
    return object(outcome);
  }
  // Little of every tier: state and activations go all the way down.
  static Arguments tight() {
    return {"--device-memory", "768KiB", "--host-memory", "1MiB", "--nvme-memory", "1GiB"};
  }
};

TEST_F(PlanCommand, SaysThatItFitsAndWhatAStepTakes) {
  const Outcome outcome = run(plan({}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("fits: ")) << outcome.out;
  for (const char* text : {"1x RTX 4090 24 GB", "a step takes", "tokens/s", "MFU", "exposed",
                           "memory bill", "less a margin of 1.00 GiB", "<- planned"})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << " in " << outcome.out;
}

TEST_F(PlanCommand, PrintsWhatTheLogOfARunHasUnderTheSameNames) {
  const Logged trained = logged(with("--steps", "1"));
  ASSERT_EQ(trained.steps.size(), 1U);
  const json object = planned({});
  const std::set<std::string> only_of_runs{"step", "loss", "grad_norm", "learning_rate",
                                           "weights_xxh3"};
  for (const auto& [key, value] : trained.steps.front().items()) {
    if (!only_of_runs.contains(key)) {
      EXPECT_TRUE(object.contains(key)) << key;
    }
  }
  for (const auto& [lane, value] : trained.steps.front()["exposed_seconds"].items())
    EXPECT_TRUE(object["exposed_seconds"].contains(lane)) << lane;
  EXPECT_EQ(object["tokens"], 512);
  EXPECT_DOUBLE_EQ(object["tokens_per_second"], 512 / object["step_seconds"].get<double>());
}

TEST_F(PlanCommand, BillsEveryByteOfEveryTier) {
  for (const Arguments& flags : {Arguments{}, tight()}) {
    const json object = planned(flags);
    for (const char* tier : {"device", "host", "nvme"}) {
      const json& bill = object["bill"][tier];
      std::uint64_t named = 0;
      for (const json& line : bill["lines"]) {
        std::uint64_t kinds = 0;
        for (const json& part : line["kinds"]) kinds += part["bytes"].get<std::uint64_t>();
        EXPECT_EQ(kinds, line["bytes"]) << tier << " " << line["category"];
        named += kinds;
      }
      EXPECT_EQ(named + bill["held_bytes"].get<std::uint64_t>(), bill["peak_bytes"]) << tier;
      EXPECT_EQ(bill["peak_bytes"].get<std::uint64_t>() +
                    bill["fragmentation_bytes"].get<std::uint64_t>(),
                bill["reserved_bytes"])
          << tier;
      EXPECT_EQ(object[std::string(tier) + "_peak_bytes"], bill["reserved_bytes"]);
      EXPECT_LE(bill["reserved_bytes"], bill["budget_bytes"]);
    }
  }
}

TEST_F(PlanCommand, SendsToDrivesWhatHasNoRoomAndTellsTheirLife) {
  const json roomy = planned({});
  EXPECT_EQ(roomy["nvme_bytes_written"], 0);
  EXPECT_FALSE(roomy.contains("nvme_endurance_days"));
  const json small = planned(tight());
  const double written = small["nvme_bytes_written"];
  EXPECT_GT(written, 0);
  const double a_day = written / small["step_seconds"].get<double>() * 86400;
  EXPECT_DOUBLE_EQ(small["nvme_bytes_written_a_day"], a_day);
  EXPECT_DOUBLE_EQ(small["nvme_endurance_days"], 2400e12 / a_day);  // as rtx4090.toml rates it
  EXPECT_GT(small["step_seconds"], roomy["step_seconds"]);
}

TEST_F(PlanCommand, SetsTheUsualStrategiesBesideItsOwnBill) {
  const Outcome outcome = run(plan({"--compare"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* name :
       {"data parallel", "ZeRO-1", "ZeRO-2", "ZeRO-3", "selective recompute", "full recompute",
        "tensor parallel", "pipeline parallel", "layer-wise offload, two buffers", "Ebbtide"})
    EXPECT_NE(outcome.out.find(name), std::string::npos) << name;
  const json strategies = planned({"--compare"})["strategies"];
  for (const json& strategy : strategies) {
    double device = 0;
    for (const json& amount : strategy["amounts"]) device += amount["device_bytes"].get<double>();
    EXPECT_DOUBLE_EQ(device, strategy["device_bytes"]) << strategy["name"];
    EXPECT_EQ(strategy["fits"], true) << "a small model on a large card";
    EXPECT_GT(strategy["sequence_compute_seconds"], 0) << strategy["name"];
  }
  EXPECT_FALSE(planned({}).contains("strategies"));
}

TEST_F(PlanCommand, PrintsTheSameTwice) {
  for (const Arguments& flags : {Arguments{}, Arguments{"--json"}}) {
    Arguments arguments = plan(tight());
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_EQ(run(arguments).out, run(arguments).out);
  }
}

TEST_F(PlanCommand, SaysWhatWouldFitAndItDoes) {
  const Arguments no_room{"--host-memory", "256KiB", "--nvme-memory", "0"};
  const Outcome text = run(plan(no_room));
  EXPECT_EQ(text.status, 2);
  EXPECT_TRUE(text.out.starts_with("does not fit: ")) << text.out;
  EXPECT_NE(text.out.find("would fit: --host-memory "), std::string::npos) << text.out;
  Arguments arguments = plan(no_room);
  arguments.push_back("--json");
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 2);
  const json refused = object(outcome);
  EXPECT_EQ(refused["fits"], false);
  EXPECT_FALSE(refused["why_not"].get<std::string>().empty());
  ASSERT_FALSE(refused["would_fit"].empty());
  for (const json& remedy : refused["would_fit"]) {
    const std::string flag = "--" + remedy["tier"].get<std::string>() + "-memory";
    EXPECT_EQ(run(set(plan(no_room), flag, remedy["bytes"].dump())).status, 0) << remedy;
  }
}

TEST_F(PlanCommand, FindsTheLongestSequenceThatFits) {
  const Arguments budgets{"--device-memory", "2MiB", "--host-memory", "2MiB", "--nvme-memory", "0"};
  Arguments arguments = budgets;
  arguments.push_back("--max-seq-len");
  const json object = planned(arguments);
  const std::int64_t longest = object["max_seq_len"];
  const std::int64_t too_long = object["too_long_seq_len"];
  EXPECT_EQ(object["seq_len"], longest);
  EXPECT_EQ(longest % 64, 0);
  EXPECT_GT(too_long, longest);
  EXPECT_LE(too_long - longest, std::max<std::int64_t>(64, longest / 32));
  EXPECT_EQ(run(set(plan(budgets), "--seq-len", std::to_string(longest))).status, 0);
  EXPECT_EQ(run(set(plan(budgets), "--seq-len", std::to_string(too_long))).status, 2);

  const Outcome none = run(plan({"--host-memory", "4KiB", "--nvme-memory", "0", "--max-seq-len"}));
  EXPECT_EQ(none.status, 2);
  EXPECT_TRUE(none.out.starts_with("not even a sequence of 64 tokens fits")) << none.out;
}

TEST_F(PlanCommand, ExplainsWhereValuesOfAKindLive) {
  Arguments arguments = plan(tight());
  arguments.insert(arguments.end(), {"--explain", "Attention Output"});
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  // 2 layers of 8 chunks
  EXPECT_NE(outcome.out.find("16 attention output (saved activations)"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("go to NVMe"), std::string::npos) << outcome.out;
}

TEST_F(PlanCommand, TellsAllThatHappensToOneValue) {
  Arguments arguments = plan(tight());
  arguments.insert(arguments.end(), {"--explain", "layer input (1, 0)"});
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::size_t at = 0;
  for (const char* event : {"made by ", "device to host", "host to device", "read by "}) {
    at = outcome.out.find(event, at);
    ASSERT_NE(at, std::string::npos) << event << " in " << outcome.out;
  }
  EXPECT_NE(run(plan({"--explain", "model.layers.1.mlp.up_proj.weight"})).out.find("up weight (1)"),
            std::string::npos);
}

TEST_F(PlanCommand, RefusesToExplainWhatThereIsNot) {
  expect_refused(plan({"--explain", "atention output"}), {"did you mean", "'attention output'"});
  expect_refused(plan({"--explain", "zzzzzzzz"}), {"there are", "'attention output'", "'q'"});
  expect_refused(plan({"--explain", "q (2)"}), {"layers go from 0 to 1, chunks from 0 to 7"});
  for (const char* place : {"q (", "q (1,", "q (1, 2, 3)", "q (one)", "q (1) x"})
    expect_refused(plan({"--explain", place}), {place, "(layer, chunk)"});
  expect_refused(plan({"--explain", "q", "--json"}), {"--explain", "--json"});
}

TEST_F(PlanCommand, PlansBudgetsThatThisMachineDoesNotHave) {
  Arguments arguments = plan({"--device-memory", "512GiB", "--host-memory", "4096GiB"});
  arguments.erase(std::find(arguments.begin(), arguments.end(), "--hardware"),
                  std::find(arguments.begin(), arguments.end(), "--device-memory"));
  arguments.insert(arguments.end(), {"--nvme-memory", "8192GiB", "--json"});
  const Outcome outcome = run(arguments);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(object(outcome)["budgets"]["host_bytes"], std::uint64_t{4096} << 30);
  EXPECT_EQ(object(outcome)["budgets"]["nvme_bytes"], std::uint64_t{8192} << 30);
}

TEST_F(PlanCommand, PlansModelsThatCannotBeTrained) {
  EXPECT_EQ(run(set(plan({}), "--model", "gpt-7b")).status, 0);
}

TEST_F(PlanCommand, TakesACommandLineOfTrainButItsOutputs) {
  const Outcome outcome = run(plan({"--data", "nowhere.txt", "--learning-rate", "1e-4", "--seed",
                                    "7", "--nvme-path", "nowhere", "--io-engine", "threads"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* flag : {"--log-json", "--save", "--save-every", "--keep", "--resume"})
    expect_refused(plan({flag, "1"}), {flag, "ebbtide train"});
  expect_refused(plan({"--checksum"}), {"--checksum", "ebbtide train"});
  expect_refused(plan({"--dry-run"}), {"--dry-run", "ebbtide train"});
}

TEST_F(PlanCommand, RefusesMachinesAndRanksThatItCannotPlan) {
  expect_refused(set(plan({}), "--hardware", "abacus"), {"--hardware", "abacus", "rtx4090x8"});
  expect_refused(plan({"--ranks", "0"}), {"--ranks '0'", "at least 1"});
  expect_refused(plan({"--ranks", "2"}), {"2 ranks", "no network"});
  expect_refused(set(plan({"--ranks", "12"}), "--hardware", "rtx4090x8"), {"12 ranks"});
}

}  // namespace
}  // namespace ebbtide::test
