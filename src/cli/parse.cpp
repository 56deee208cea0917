#include "src/cli/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ebbtide/error.hpp"
#include "src/cli/config_file.hpp"
#include "src/report/progress.hpp"

namespace ebbtide::cli {
namespace {

// The first flag with more values than it takes; empty: none.
std::string given_again(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    // A switch takes no value and has one result for each time that it is given.
    const int most = std::max(option->get_items_expected_max(), 1);
    if (option->results().size() > static_cast<std::size_t>(most)) return option->get_name();
  }
  return {};
}

std::string first_word(const std::string& text) {
  return text.substr(0, text.find(' '));
}
std::string last_word(const std::string& text) {
  return text.substr(text.rfind(' ') + 1);
}

}  // namespace

Parsed parse(CLI::App& app, Arguments arguments) {
  // CLI11 takes the arguments last first.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    report::print_text(stdout, app.help());
    return Parsed::kHelpShown;
  } catch (const CLI::ConfigError& error) {
    // Its message ends with the key that no flag has.
    const std::string key = last_word(error.what());
    throw Error(Errc::kBadUsage,
                fmt::format("{}no flag is named '{}'; see {} --help",
                            place_in_config(app, arguments, key), key, app.get_name()));
  } catch (const CLI::ParseError& error) {
    if (const std::string flag = given_again(app); !flag.empty())
      throw Error(Errc::kBadUsage, fmt::format("{}{} is given more than once",
                                               place_in_config(app, arguments, flag), flag));
    throw Error(Errc::kBadUsage, fmt::format("{}; see {} --help", error.what(), app.get_name()));
  } catch (const Error& error) {
    // Messages of values begin with their flag.
    const std::string place = place_in_config(app, arguments, first_word(error.what()));
    if (place.empty()) throw;
    throw Error(static_cast<Errc>(error.code().value()), place + error.what());
  }
  return Parsed::kRun;
}

}  // namespace ebbtide::cli
