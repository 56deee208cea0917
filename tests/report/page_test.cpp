// The data of a page, as its script finds them.
#include "src/report/page.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/report/small_step.hpp"

namespace ebbtide::report {
namespace {

using Json = nlohmann::json;

RunPage page_of(const SmallStep& small) {
  RunPage page{.version = "1.2.3", .command = "ebbtide plan", .title = "demo"};
  page.hardware = small.run.target.rates;
  page.predicted = step_view(small.record, page.hardware);
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme})
    page.peaks[index(tier)] = {.budget_bytes = small.run.target.budgets.of(tier),
                               .planned_bytes = small.run.plans->reserved_bytes()[index(tier)]};
  return page;
}

double sum(const Json& numbers) {
  double sum = 0;
  for (const Json& number : numbers) sum += number.get<double>();
  return sum;
}

TEST(Page, HasSumsThatAreThoseOfItsLanes) {
  const SmallStep small;
  const Json step = Json::parse(page_json(page_of(small)))["predicted"];
  const double seconds = step["step_seconds"].get<double>();
  EXPECT_DOUBLE_EQ(seconds, small.record.step_seconds);
  double compute_s = 0;
  for (const Json& lane : step["lanes"]) {
    const double all = lane["hidden_seconds"].get<double>() +
                       lane["exposed_seconds"].get<double>() + lane["idle_seconds"].get<double>();
    EXPECT_NEAR(all, seconds, 1e-9 * seconds) << lane["lane"];
    for (const Json& level : lane["levels"]) {
      EXPECT_EQ(sum(level["bytes"]), lane["bytes"].get<double>()) << lane["lane"];
      const Json& tasks = level.contains("tasks") ? level["tasks"] : Json();
      EXPECT_EQ(tasks.empty() ? static_cast<double>(level["start_ns"].size()) : sum(tasks),
                lane["tasks"].get<double>());
      const Json& busy = level.contains("busy_ns") ? level["busy_ns"] : level["length_ns"];
      EXPECT_NEAR(sum(busy) / 1e9, lane["busy_seconds"].get<double>(),
                  1e-9 * static_cast<double>(busy.size()))
          << lane["lane"];
    }
    if (lane["lane"] == "compute") compute_s = lane["busy_seconds"].get<double>();
  }
  const double still_s = step["still_seconds"].get<double>();
  EXPECT_NEAR(compute_s + still_s, seconds, 1e-9 * seconds);
  EXPECT_NEAR(sum(step["causes"]), still_s, 1e-9 * seconds);
  EXPECT_NEAR(sum(step["still"]["length_ns"]) / 1e9 + step["shorter_still_seconds"].get<double>(),
              still_s, 1e-8);
}

TEST(Page, NamesEveryBlock) {
  const SmallStep small;
  const Json step = Json::parse(page_json(page_of(small)))["predicted"];
  const std::size_t names = step["names"].size();
  std::size_t blocks = 0;
  for (const Json& lane : step["lanes"]) {
    for (const Json& level : lane["levels"]) {
      ASSERT_EQ(level["what"].size(), level["start_ns"].size());
      for (const Json& what : level["what"]) ASSERT_LT(what.get<std::size_t>(), names);
      blocks += level["what"].size();
    }
  }
  EXPECT_GT(blocks, 0U);
}

TEST(Page, HoldsTierAgainstBudget) {
  const SmallStep small;
  const Json page = Json::parse(page_json(page_of(small)));
  for (const char* tier : {"device", "host"}) {
    const Json& peaks = page["peaks"][tier];
    EXPECT_LE(peaks["planned_bytes"], peaks["budget_bytes"]);
    EXPECT_LE(page["predicted"]["memory"][tier]["peak_bytes"], peaks["planned_bytes"]);
    EXPECT_GT(page["predicted"]["memory"][tier]["peak_bytes"].get<std::uint64_t>(), 0U);
  }
}

// Neither a name nor a path can end the script element or begin a comment in it.
TEST(Page, EscapesWhatWouldEndItsScript) {
  RunPage page{.title = "</script><script>alert(1)</script><!--"};
  page.settings.push_back({.name = "--model", .value = "a\xff</SCRIPT >\n\"b"});
  const std::string html = page_html(page);
  EXPECT_EQ(html.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(html.find("</SCRIPT"), std::string::npos);
  const std::string begin = "id=\"data\">";
  const std::size_t at = html.find(begin) + begin.size();
  const std::string data = html.substr(at, html.find("</script>", at) - at);
  EXPECT_EQ(data.find('<'), std::string::npos);
  const Json read = Json::parse(data);
  EXPECT_EQ(read["title"], page.title);
  EXPECT_EQ(read["settings"][0]["value"], "a\xEF\xBF\xBD</SCRIPT >\n\"b");
}

TEST(Page, NeedsNothingFromAnywhere) {
  const std::string html = page_html({});
  for (const char* text : {"http://", "https://", "src=", "@import", "url("}) {
    // The namespace of SVG is a name, not an address that is asked for.
    std::string rest = html;
    const std::string svg = "http://www.w3.org/2000/svg";
    for (std::size_t at = rest.find(svg); at != std::string::npos; at = rest.find(svg))
      rest.erase(at, svg.size());
    EXPECT_EQ(rest.find(text), std::string::npos) << text;
  }
}

StepReport step_of(std::int64_t step, double seconds) {
  StepReport report;
  report.step = step;
  report.step_seconds = seconds;
  return report;
}

TEST(Page, LeavesTheFirstStepOutOfTheMedian) {
  RunPage page;
  EXPECT_FALSE(page.measured_step_seconds());
  page.history.push_back(step_of(1, 9));
  EXPECT_EQ(page.measured_step_seconds(), 9);
  for (const double seconds : {2.0, 4.0, 3.0}) page.history.push_back(step_of(2, seconds));
  EXPECT_EQ(page.measured_step_seconds(), 3);
}

TEST(Page, SaysInAVerdictWhyComputeStoodStill) {
  RunPage page;
  StepView view;
  view.step_seconds = view.exposure.step_s = 10;
  view.exposure.causes[index(Cause::kDiskRate)] = 1.5;
  view.exposure.causes[index(Cause::kLinkRate)] = 0.5;
  page.predicted = view;
  EXPECT_EQ(verdict(page),
            "Compute stands still for 20.0 % of the step (2.00 s of 10.0 s), most of it for the "
            "rate of the drives (1.50 s).");
  page.predicted->exposure.causes = {};
  EXPECT_EQ(verdict(page),
            "Transfers hide behind compute, which stands still for 0.0 % of the step.");
}

}  // namespace
}  // namespace ebbtide::report
