// Chooses the subcommand and turns what it throws into a message and an exit status.
#include <fmt/format.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "ebbtide/error.hpp"
#include "src/cli/command.hpp"
#include "src/cli/message.hpp"
#include "src/cli/version.hpp"
#include "src/report/progress.hpp"

namespace ebbtide::cli {
namespace {

using Run = int (*)(Arguments);
struct Subcommand {
  std::string_view name;
  std::string_view help;
  Run run = nullptr;  // null: not built yet
};
constexpr std::array<Subcommand, 6> kSubcommands{{
    {"train", "train a model inside hard memory budgets", train_command},
    {"plan", "build, plan, verify and simulate a step without running it", plan_command},
    {"profile", "run a few steps and report where the time went", profile_command},
    {"tune", "search chunk, bucket, prefetch and policy", tune_command},
    {"bench", "measure links, disk and kernels of this machine", bench_command},
    {"doctor", "say what this machine allows and how to mend it", doctor_command},
}};

std::string help() {
  std::string text =
      "Ebbtide trains transformers whose activations do not fit the accelerator.\n\n"
      "usage: ebbtide SUBCOMMAND [flags]\n       ebbtide SUBCOMMAND --help\n"
      "       ebbtide --version\n\nsubcommands\n";
  for (const Subcommand& subcommand : kSubcommands) {
    text += fmt::format("  {:<9}{}{}\n", subcommand.name, subcommand.help,
                        subcommand.run == nullptr ? " (not available in this version)" : "");
  }
  return text + "\nexit status: 0 done, 1 failed while running, 2 bad usage or does not fit\n";
}

int dispatch(Arguments arguments) {
  if (arguments.empty()) throw Error(Errc::kBadUsage, "no subcommand given; see ebbtide --help");
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h") {
    report::print_text(stdout, help());
    return 0;
  }
  if (first == "--version") {
    report::print_text(stdout, fmt::format("ebbtide {}\n", kVersion));
    return 0;
  }
  for (const Subcommand& subcommand : kSubcommands) {
    if (first != subcommand.name) continue;
    if (subcommand.run == nullptr)
      throw Error(Errc::kNotBuilt,
                  fmt::format("'ebbtide {}' is not available in this version", first));
    return subcommand.run(arguments.subspan(1));
  }
  throw Error(Errc::kBadUsage, fmt::format("unknown {} '{}'; see ebbtide --help",
                                           first.starts_with("-") ? "flag" : "subcommand", first));
}

int run(Arguments arguments) {
  try {
    return dispatch(arguments);
  } catch (const Error& error) {
    print_message("", error.what());
    return exit_status(error.code());
  } catch (const ContractViolation& violation) {
    print_message("internal error, please report it: ", violation.what());
  } catch (const std::bad_alloc&) {
    print_message("", "out of memory outside the budgets");
  } catch (const std::exception& error) {
    print_message("", error.what());
  }
  return 1;
}

// What was printed may not have arrived, on a full disk for example.
int status_with_output(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  print_message("", "standard output could not be written: what is missing there is lost");
  return status == 0 ? 1 : status;
}

}  // namespace
}  // namespace ebbtide::cli

int main(int argc, char** argv) {
  ebbtide::cli::open_standard_streams();
  // A write past a file size limit then fails with EFBIG instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return ebbtide::cli::status_with_output(ebbtide::cli::run(arguments));
}
