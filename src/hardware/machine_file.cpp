#include "src/hardware/machine_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>

#include "ebbtide/error.hpp"
#include "src/hardware/toml_reader.hpp"

namespace ebbtide::hardware {
namespace {

using Paths = std::set<std::string, std::less<>>;

// Notes the path of each key and, if asked, of each table.
class KeyList final : public FieldVisitor {
 public:
  void text(std::string_view key, std::string&) override { add(key); }
  void path(std::string_view key, PeerPath&) override { add(key); }
  void count(std::string_view key, std::uint64_t&) override { add(key); }
  void size(std::string_view key, std::uint64_t&, Presence) override { add(key); }
  void quantity(std::string_view key, double&, Dimension, Least) override { add(key); }
  void fraction(std::string_view key, double&) override { add(key); }
  bool enter(std::string_view key, Presence, bool) override {
    prefixes_.push_back(prefixes_.back() + std::string(key) + ".");
    tables_.insert(prefixes_.back().substr(0, prefixes_.back().size() - 1));
    return true;
  }
  void leave() override { prefixes_.pop_back(); }

  const std::vector<std::string>& keys() const { return keys_; }
  Paths keys_and_tables() const {
    Paths paths = tables_;
    paths.insert(keys_.begin(), keys_.end());
    return paths;
  }

 private:
  void add(std::string_view key) { keys_.push_back(prefixes_.back() + std::string(key)); }

  std::vector<std::string> prefixes_{""};
  std::vector<std::string> keys_;
  Paths tables_;
};

KeyList list_keys() {
  KeyList list;
  Machine machine;  // its peer path is direct, which has every key
  visit_fields(list, machine);
  return list;
}

// What no key says alone.
void check_together(const TomlReader& reader, const Machine& machine) {
  const Link& link = machine.link;
  if (link.both_ways_bytes_per_s > link.alone_bytes_per_s)
    reader.fail("link.both_ways", "is above link.alone; both are rates of one direction");
  if (link.all_cards_bytes_per_s > link.both_ways_bytes_per_s)
    reader.fail("link.all_cards", "is above link.both_ways; both are rates of one direction");
  if (machine.nvme.latency_p99_s < machine.nvme.latency_s)
    reader.fail("nvme.latency_p99", "is below nvme.latency");
}

std::string read_text(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error(Errc::kBadFile, fmt::format("{}: is a directory", path.string()));
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error({errno, std::generic_category()},
                {.operation = "read the hardware file", .path = path.string()});
  std::string text(kMaxMachineFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxMachineFileBytes)
    throw Error(Errc::kBadFile, fmt::format("{}: more than {} bytes; no hardware file is that long",
                                            path.string(), kMaxMachineFileBytes));
  return text;
}

}  // namespace

Machine parse_machine(std::string_view toml, std::string_view file) {
  static const Paths known = list_keys().keys_and_tables();
  toml::table document;
  try {
    document = toml::parse(toml);
  } catch (const toml::parse_error& error) {
    throw Error(Errc::kBadFile,
                fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  }
  TomlReader reader(document, file, known);
  Machine machine;
  visit_fields(reader, machine);
  check_together(reader, machine);
  return machine;
}

Machine read_machine_file(const std::filesystem::path& path) {
  return parse_machine(read_text(path), path.string());
}

const std::vector<std::string>& machine_keys() {
  static const std::vector<std::string> keys = list_keys().keys();
  return keys;
}

}  // namespace ebbtide::hardware
