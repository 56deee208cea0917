// `ebbtide bench`: measures this machine, prints a table and writes a hardware file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <string>

#include "ebbtide/error.hpp"
#include "kernels/kernels.hpp"
#include "src/cli/bench_table.hpp"
#include "src/cli/command.hpp"
#include "src/cli/flags.hpp"
#include "src/cli/output_file.hpp"
#include "src/cli/parse.hpp"
#include "src/cli/signals.hpp"
#include "src/cli/status_line.hpp"
#include "src/measure/machine_of.hpp"
#include "src/measure/measure.hpp"
#include "src/report/progress.hpp"

namespace ebbtide::cli {
namespace {

namespace fs = std::filesystem;

struct BenchOptions {
  std::int64_t threads = 0;  // 0: every CPU that this process may use
  double time_limit_s = 60;
  std::vector<fs::path> nvme_paths;
  fs::path output = "hardware.toml";
  Overwrite overwrite = Overwrite::kRefuse;
};

void add_bench_flags(CLI::App& app, BenchOptions& options) {
  Flags flags(app);
  flags.path({"--output", "FILE", "hardware file to write", "hardware.toml"}, options.output);
  flags.enable({"--force", "", "replace the file if it is there", "off"}, options.overwrite,
               Overwrite::kReplace);
  flags.paths(
      {"--nvme-path", "DIR...",
       "directories on the drives to measure, with swap files of at most 1 GiB together that "
       "are written many times; repeatable",
       "drives are not measured"},
      options.nvme_paths);
  flags.number({"--time-limit", "SECONDS",
                "about how long to measure; each figure is taken once whatever it says", "60"},
               options.time_limit_s, {.least = 0.1, .most = 86400});
  flags.count({"--threads", "N", "threads that compute", "every CPU this process may use"},
              options.threads, {.least = 1, .most = 4096});
}

int threads_of(const BenchOptions& options) {
  return options.threads > 0 ? static_cast<int>(options.threads) : kernels::usable_cpus();
}

// A stop, and the signal that asked for it.
class SignalStop {
 public:
  void request(const std::string& signal) {
    const std::lock_guard lock(mutex_);
    if (signal_.empty()) signal_ = signal;
    stop_.request_stop();
  }
  std::stop_token token() const { return stop_.get_token(); }
  std::string signal() const {
    const std::lock_guard lock(mutex_);
    return signal_;
  }

 private:
  mutable std::mutex mutex_;
  std::string signal_;  // guarded by mutex_
  std::stop_source stop_;
};

measure::Figures measure_with_progress(const BenchOptions& options, const SignalStop& stop) {
  StatusLine line(stdout);
  std::string last_section;
  const auto show = [&](const std::string& section, const std::string& what) {
    if (section != last_section) line.note(fmt::format("measuring {}", section));
    line.show(fmt::format("measuring {}: {}", section, what));
    last_section = section;
  };
  try {
    return measure::measure_machine({.threads = threads_of(options),
                                     .time_limit_s = options.time_limit_s,
                                     .nvme_paths = options.nvme_paths},
                                    show, stop.token());
  } catch (const Error& error) {
    if (error.code() != make_error_code(Errc::kCancelled)) throw;
    throw Error(Errc::kCancelled,
                fmt::format("cancelled by {}; no file was written", stop.signal()));
  }
}

}  // namespace

int bench_command(Arguments arguments) {
  BenchOptions options;
  CLI::App app("Measures this machine and writes a hardware file.", "ebbtide bench");
  add_bench_flags(app, options);
  if (parse(app, arguments) == Parsed::kHelpShown) return 0;
  check_output_file("--output", options.output, options.overwrite);

  SignalStop stop;
  const SignalWatcher watcher([&stop](const std::string& signal) { stop.request(signal); });
  const measure::Figures figures = measure_with_progress(options, stop);
  const measure::MeasuredMachine measured = measure::machine_of(figures);
  report::print_text(stdout, table_text(figures, measured.machine));
  hardware::write_machine_file(options.output, measured.machine, measured.sources);
  report::print_text(stdout, fmt::format("\nwrote {}; use it with --hardware {}\n",
                                         options.output.string(), options.output.string()));
  return 0;
}

}  // namespace ebbtide::cli
