#include "src/cli/parse.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "ebbtide/error.hpp"

namespace ebbtide::cli {

Parsed parse(CLI::App& app, Arguments arguments) {
  // CLI11 takes the arguments last first.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return Parsed::kHelpShown;
  } catch (const CLI::ParseError& error) {
    throw Error(Errc::kBadUsage, fmt::format("{}; see {} --help", error.what(), app.get_name()));
  }
  return Parsed::kRun;
}

}  // namespace ebbtide::cli
