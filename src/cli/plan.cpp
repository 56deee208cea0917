// `ebbtide plan`: says what a run would come to, without running it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "ebbtide/error.hpp"
#include "src/cli/command.hpp"
#include "src/cli/config_file.hpp"
#include "src/cli/output_file.hpp"
#include "src/cli/parse.hpp"
#include "src/cli/plan_flags.hpp"
#include "src/cli/plan_report.hpp"
#include "src/cli/profile_flag.hpp"
#include "src/cli/report_file.hpp"
#include "src/cli/status_line.hpp"
#include "src/hardware/known_machines.hpp"
#include "src/model/policy.hpp"
#include "src/plan/compare.hpp"
#include "src/plan/explain.hpp"
#include "src/plan/longest.hpp"
#include "src/plan/plan_json.hpp"
#include "src/plan/plan_text.hpp"
#include "src/plan/planned_run.hpp"
#include "src/plan/prediction.hpp"
#include "src/plan/simulated_step.hpp"
#include "src/report/trace.hpp"
#include "src/report/units.hpp"
#include "src/train/run_facts.hpp"

namespace ebbtide::cli {
namespace {

constexpr int kFits = 0;
constexpr int kDoesNotFit = 2;
// Of micro-steps that are simulated alike.
constexpr std::int64_t kMostTracedAlike = 2;

plan::Request request_of(const train::TrainOptions& options, const PlanExtras& extras) {
  plan::Request request{
      .options = options, .machine = {}, .ranks = static_cast<std::uint64_t>(extras.ranks)};
  if (extras.hardware.empty()) return request;
  try {
    request.machine = hardware::load_machine(extras.hardware);
  } catch (const Error& error) {
    throw Error(Errc::kBadUsage, fmt::format("--hardware: {}", error.what()));
  }
  return request;
}

plan::Longest longest_with_progress(const plan::Request& request) {
  StatusLine line(stderr);
  return plan::longest_sequence(request, [&line](std::int64_t tokens, bool fits) {
    line.note(fmt::format("{} tokens {}", report::tokens_text(static_cast<double>(tokens)),
                          fits ? "fit" : "do not fit"));
  });
}

plan::PlannedRun plan_with_progress(const plan::Request& request) {
  StatusLine line(stderr);
  int count = 0;
  plan::PlannedRun run = plan::plan_run(request, [&](const train::Tried& tried) {
    line.show(fmt::format(
        "tried {} settings; {} {}", ++count, model::describe(tried.candidate.activations),
        tried.fits ? report::seconds_text(tried.step_seconds) : std::string("does not fit")));
  });
  if (!run.fits()) {
    line.show("looking for budgets that would fit");
    plan::find_remedies(request, run);
  }
  return run;
}

std::optional<report::MemoryBill> bill_of(const plan::Request& request,
                                          const plan::PlannedRun& run) {
  if (!run.fits()) return std::nullopt;
  return train::bill_of(*run.plans, request.options.transfer.offload_check);
}

void write_trace(const std::filesystem::path& path, const plan::Request& request,
                 const plan::PlannedRun& run) {
  report::Trace trace(path, fmt::format("ebbtide plan, simulated, rank 0 of {}", request.ranks));
  trace.add(plan::simulated_step(run, kMostTracedAlike), run.target.rates);
}

void print_json(const plan::Request& request, const plan::PlannedRun& run, const PlanExtras& extras,
                const std::optional<plan::Longest>& longest) {
  plan::Json object = plan::to_json(request, run);
  if (run.fits()) {
    plan::add_to(object, plan::predict(run, request.options), *bill_of(request, run));
    if (const auto other = plan::faster_chunk(request, run))
      object["faster_chunk"] = {{"tokens", other->tokens}, {"step_seconds", other->step_seconds}};
  }
  if (extras.compared == Compared::kStrategies) object["strategies"] = plan::strategies_json(run);
  if (longest) {
    object["max_seq_len"] = longest->tokens;
    object["too_long_seq_len"] = longest->too_long;  // 0: longer was not tried
  }
  fmt::print("{}\n", object.dump());
}

void print_text(const plan::Request& request, const plan::PlannedRun& run, const PlanExtras& extras,
                const std::optional<plan::Longest>& longest) {
  // First of all: a name that no value has is refused before anything is printed.
  const std::string explanation =
      run.fits() && !extras.explain.empty() ? plan::explain(run, extras.explain) : std::string();
  if (longest) fmt::print("{}", plan::text(*longest));
  const std::optional<report::MemoryBill> bill = bill_of(request, run);
  fmt::print("{}", plan::verdict_text(request, run));
  if (!explanation.empty()) {
    fmt::print("{}", explanation);
    return;
  }
  std::optional<plan::OwnRow> own;
  if (bill) {
    const plan::Prediction prediction = plan::predict(run, request.options);
    fmt::print("{}{}{}", plan::settings_text(run), plan::text(prediction, run),
               plan::text(plan::faster_chunk(request, run)));
    const auto tokens = static_cast<double>(run.shape.seq_len);
    own.emplace(plan::OwnRow{*bill, tokens / prediction.tokens_per_second()});
  }
  fmt::print("{}", plan::text(run.target));
  if (bill) fmt::print("{}", report::text(*bill, report::BillDetail::kKinds));
  fmt::print("{}", plan::candidates_text(run));
  if (extras.compared == Compared::kStrategies) fmt::print("{}", plan::compare_text(run, own));
}

}  // namespace

int plan_command(Arguments arguments) {
  train::TrainOptions options;
  PlanExtras extras;
  CLI::App app("Plans a run and says what it would come to, without running it.", "ebbtide plan");
  add_config_flag(app);
  add_plan_flags(app, options, extras);
  if (parse(app, arguments) == Parsed::kHelpShown) return kFits;
  if (!extras.profile.empty()) extras.applied = apply_profile(app, extras.profile, options);
  check_together(options, extras);

  std::optional<ReportFile> report;
  if (!extras.report.empty()) report.emplace(extras.report);
  if (!extras.trace.empty()) check_output_file("--trace", extras.trace, Overwrite::kReplace);
  plan::Request request = request_of(options, extras);
  std::optional<plan::Longest> longest;
  if (extras.length == Length::kLongest) {
    longest = longest_with_progress(request);
    request = plan::with_length(std::move(request), std::max(longest->tokens, longest->granule));
  }
  const plan::PlannedRun run = plan_with_progress(request);
  if (extras.output == Output::kJson)
    print_json(request, run, extras, longest);
  else
    print_text(request, run, extras, longest);
  if (report) report->write(plan_page(app, request, run, extras.applied));
  if (!extras.trace.empty() && run.fits()) write_trace(extras.trace, request, run);
  return run.fits() ? kFits : kDoesNotFit;
}

}  // namespace ebbtide::cli
