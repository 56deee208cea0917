#include "src/hardware/toml_reader.hpp"

#include <fmt/format.h>

#include <cmath>

#include "ebbtide/error.hpp"

namespace ebbtide::hardware {
namespace {

// Past it a double does not hold every whole number.
constexpr double kMostBytes = 9007199254740992.0;  // 2^53

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

std::string_view example(Dimension dimension) {
  switch (dimension) {
    case Dimension::kBytes:
      return "\"24 GiB\"";
    case Dimension::kBytesPerSecond:
      return "\"25 GB/s\"";
    case Dimension::kFlops:
      return "\"1 GFLOP\"";
    case Dimension::kFlopsPerSecond:
      return "\"165.2 TFLOP/s\"";
    case Dimension::kSeconds:
      break;
  }
  return "\"10 us\"";
}

// The line of the deepest part of the path that the document has: of the key, else of its table.
// A table that is only implied by a deeper header has no line of its own; the document begins at 1.
std::uint32_t line_of(const toml::table& document, std::string_view path) {
  std::uint32_t line = 1;
  const toml::table* table = &document;
  while (table != nullptr) {
    const std::size_t dot = path.find('.');
    const auto at = table->find(path.substr(0, dot));
    if (at == table->end()) break;
    if (at->first.source().begin.line > 0) line = at->first.source().begin.line;
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
    table = at->second.as_table();
  }
  return line;
}

}  // namespace

TomlReader::TomlReader(const toml::table& document, std::string_view file,
                       const std::set<std::string, std::less<>>& known)
    : file_(file), document_(document), known_(known), levels_{{&document, ""}} {
  refuse_unknown(document, "");
}

// Unknown keys come first: of a misspelt key "unknown" says more than "missing".
void TomlReader::refuse_unknown(const toml::table& table, const std::string& prefix) const {
  for (const auto& [key, node] : table) {
    const std::string path = prefix + std::string(key.str());
    // A quoted key may have a dot and look like the path of another.
    if (!known_.contains(path) || key.str().find('.') != std::string_view::npos) {
      std::string names;
      for (auto at = known_.lower_bound(prefix); at != known_.end() && at->starts_with(prefix);
           ++at)
        if (at->find('.', prefix.size()) == std::string::npos)
          names += fmt::format("{}{}", names.empty() ? "" : ", ", at->substr(prefix.size()));
      throw Error(Errc::kBadFile, fmt::format("{}:{}: {}: unknown key; known here: {}", file_,
                                              key.source().begin.line, path, names));
    }
    if (const toml::table* inner = node.as_table()) refuse_unknown(*inner, path + ".");
  }
}

void TomlReader::refuse_unread() const {
  for (const auto& [key, node] : *levels_.back().table)
    if (!levels_.back().read.contains(key.str()))
      fail(path_of(key.str()), "means nothing beside the other keys of its table");
}

std::string TomlReader::path_of(std::string_view key) const {
  return levels_.back().path + std::string(key);
}

std::string TomlReader::where(std::string_view path) const {
  return fmt::format("{}:{}: {}", file_, line_of(document_, path), path);
}

void TomlReader::fail(std::string_view path, const std::string& problem) const {
  throw Error(Errc::kBadFile, fmt::format("{}: {}", where(path), problem));
}

const toml::node* TomlReader::find(std::string_view key) {
  levels_.back().read.emplace(key);
  return levels_.back().table->get(key);
}

const toml::node& TomlReader::require(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) fail(path_of(key), "missing");
  return *node;
}

// The node's text. `like` shows how one is written.
std::string TomlReader::quoted(std::string_view key, const toml::node& node,
                               std::string_view like) const {
  if (const auto* text = node.as_string()) return text->get();
  fail(path_of(key), fmt::format("is {}{}; write it like {}", type_name(node),
                                 node.is_number() ? " without a unit" : "", like));
}

void TomlReader::text(std::string_view key, std::string& value) {
  const toml::node& node = require(key);
  const auto* text = node.as_string();
  if (text == nullptr) fail(path_of(key), fmt::format("is {}, not a text", type_name(node)));
  if (text->get().empty()) fail(path_of(key), "is empty");
  value = text->get();
}

void TomlReader::path(std::string_view key, PeerPath& value) {
  std::string name;
  text(key, name);
  if (name != peer_path_name(PeerPath::kDirect) && name != peer_path_name(PeerPath::kThroughHost))
    fail(path_of(key),
         fmt::format("'{}' is neither '{}' nor '{}'", name, peer_path_name(PeerPath::kDirect),
                     peer_path_name(PeerPath::kThroughHost)));
  value = name == peer_path_name(PeerPath::kDirect) ? PeerPath::kDirect : PeerPath::kThroughHost;
}

void TomlReader::count(std::string_view key, std::uint64_t& value) {
  const toml::node& node = require(key);
  const auto* number = node.as_integer();
  if (number == nullptr)
    fail(path_of(key), fmt::format("is {}, not a whole number", type_name(node)));
  if (number->get() < 1 || number->get() > kMostAlike)
    fail(path_of(key), fmt::format("{} is not from 1 to {}", number->get(), kMostAlike));
  value = static_cast<std::uint64_t>(number->get());
}

void TomlReader::size(std::string_view key, std::uint64_t& bytes, Presence presence) {
  if (find(key) == nullptr && presence == Presence::kOptional) return;
  double value = 0;
  quantity(key, value, Dimension::kBytes, Least::kAboveZero);
  if (value != std::floor(value) || value > kMostBytes)
    fail(path_of(key), "is no whole number of bytes up to 2^53");
  bytes = static_cast<std::uint64_t>(value);
}

void TomlReader::quantity(std::string_view key, double& value, Dimension dimension, Least least) {
  const std::string text = quoted(key, require(key), example(dimension));
  value = parse_quantity(where(path_of(key)), text, dimension);
  if (least == Least::kAboveZero && value == 0) fail(path_of(key), "must be above zero");
}

void TomlReader::fraction(std::string_view key, double& value) {
  const toml::node& node = require(key);
  if (!node.is_number()) fail(path_of(key), fmt::format("is {}, not a number", type_name(node)));
  value = node.value<double>().value();
  if (!(value > 0 && value <= 1))
    fail(path_of(key), fmt::format("{} is not above 0 and at most 1", value));
}

bool TomlReader::enter(std::string_view key, Presence presence, bool /*present*/) {
  if (find(key) == nullptr && presence == Presence::kOptional) return false;
  const toml::node& node = require(key);
  if (!node.is_table()) fail(path_of(key), fmt::format("is {}, not a table", type_name(node)));
  levels_.push_back({node.as_table(), path_of(key) + "."});
  return true;
}

void TomlReader::leave() {
  refuse_unread();
  levels_.pop_back();
}

}  // namespace ebbtide::hardware
