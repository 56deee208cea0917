// `ebbtide doctor`: says what this machine allows, what that means and how to mend it.
#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <vector>

#include "ebbtide/error.hpp"
#include "src/cli/command.hpp"
#include "src/cli/flags.hpp"
#include "src/cli/parse.hpp"
#include "src/cli/terminal.hpp"
#include "src/doctor/checks.hpp"
#include "src/doctor/text.hpp"
#include "src/report/progress.hpp"
#include "src/train/budgets.hpp"

namespace ebbtide::cli {
namespace {

enum class DoctorOutput : std::uint8_t { kText, kJson };

struct DoctorOptions {
  std::vector<std::filesystem::path> nvme_paths;
  std::optional<std::uint64_t> host_bytes;
  DoctorOutput output = DoctorOutput::kText;
};

void add_doctor_flags(CLI::App& app, DoctorOptions& options) {
  Flags flags(app);
  flags.paths({"--nvme-path", "DIR...", "directories of swap files to look at; repeatable",
               "drives are not looked at"},
              options.nvme_paths);
  flags.size({"--host-memory", "SIZE", "host arena of the run that is meant, bytes",
              "what train would take"},
             options.host_bytes, {.least = 0});
  flags.enable({"--json", "", "print one JSON object and nothing else", "off"}, options.output,
               DoctorOutput::kJson);
  app.footer("Exit status: 0 whatever it finds.");
}

// 0 where this machine has too little for any.
std::uint64_t usual_host_bytes() {
  const train::MemoryOptions memory;
  try {
    return train::resolve_budgets(memory, train::machine_limits(memory)).host_bytes;
  } catch (const Error&) {
    return 0;
  }
}

doctor::Page page_of(std::FILE* stream) {
  doctor::Page page;
  page.columns = terminal_columns(stream).value_or(page.columns);
  if (takes_colours(stream)) page.colours = doctor::Colours::kAnsi;
  return page;
}

}  // namespace

int doctor_command(Arguments arguments) {
  DoctorOptions options;
  CLI::App app("Says what this machine allows and how to mend it.", "ebbtide doctor");
  add_doctor_flags(app, options);
  if (parse(app, arguments) == Parsed::kHelpShown) return 0;
  const doctor::Needs needs{
      .nvme_paths = options.nvme_paths,
      .host_bytes = options.host_bytes ? *options.host_bytes : usual_host_bytes()};
  const doctor::Findings findings = doctor::examine(*doctor::this_system(), needs);
  report::print_text(stdout, options.output == DoctorOutput::kJson
                                 ? doctor::json(findings) + "\n"
                                 : doctor::text(findings, page_of(stdout)));
  return 0;
}

}  // namespace ebbtide::cli
