// `ebbtide train`: parses its flags, watches for signals, prints how training goes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "ebbtide/error.hpp"
#include "src/cli/command.hpp"
#include "src/cli/config_file.hpp"
#include "src/cli/message.hpp"
#include "src/cli/output_file.hpp"
#include "src/cli/parse.hpp"
#include "src/cli/signals.hpp"
#include "src/cli/trace_output.hpp"
#include "src/cli/train_flags.hpp"
#include "src/cli/train_report.hpp"
#include "src/model/policy.hpp"
#include "src/report/progress.hpp"
#include "src/report/step_log.hpp"
#include "src/report/units.hpp"
#include "src/train/train.hpp"

namespace ebbtide::cli {
namespace {

using report::bytes_text;
using report::print_text;
using report::seconds_text;

std::string facts_text(const train::RunFacts& facts) {
  const model::StepShape& shape = facts.shape;
  return fmt::format(
      "model {}: {} parameters, {}, {} threads\n"
      "weights: {}\n"
      "sequence of {} tokens in {} chunks of {}, {} query chunks a pass over the keys\n"
      "weights on {}, gradients on {}, optimizer state on {}; activations {}\n",
      facts.model, facts.parameters, ebbtide::name(shape.dtype), facts.threads, facts.weights,
      shape.seq_len, shape.chunks(), shape.chunk_tokens, shape.attention_group,
      describe(facts.placement.parameters), describe(facts.placement.gradients),
      describe(facts.placement.optimizer), model::describe(facts.activations));
}

std::string summary_text(const train::RunSummary& summary) {
  if (summary.steps == 0) return "no step was run\n";
  std::string text = fmt::format(
      "loss {:.6f} -> {:.6f} in {} steps\n  step time    predicted {}, measured {} (median)\n",
      summary.first_loss, summary.last_loss, summary.steps,
      seconds_text(summary.expected_step_seconds), seconds_text(summary.median_step_seconds));
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    const std::size_t at = index(tier);
    if (summary.planned_peak_bytes[at] == 0) continue;
    text += fmt::format("  {:<6} peak  predicted {} ({} bytes), measured {} ({} bytes)\n",
                        ebbtide::name(tier), bytes_text(summary.planned_peak_bytes[at]),
                        summary.planned_peak_bytes[at], bytes_text(summary.touched_bytes[at]),
                        summary.touched_bytes[at]);
  }
  text += "  moved       ";
  for (const Lane lane : {Lane::kD2h, Lane::kH2d, Lane::kNvmeWrite, Lane::kNvmeRead})
    text +=
        fmt::format(" {} {}", ebbtide::name(lane), bytes_text(summary.moved_bytes[index(lane)]));
  text += "\n";
  if (summary.checked_bytes + summary.unchecked_bytes == 0) return text;
  return text + fmt::format("  checked      {} that came back from disk; {} with no sum to check\n",
                            bytes_text(summary.checked_bytes), bytes_text(summary.unchecked_bytes));
}

class Printer final : public train::TrainObserver {
 public:
  // `report`: none where null.
  Printer(const train::TrainOptions& options, const TrainExtras& extras, TrainReport* report)
      : steps_(options.run.steps),
        is_resumed_(!options.checkpoint.resume.empty()),
        extras_(extras),
        report_(report) {}

  // Files are begun anew only here: a run that is refused leaves those of the run before.
  void planned(const train::RunFacts& facts, const report::MemoryBill& bill) override {
    if (!extras_.log_json.empty()) open_log();
    if (!extras_.trace.empty()) trace_.emplace(extras_.trace, "ebbtide train, rank 0 of 1");
    report::MemoryBill all = bill;
    if (report_ != nullptr) all.add_constant("report, at most", report_->memory_bytes());
    hardware_ = facts.hardware;
    print_text(stdout, fmt::format("{}{}  a step is expected to take {}\n", facts_text(facts),
                                   report::text(all), seconds_text(facts.expected_step_seconds)));
    std::fflush(stdout);
  }
  void prepared(const train::RunFacts& facts, train::StepPlans& plans) override {
    if (report_ != nullptr) report_->planned(facts, plans);
  }
  void warned(const std::string& warning) override {
    if (report_ != nullptr) report_->warned(warning);
    if (progress_) progress_->finish();
    print_message("warning: ", warning.c_str());
  }
  void stepped(const report::StepReport& step) override {
    if (!progress_) progress_.emplace(stdout, report::progress_style(stdout), step.step, steps_);
    progress_->step(step);
    if (log_) log_->write(step);
    if (report_ != nullptr) report_->stepped(step);
    ++steps_run_;
  }
  bool wants_record(std::int64_t step) const override {
    return report_ != nullptr || is_traced(step, steps_run_);
  }
  void recorded(const report::StepRecord& record) override {
    if (report_ != nullptr) report_->recorded(record);
    if (!is_traced(record.step, steps_run_ - 1)) return;
    if (const auto warning = trace_->add(record, hardware_)) warned(*warning);
  }
  void evaluated(std::int64_t step, double loss) override {
    if (report_ != nullptr) report_->evaluated(step, loss);
    progress_->note(fmt::format("evaluation after step {}: loss {:.6f}", step, loss));
  }
  void saved(const std::filesystem::path& checkpoint) override {
    const std::string line = fmt::format("saved {}", checkpoint.string());
    if (progress_)
      progress_->note(line);
    else
      print_text(stdout, line + "\n");
  }
  void finished(const train::RunSummary& summary) override {
    end_line();
    print_text(stdout, summary_text(summary));
    if (report_ != nullptr) report_->finished(summary);
  }
  void end_line() {
    if (progress_) progress_->finish();
    std::fflush(stdout);
  }

 private:
  // The first step also warms everything up; a run of one step has no other.
  bool is_traced(std::int64_t step, std::int64_t steps_before) const {
    return trace_ && trace_->has_room() && trace_->steps() < extras_.trace_steps &&
           (steps_before > 0 || step == steps_);
  }
  void open_log() {
    try {
      log_.emplace(extras_.log_json,
                   is_resumed_ ? report::LogStart::kAppend : report::LogStart::kNew);
    } catch (const Error& error) {
      throw Error(Errc::kBadUsage,
                  fmt::format("--log-json: {}; name a file that this user may make and write",
                              error.what()));
    }
  }

  const std::int64_t steps_;
  const bool is_resumed_;
  const TrainExtras& extras_;
  std::int64_t steps_run_ = 0;
  std::optional<TraceOutput> trace_;
  HardwareModel hardware_;
  std::optional<report::StepLog> log_;
  std::optional<report::Progress> progress_;
  TrainReport* report_;
};

// Of a run that has failed: what it failed of is told of, whatever becomes of the page.
void write_unfinished(TrainReport& report, const char* why) {
  try {
    report.write(fmt::format("The run ended early: {}", why));
  } catch (const std::exception& error) {
    print_message("warning: --report: ", error.what());
  }
}

void run(const CLI::App& app, const train::TrainOptions& options, const TrainExtras& extras) {
  train::Stop stop;
  const SignalWatcher watcher([&stop](const std::string& signal) { stop.request(signal); });
  std::optional<TrainReport> report;
  if (!extras.report.empty()) report.emplace(app, options, extras);
  Printer printer(options, extras, report ? &*report : nullptr);
  try {
    train::train(options, printer, stop);
  } catch (const std::exception& error) {
    printer.end_line();
    if (report && report->has_plan()) write_unfinished(*report, error.what());
    throw;
  }
  if (report) report->write("");
}

}  // namespace

int train_command(Arguments arguments) {
  train::TrainOptions options;
  TrainExtras extras;
  CLI::App app("Trains a model inside hard memory budgets.", "ebbtide train");
  add_config_flag(app);
  add_train_flags(app, options, extras);
  if (parse(app, arguments) == Parsed::kHelpShown) return 0;
  settle_local_run(app, options, extras);
  if (!extras.trace.empty() && options.mode == train::RunMode::kDryRun)
    throw Error(Errc::kBadUsage,
                "--trace: a dry run has no step; 'ebbtide plan --trace' traces a simulated one");
  for (const auto& [flag, path] :
       {std::pair("--trace", &extras.trace), {"--log-json", &extras.log_json}})
    if (!path->empty()) check_output_file(flag, *path, Overwrite::kReplace);

  try {
    run(app, options, extras);
  } catch (const Error&) {
    throw;
  } catch (const std::system_error& error) {
    // EAGAIN is what std::thread throws, and all threads start before the first step.
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    throw Error(Errc::kDoesNotFit,
                fmt::format("could not start a thread: {}; use fewer --threads or raise the limit "
                            "(ulimit -u, ulimit -v, a control group's pids.max)",
                            error.code().message()));
  }
  return 0;
}

}  // namespace ebbtide::cli
