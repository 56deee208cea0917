#include "src/tune/saved_settings.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <sstream>

#include "ebbtide/error.hpp"
#include "src/model/new_file.hpp"
#include "src/train/run_facts.hpp"

namespace ebbtide::tune {
namespace {

constexpr const char* kMadeFor = "made-for";

[[noreturn]] void refuse(const std::string& file, const std::string& problem) {
  throw Error(Errc::kBadUsage, fmt::format("--profile {}: {}", file, problem));
}

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string line_of(const FlagValue& flag) {
  if (is_number(flag.value)) return fmt::format("{} = {}\n", flag.name, flag.value);
  std::ostringstream quoted;
  quoted << toml::toml_formatter(toml::value(flag.value), toml::format_flags::none);
  return fmt::format("{} = {}\n", flag.name, quoted.str());
}

std::string text_of(const std::string& file, std::string_view key, const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<std::int64_t>()) return fmt::format("{}", *number);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  refuse(file,
         fmt::format("line {}: {} is neither a number nor a text", node.source().begin.line, key));
}

std::string size_or_auto(const std::optional<std::uint64_t>& bytes) {
  return bytes ? fmt::format("{}", *bytes) : "auto";
}

}  // namespace

std::vector<FlagValue> made_for(const train::TrainOptions& options) {
  const train::RunShape& run = options.run;
  const train::MemoryOptions& memory = options.memory;
  const auto& link = options.transfer.link_bytes_per_s;
  return {{"model", train::shape_text(train::load_any_config(options))},
          {"seq-len", fmt::format("{}", run.seq_len)},
          {"batch-size", fmt::format("{}", run.batch_size)},
          {"grad-accumulation", fmt::format("{}", run.grad_accumulation)},
          {"dtype", std::string(name(run.dtype))},
          {"device-memory", size_or_auto(memory.device_bytes)},
          {"host-memory", size_or_auto(memory.host_bytes)},
          {"nvme-memory", size_or_auto(memory.nvme_bytes)},
          {"link-bandwidth", link ? fmt::format("{}/s", *link) : "none"}};
}

std::string profile_text(const SavedSettings& profile, const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += fmt::format("# {}\n", note);
  for (const FlagValue& flag : profile.flags) text += line_of(flag);
  text += fmt::format("\n[{}]\n", kMadeFor);
  for (const FlagValue& flag : profile.made_for) text += line_of(flag);
  return text;
}

void write_profile(const std::filesystem::path& path, const std::string& text) {
  model::NewFile file(path);
  file.append(std::as_bytes(std::span(text)));
  file.commit();
}

SavedSettings parse_profile(std::string_view toml, const std::string& file) {
  SavedSettings profile;
  toml::table document;
  try {
    document = toml::parse(toml);
  } catch (const toml::parse_error& error) {
    refuse(file, fmt::format("line {}: {}", error.source().begin.line, error.description()));
  }
  for (const auto& [key, node] : document) {
    const std::string_view name = key.str();
    if (name == kMadeFor && node.is_table()) {
      for (const auto& [own_key, own_node] : *node.as_table())
        profile.made_for.push_back(
            {std::string(own_key.str()), text_of(file, own_key.str(), own_node)});
      continue;
    }
    if (name != "hardware" && std::ranges::find(kTunable, name) == kTunable.end())
      refuse(file, fmt::format("line {}: {} is no setting that 'ebbtide tune' writes",
                               node.source().begin.line, name));
    profile.flags.push_back({std::string(name), text_of(file, name, node)});
  }
  return profile;
}

SavedSettings read_profile(const std::filesystem::path& path) {
  std::error_code ignored;
  // Before it is opened: a FIFO would be waited for.
  if (!std::filesystem::exists(path, ignored)) refuse(path.string(), "no such file");
  if (!std::filesystem::is_regular_file(path, ignored)) refuse(path.string(), "is no regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path.string(), "cannot be read");
  std::string text(kMostProfileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostProfileBytes)
    refuse(path.string(),
           fmt::format("more than {} bytes; no profile is that long", kMostProfileBytes));
  return parse_profile(text, path.string());
}

std::vector<std::string> differences(const SavedSettings& profile, const train::TrainOptions& now) {
  std::vector<std::string> lines;
  for (const FlagValue& own : made_for(now)) {
    const auto then = std::ranges::find(profile.made_for, own.name, &FlagValue::name);
    if (then == profile.made_for.end() || then->value == own.value) continue;
    lines.push_back(fmt::format("--{} was {}, now it is {}", own.name, then->value, own.value));
  }
  return lines;
}

}  // namespace ebbtide::tune
