#include "src/cli/config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "ebbtide/error.hpp"

namespace ebbtide::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
  throw Error(Errc::kBadUsage, fmt::format("--config {}: {}", path, problem));
}

// Before it is opened: a FIFO would be waited for, and a device never ends.
std::string check_file(const std::string& path) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (!fs::exists(status)) refuse(path, "no such file");
  if (fs::is_directory(status)) refuse(path, "is a directory");
  if (!fs::is_regular_file(status)) refuse(path, "not a regular file");
  const std::uintmax_t size_bytes = fs::file_size(path, code);
  if (code) refuse(path, code.message());
  if (size_bytes > kMostConfigBytes)
    refuse(path,
           fmt::format("has {} bytes; a config file has at most {}", size_bytes, kMostConfigBytes));
  if (!std::ifstream(path)) refuse(path, "cannot be read");
  return {};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// 0: no line gives the key.
std::int64_t line_of(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::int64_t number = 1;
  for (std::string line; std::getline(file, line); ++number) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos && trimmed(std::string_view(line).substr(0, equals)) == key)
      return number;
  }
  return 0;
}

bool is_given(Arguments arguments, const std::string& flag) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return argument == flag || argument.starts_with(flag + "=");
  });
}

}  // namespace

void add_config_flag(CLI::App& app) {
  app.set_config("--config", "", "TOML file with flags of the same names, without the dashes")
      ->check(CLI::Validator(check_file, ""));
  app.allow_config_extras(CLI::config_extras_mode::error);
}

std::string place_in_config(const CLI::App& app, Arguments arguments, const std::string& flag) {
  const CLI::Option* const config = app.get_config_ptr();
  if (config == nullptr || config->count() == 0 || is_given(arguments, flag)) return {};
  const std::string path = config->results().back();
  const std::size_t name = flag.find_first_not_of('-');
  if (name == std::string::npos) return {};
  // A key may stand in a section: "section.key".
  const std::string key = flag.substr(std::max(name, flag.rfind('.') + 1));
  const std::int64_t line = line_of(path, key);
  return line == 0 ? fmt::format("{}: ", path) : fmt::format("{}, line {}: ", path, line);
}

}  // namespace ebbtide::cli
