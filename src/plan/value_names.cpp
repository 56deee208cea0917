#include "src/plan/value_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "ebbtide/error.hpp"
#include "src/model/llama.hpp"
#include "src/model/llama_dims.hpp"

namespace ebbtide::plan {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& letter : out)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return out;
}

[[noreturn]] void refuse(const std::string& what, const std::string& why) {
  throw Error(Errc::kBadUsage, fmt::format("--explain '{}': {}", what, why));
}

std::set<std::string> names_of(const PlannedRun& run) {
  std::set<std::string> names;
  for (const SimulatedProgram& simulated : run.step) {
    for (KindId kind = 0; kind < simulated.program->kind_count(); ++kind)
      names.insert(simulated.program->kind(kind).name);
  }
  return names;
}

// Levenshtein's.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// Those that hold the text or are a few letters away; else all.
std::string names_like(const std::string& what, const std::set<std::string>& names) {
  constexpr std::size_t kMostEdits = 3;
  std::string like;
  std::string all;
  for (const std::string& name : names) {
    const std::string quoted = fmt::format("{}'{}'", all.empty() ? "" : ", ", name);
    all += quoted;
    if (lower(name).find(lower(what)) == std::string::npos &&
        edits(lower(name), lower(what)) > kMostEdits)
      continue;
    like += fmt::format("{}'{}'", like.empty() ? "" : ", ", name);
  }
  return like.empty() ? fmt::format("there are {}", all) : fmt::format("did you mean {}?", like);
}

// "(3, 17)" at the end of `text`, which is cut off.
std::vector<std::int32_t> take_place(const std::string& what, std::string& text) {
  const std::size_t open = text.find('(');
  if (open == std::string::npos) return {};
  std::vector<std::int32_t> place;
  const char* at = text.data() + open + 1;
  const char* const end = text.data() + text.size();
  const auto skip = [&] {
    while (at < end && *at == ' ') ++at;
  };
  for (;;) {
    skip();
    std::int32_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0)
      refuse(what, "write a place as (layer, chunk) or (layer)");
    place.push_back(number);
    at = next;
    skip();
    if (at == end || *at != ',') break;
    ++at;
  }
  if (at + 1 != end || *at != ')' || place.size() > 2)
    refuse(what, "write a place as (layer, chunk) or (layer)");
  text.resize(open);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return place;
}

}  // namespace

bool WantedValue::is_at(const std::array<std::int32_t, 2>& place) const {
  for (std::size_t i = 0; i < at.size(); ++i)
    if (at[i] != place[i]) return false;
  return true;
}

bool same_name(std::string_view a, std::string_view b) {
  return lower(a) == lower(b);
}

WantedValue wanted_value(const PlannedRun& run, const std::string& what) {
  const std::vector<model::Parameter> parameters = model::parameters(run.config);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (!same_name(parameters[p].name, what)) continue;
    WantedValue wanted{model::parameter_label(run.config, p), {}};
    if (parameters[p].layer >= 0) wanted.at = {parameters[p].layer};
    return wanted;
  }
  WantedValue wanted{what, {}};
  wanted.at = take_place(what, wanted.kind);
  const std::set<std::string> names = names_of(run);
  const auto is_it = [&](const std::string& name) { return same_name(name, wanted.kind); };
  if (std::ranges::none_of(names, is_it))
    refuse(what, fmt::format("no value has this name; {}", names_like(wanted.kind, names)));
  return wanted;
}

void refuse_place(const PlannedRun& run, const WantedValue& wanted) {
  std::string place;
  for (const std::int32_t number : wanted.at)
    place += fmt::format("{}{}", place.empty() ? "" : ", ", number);
  refuse(fmt::format("{} ({})", wanted.kind, place),
         fmt::format("there is none; layers go from 0 to {}, chunks from 0 to {}",
                     run.config.layers - 1, run.shape.chunks() - 1));
}

}  // namespace ebbtide::plan
