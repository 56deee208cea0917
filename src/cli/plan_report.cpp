#include "src/cli/plan_report.hpp"

#include <fmt/format.h>

#include "ebbtide/error.hpp"
#include "src/cli/page_settings.hpp"
#include "src/cli/version.hpp"
#include "src/plan/prediction.hpp"
#include "src/plan/simulated_step.hpp"

namespace ebbtide::cli {
namespace {

// Some GiB while their blocks are merged.
constexpr std::int64_t kMostTasks = std::int64_t{1} << 24;

void add_prediction(const CLI::App& app, const plan::Request& request, const plan::PlannedRun& run,
                    const tune::SavedSettings& profile, report::RunPage& page) {
  const plan::Prediction prediction = plan::predict(run, request.options);
  Resolved resolved =
      resolved_settings(request.options, run.plans->recipe(), run.target.budgets, run.target.rates);
  resolved["--hardware"] = run.target.name;
  page.settings = page_settings(app, resolved, profile);
  page.tokens = prediction.tokens;
  page.model_flops = prediction.model_flops;
  page.limit_flops_per_s = prediction.peak_flops_per_s;
  const PerTier<std::uint64_t> reserved = run.plans->reserved_bytes();
  for (std::size_t tier = 0; tier < kTierCount; ++tier)
    page.peaks[tier].planned_bytes = reserved[tier];
  page.predicted = report::step_view(page_record(run), run.target.rates);
}

}  // namespace

report::StepRecord page_record(const plan::PlannedRun& run) {
  std::int64_t tasks = 0;
  for (const plan::SimulatedProgram& program : run.step) {
    for (const std::vector<Task>& lane : program.plan->tasks)
      tasks += program.times * static_cast<std::int64_t>(lane.size());
  }
  if (tasks > kMostTasks)
    throw Error(Errc::kBadUsage,
                fmt::format("--report: a page shows at most {} tasks of a step, this one has {}; "
                            "give it fewer sequences (--batch-size, --grad-accumulation)",
                            kMostTasks, tasks));
  return plan::simulated_step(run);
}

report::RunPage plan_page(const CLI::App& app, const plan::Request& request,
                          const plan::PlannedRun& run, const tune::SavedSettings& profile) {
  report::RunPage page{.version = kVersion,
                       .command = "ebbtide plan",
                       .title = page_title(request.options.model, run.shape),
                       .machine = run.target.name,
                       .hardware = run.target.rates,
                       .limit = run.target.flops == plan::FlopRate::kPeak
                                    ? report::FlopsLimit::kPeak
                                    : report::FlopsLimit::kSustained,
                       .ranks = static_cast<std::int64_t>(run.target.ranks)};
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme})
    page.peaks[index(tier)].budget_bytes = run.target.budgets.of(tier);
  if (run.fits()) {
    add_prediction(app, request, run, profile, page);
    return page;
  }
  page.ending = "Does not fit: " + run.why_not;
  page.settings = page_settings(app, {}, profile);
  return page;
}

}  // namespace ebbtide::cli
