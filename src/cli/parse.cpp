#include "src/cli/parse.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "ebbtide/error.hpp"

namespace ebbtide::cli {
namespace {

// The first flag with more values than it takes; empty: none.
std::string given_again(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->results().size() > static_cast<std::size_t>(option->get_items_expected_max()))
      return option->get_name();
  }
  return {};
}

}  // namespace

Parsed parse(CLI::App& app, Arguments arguments) {
  // CLI11 takes the arguments last first.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return Parsed::kHelpShown;
  } catch (const CLI::ParseError& error) {
    if (const std::string flag = given_again(app); !flag.empty())
      throw Error(Errc::kBadUsage, fmt::format("{} is given more than once", flag));
    throw Error(Errc::kBadUsage, fmt::format("{}; see {} --help", error.what(), app.get_name()));
  }
  return Parsed::kRun;
}

}  // namespace ebbtide::cli
