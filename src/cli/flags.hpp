// Binds flags of a subcommand to the fields of its options. One line of help a flag, which states
// unit and default; text is parsed strictly (quantities.hpp), on the command line and in a config
// file alike.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/quantities.hpp"

namespace ebbtide::cli {

// What a flag is called, takes, says and does when it is not given.
struct FlagText {
  std::string name;   // "--seq-len"
  std::string value;  // "N", "SIZE", ...; empty for a switch
  std::string help;
  std::string fallback;  // the default, as printed
};

class Flags {
 public:
  explicit Flags(CLI::App& app) : app_(app) {}

  void size(const FlagText& text, std::uint64_t& target, const Range& bytes);
  void size(const FlagText& text, std::optional<std::uint64_t>& target, const Range& bytes);
  void count(const FlagText& text, std::int64_t& target, const Range& things);
  // "auto" leaves the target empty.
  void count_or_auto(const FlagText& text, std::optional<std::int64_t>& target,
                     const Range& things);
  void rate(const FlagText& text, std::optional<double>& target);
  void number(const FlagText& text, double& target, const NumberRange& range);
  void number_or_auto(const FlagText& text, std::optional<double>& target,
                      const NumberRange& range);
  void duration(const FlagText& text, double& target_s, const NumberRange& seconds);
  // Any number of 64 bits.
  void seed(const FlagText& text, std::uint64_t& target);
  void text(const FlagText& text, std::string& target);
  void path(const FlagText& text, std::filesystem::path& target);
  void paths(const FlagText& text, std::vector<std::filesystem::path>& target);
  // Words of which each must be one of the names; "all" gives all of them.
  void names(const FlagText& text, std::vector<std::string>& target,
             const std::vector<std::string>& names);
  template <typename Enum>
  void choice(const FlagText& text, Enum& target,
              const std::vector<std::pair<std::string, Enum>>& choices);
  // A switch that sets the target when given.
  template <typename T>
  void enable(const FlagText& text, T& target, T value);
  // Known, refused when given: `part` is what this version lacks.
  void not_built(const FlagText& text, const std::string& part);
  // A flag of another subcommand, refused when given: `why` it says nothing here. Not in the help.
  void of_another(const std::string& name, const std::string& why);
  // Known; only `accepted` may be given, because this version does nothing else.
  void only(const FlagText& text, const std::string& accepted, const std::string& part);

 private:
  // Index of the choice; throws Error(kBadUsage) that lists them.
  static std::size_t choose(const std::string& flag, const std::string& given,
                            const std::vector<std::string>& names);
  CLI::Option* add(const FlagText& text, std::function<void(const std::string&)> parse);

  CLI::App& app_;
};

template <typename Enum>
void Flags::choice(const FlagText& text, Enum& target,
                   const std::vector<std::pair<std::string, Enum>>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.push_back(name);
  add(text, [&target, choices, names, flag = text.name](const std::string& given) {
    target = choices[choose(flag, given, names)].second;
  });
}

template <typename T>
void Flags::enable(const FlagText& text, T& target, T value) {
  app_.add_flag_callback(
      text.name, [&target, value] { target = value; },
      text.help + " (default: " + text.fallback + ")");
}

}  // namespace ebbtide::cli
