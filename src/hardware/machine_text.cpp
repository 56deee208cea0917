// Writes hardware files. A table of plain keys comes before the tables in it, as TOML needs it.
#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <set>

#include "ebbtide/error.hpp"
#include "src/hardware/machine_fields.hpp"
#include "src/hardware/machine_file.hpp"

namespace ebbtide::hardware {
namespace {

std::string toml_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else
      quoted += c;
  }
  return quoted + '"';
}

class TomlWriter final : public FieldVisitor {
 public:
  explicit TomlWriter(const Sources& sources) : sources_(sources) {}

  void text(std::string_view key, std::string& value) override { line(key, toml_string(value)); }
  void path(std::string_view key, PeerPath& value) override {
    line(key, toml_string(peer_path_name(value)));
  }
  void count(std::string_view key, std::uint64_t& value) override {
    line(key, fmt::format("{}", value));
  }
  void size(std::string_view key, std::uint64_t& bytes, Presence presence) override {
    if (presence == Presence::kOptional && bytes == 0) return;
    double value = static_cast<double>(bytes);
    quantity(key, value, Dimension::kBytes, Least::kZero);
  }
  void quantity(std::string_view key, double& value, Dimension dimension, Least) override {
    line(key, toml_string(quantity_text(value, dimension)));
  }
  void fraction(std::string_view key, double& value) override {
    line(key, fmt::format("{}", value));
  }
  bool enter(std::string_view key, Presence, bool present) override {
    if (!present) return false;
    prefixes_.push_back(prefixes_.back() + std::string(key) + ".");
    header_due_ = true;
    return true;
  }
  void leave() override { prefixes_.pop_back(); }

  std::string take() {
    for (const auto& [path, source] : sources_)
      EBBTIDE_CHECK(written_.contains(path), "a source for no key: " + path);
    return std::move(text_);
  }

 private:
  void line(std::string_view key, const std::string& value) {
    const std::string path = prefixes_.back() + std::string(key);
    if (header_due_)
      text_ += fmt::format("\n[{}]\n", prefixes_.back().substr(0, prefixes_.back().size() - 1));
    header_due_ = false;
    text_ += fmt::format("{} = {}", key, value);
    if (const auto source = sources_.find(path); source != sources_.end()) {
      EBBTIDE_CHECK(source->second.find_first_of("\n\r") == std::string::npos, source->second);
      text_ += "  # " + source->second;
    }
    text_ += '\n';
    written_.insert(path);
  }

  const Sources& sources_;
  std::vector<std::string> prefixes_{""};
  bool header_due_ = false;
  std::set<std::string, std::less<>> written_;
  std::string text_;
};

}  // namespace

std::string machine_text(const Machine& machine, const Sources& sources) {
  TomlWriter writer(sources);
  Machine copy = machine;
  visit_fields(writer, copy);
  return writer.take();
}

void write_machine_file(const std::filesystem::path& path, const Machine& machine,
                        const Sources& sources) {
  const std::string text = machine_text(machine, sources);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file)
    throw Error({errno, std::generic_category()},
                {.operation = "write the hardware file", .path = path.string()});
}

}  // namespace ebbtide::hardware
