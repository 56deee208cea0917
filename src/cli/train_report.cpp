#include "src/cli/train_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "src/cli/page_settings.hpp"
#include "src/cli/plan_report.hpp"
#include "src/cli/version.hpp"
#include "src/plan/prediction.hpp"
#include "src/report/units.hpp"
#include "src/train/run_facts.hpp"

namespace ebbtide::cli {
TrainReport::TrainReport(const CLI::App& app, const train::TrainOptions& options,
                         const TrainExtras& extras)
    : app_(app), options_(options), profile_(extras.applied), file_(extras.report) {
  page_.version = kVersion;
  page_.command = "ebbtide train";
}

void TrainReport::planned(const train::RunFacts& facts, train::StepPlans& plans) {
  const train::ProgramRecipe& recipe = plans.recipe();
  page_.hardware = plans.settings().hardware;
  page_.title = page_title(facts.model, facts.shape);
  page_.machine = fmt::format("planned with the speeds of a {}", page_.hardware.name);
  Resolved resolved = resolved_settings(options_, recipe, facts.budgets, page_.hardware);
  resolved["--threads"] = fmt::format("{}", facts.threads);
  page_.settings = page_settings(app_, resolved, profile_);
  const std::int64_t sequences = options_.run.micro_steps();
  page_.tokens = sequences * facts.shape.seq_len;
  page_.model_flops =
      static_cast<double>(sequences) * plan::model_flops(recipe.config, facts.shape.seq_len);
  page_.limit_flops_per_s = page_.hardware.device_flops_per_s;
  const PerTier<std::uint64_t> reserved = plans.reserved_bytes();
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme})
    page_.peaks[index(tier)] = {.budget_bytes = facts.budgets.of(tier),
                                .planned_bytes = reserved[index(tier)]};
  plan::PlannedRun run;
  run.step = plan::simulate_step(plans, options_);
  const report::StepRecord record = page_record(run);
  page_.predicted = report::step_view(record, page_.hardware);
  memory_bytes_ = report::step_view_bytes(record);
}

void TrainReport::recorded(const report::StepRecord& record) {
  const double median_s = *page_.measured_step_seconds();
  const auto away = [median_s](double seconds) { return std::abs(seconds - median_s); };
  const bool first_shown = page_.measured && page_.measured->step == page_.history.front().step;
  if (page_.measured && !first_shown &&
      away(page_.measured->step_seconds) <= away(record.step_seconds))
    return;
  page_.measured = report::step_view(record, page_.hardware);
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme})
    page_.peaks[index(tier)].measured_bytes = page_.history.back().peak_bytes[index(tier)];
}

void TrainReport::finished(const train::RunSummary& summary) {
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme})
    page_.peaks[index(tier)].measured_bytes = summary.touched_bytes[index(tier)];
}

void TrainReport::write(const std::string& ending) {
  page_.ending = ending;
  file_.write(page_);
}

}  // namespace ebbtide::cli
