#include "src/cli/flags.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ebbtide/error.hpp"

namespace ebbtide::cli {

CLI::Option* Flags::add(const FlagText& text, std::function<void(const std::string&)> parse) {
  // The raw results are read, so that an empty text reaches the parser as it was given.
  const CLI::callback_t callback = [parse = std::move(parse)](const CLI::results_t& results) {
    parse(results.empty() ? std::string() : results.back());
    return true;
  };
  return app_
      .add_option(text.name, callback, fmt::format("{} (default: {})", text.help, text.fallback))
      ->type_name(text.value);
}

void Flags::size(const FlagText& text, std::uint64_t& target, const Range& bytes) {
  add(text, [&target, bytes, flag = text.name](const std::string& given) {
    target = parse_size(flag, given, bytes);
  });
}

void Flags::size(const FlagText& text, std::optional<std::uint64_t>& target, const Range& bytes) {
  add(text, [&target, bytes, flag = text.name](const std::string& given) {
    if (given == "auto") {
      target.reset();
      return;
    }
    target = parse_size(flag, given, bytes);
  });
}

void Flags::count(const FlagText& text, std::int64_t& target, const Range& things) {
  add(text, [&target, things, flag = text.name](const std::string& given) {
    target = parse_count(flag, given, things);
  });
}

void Flags::count_or_auto(const FlagText& text, std::optional<std::int64_t>& target,
                          const Range& things) {
  add(text, [&target, things, flag = text.name](const std::string& given) {
    if (given == "auto") {
      target.reset();
      return;
    }
    target = parse_count(flag, given, things);
  });
}

void Flags::rate(const FlagText& text, std::optional<double>& target) {
  add(text,
      [&target, flag = text.name](const std::string& given) { target = parse_rate(flag, given); });
}

void Flags::number(const FlagText& text, double& target, const NumberRange& range) {
  add(text, [&target, range, flag = text.name](const std::string& given) {
    target = parse_number(flag, given, range);
  });
}

void Flags::number_or_auto(const FlagText& text, std::optional<double>& target,
                           const NumberRange& range) {
  add(text, [&target, range, flag = text.name](const std::string& given) {
    if (given == "auto") {
      target.reset();
      return;
    }
    target = parse_number(flag, given, range);
  });
}

void Flags::duration(const FlagText& text, double& target_s, const NumberRange& seconds) {
  add(text, [&target_s, seconds, flag = text.name](const std::string& given) {
    target_s = parse_duration(flag, given, seconds);
  });
}

void Flags::seed(const FlagText& text, std::uint64_t& target) {
  add(text,
      [&target, flag = text.name](const std::string& given) { target = parse_seed(flag, given); });
}

void Flags::text(const FlagText& text, std::string& target) {
  add(text, [&target, flag = text.name](const std::string& given) {
    if (given.empty()) throw Error(Errc::kBadUsage, fmt::format("{} '': is empty", flag));
    target = given;
  });
}

void Flags::path(const FlagText& text, std::filesystem::path& target) {
  add(text, [&target, flag = text.name](const std::string& given) {
    if (given.empty()) throw Error(Errc::kBadUsage, fmt::format("{} '': is empty", flag));
    target = given;
  });
}

void Flags::paths(const FlagText& text, std::vector<std::filesystem::path>& target) {
  const CLI::callback_t callback = [&target, flag = text.name](const CLI::results_t& results) {
    target.clear();
    for (const std::string& given : results) {
      if (given.empty()) throw Error(Errc::kBadUsage, fmt::format("{} '': is empty", flag));
      target.emplace_back(given);
    }
    return true;
  };
  app_.add_option(text.name, callback, fmt::format("{} (default: {})", text.help, text.fallback))
      ->type_name(text.value)
      ->expected(1, -1);
}

void Flags::names(const FlagText& text, std::vector<std::string>& target,
                  const std::vector<std::string>& names) {
  std::vector<std::string> choices = names;
  choices.emplace_back("all");
  const CLI::callback_t callback = [&target, names, choices,
                                    flag = text.name](const CLI::results_t& results) {
    target.clear();
    for (const std::string& given : results) {
      if (choose(flag, given, choices) < names.size()) {
        target.push_back(given);
        continue;
      }
      target = names;
      break;
    }
    return true;
  };
  app_.add_option(text.name, callback, fmt::format("{} (default: {})", text.help, text.fallback))
      ->type_name(text.value)
      ->expected(1, -1);
}

void Flags::not_built(const FlagText& text, const std::string& part) {
  const CLI::callback_t refuse = [flag = text.name, part](const CLI::results_t&) -> bool {
    throw Error(Errc::kNotBuilt,
                fmt::format("{} is not available in this version: {}", flag, part));
  };
  app_.add_option(text.name, refuse, text.help + " (not available in this version)")
      ->type_name(text.value)
      ->expected(0, -1);
}

void Flags::of_another(const std::string& name, const std::string& why) {
  const CLI::callback_t refuse = [name, why](const CLI::results_t&) -> bool {
    throw Error(Errc::kBadUsage, fmt::format("{}: {}", name, why));
  };
  app_.add_option(name, refuse, why)->expected(0, -1)->group("");
}

void Flags::only(const FlagText& text, const std::string& accepted, const std::string& part) {
  add(text, [accepted, part, flag = text.name](const std::string& given) {
    if (given == accepted) return;
    throw Error(Errc::kNotBuilt,
                fmt::format("{} {} is not available in this version, which takes only {}: {}", flag,
                            given, accepted, part));
  });
}

std::size_t Flags::choose(const std::string& flag, const std::string& given,
                          const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), given);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  throw Error(Errc::kBadUsage, fmt::format("{} '{}': must be one of {}", flag, given, all));
}

}  // namespace ebbtide::cli
