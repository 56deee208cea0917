// `ebbtide doctor` as a child process.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::test {
namespace {

using Arguments = std::vector<std::string>;

nlohmann::json finding(const nlohmann::json& report, const std::string& check) {
  for (const nlohmann::json& each : report["findings"])
    if (each["check"] == check) return each;
  ADD_FAILURE() << "no finding of " << check << " in " << report.dump();
  return {};
}

TEST(DoctorCommand, EndsWithZeroWhateverItFinds) {
  const TemporaryDirectory directory;
  const Outcome outcome = run({"doctor", "--nvme-path", directory / "none"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("stands in the way (")) << outcome.out;
  EXPECT_NE(outcome.out.find("mkdir -p"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << "colours go to terminals only";
}

TEST(DoctorCommand, PrintsOneObjectForPrograms) {
  const TemporaryDirectory directory;
  const Outcome outcome = run({"doctor", "--json", "--nvme-path", directory.path()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  for (const char* check : {"gpu", "cpu", "memory", "io_uring", "nvme_path", "o_direct",
                            "free_space", "pcie", "numa", "locked_memory", "open_files"})
    EXPECT_FALSE(finding(report, check)["found"].get<std::string>().empty()) << check;
  EXPECT_TRUE(directory.empty());
}

TEST(DoctorCommand, HoldsLimitsAgainstTheRunThatIsMeant) {
  const auto found = [](const std::string& size) {
    const Outcome outcome = run({"doctor", "--json", "--host-memory", size});
    return finding(nlohmann::json::parse(outcome.out), "locked_memory")["found"].get<std::string>();
  };
  EXPECT_NE(found("1GiB").find("takes 2.00 GiB"), std::string::npos) << found("1GiB");
}

TEST(DoctorCommand, RefusesFlagsThatItDoesNotHave) {
  for (const Arguments& arguments :
       {Arguments{"doctor", "--seq-len", "8K"}, Arguments{"doctor", "--host-memory", "1TB"},
        Arguments{"doctor", "--nvme-path"}, Arguments{"doctor", "more"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    EXPECT_NE(outcome.err.find(arguments[1]), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace ebbtide::test
