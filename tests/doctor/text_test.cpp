// Findings as they are shown.
#include "src/doctor/text.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/doctor/made_up_system.hpp"

namespace ebbtide::test {
namespace {

using doctor::Findings;
using doctor::Verdict;

const Findings kFindings{
    {"a", "first", Verdict::kInTheWay, "found it", "means that", "type this"},
    {"b", "second", Verdict::kGood, "one two three four five six seven eight nine ten", "fine"},
    {"b", "third", Verdict::kGood, "well", "fine"}};

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

TEST(DoctorText, GroupsByVerdictAndSaysHowToMend) {
  const std::string text = doctor::text(kFindings, {.columns = 100});
  const std::size_t bad = text.find("stands in the way (1)\n  first ");
  const std::size_t good = text.find("\ngood (2)\n  second");
  ASSERT_NE(bad, std::string::npos) << text;
  ASSERT_NE(good, std::string::npos) << text;
  EXPECT_LT(bad, good);
  EXPECT_NE(text.find("to mend: type this\n"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(DoctorText, KeepsToThePagesWidth) {
  for (const std::size_t columns : {40, 60, 79, 80, 120})
    EXPECT_LE(widest(doctor::text(kFindings, {.columns = columns})), columns);
}

TEST(DoctorText, ColoursOnlyWhereAsked) {
  const std::string text =
      doctor::text(kFindings, {.columns = 100, .colours = doctor::Colours::kAnsi});
  EXPECT_NE(text.find("\x1b[31mstands in the way (1)\x1b[0m"), std::string::npos);
  EXPECT_NE(text.find("\x1b[32mgood (2)\x1b[0m"), std::string::npos);
}

TEST(DoctorJson, HoldsTheWorstVerdictAndAllFindings) {
  Findings findings = kFindings;
  findings[1].subject = "path \xff";
  const auto json = nlohmann::json::parse(doctor::json(findings));
  EXPECT_EQ(json["verdict"], "stands in the way");
  ASSERT_EQ(json["findings"].size(), 3);
  EXPECT_EQ(json["findings"][0]["check"], "a");
  EXPECT_EQ(json["findings"][0]["remedy"], "type this");
  EXPECT_EQ(nlohmann::json::parse(doctor::json({}))["verdict"], "not here");
}

TEST(Doctor, FindsNothingWrongWhereAllIsWell) {
  const Findings findings = examine(MadeUpSystem(), {.nvme_paths = {"swap"}});
  for (const doctor::Finding& finding : findings)
    EXPECT_GE(finding.verdict, Verdict::kGood) << finding.subject << ": " << finding.found;
}

TEST(Doctor, PutsTheWorstFirstAndEndsOnAMachineWithoutAnyFile) {
  MadeUpSystem system;
  for (const char* folder : {"proc", "sys"}) std::filesystem::remove_all(system.root() / folder);
  system.numa_map = {};
  system.limits[doctor::Resource::kOpenFiles] = 3;
  const Findings findings = examine(system, {.nvme_paths = {"swap"}});
  EXPECT_EQ(findings.front().check, "open_files");
  EXPECT_TRUE(std::ranges::is_sorted(findings, {}, &doctor::Finding::verdict));
}

TEST(Doctor, LooksAtThisMachine) {
  const TemporaryDirectory directory;
  const Findings findings = examine(*doctor::this_system(), {.nvme_paths = {directory.path()}});
  for (const doctor::Finding& finding : findings) expect_finding(finding, finding.verdict, {});
  EXPECT_TRUE(directory.empty());
}

}  // namespace
}  // namespace ebbtide::test
