// A FieldVisitor that fills a Machine from a parsed TOML document. Every Error that it throws is
// kBadFile and names file, line and key.
#pragma once

#include <toml++/toml.h>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/hardware/machine_fields.hpp"

namespace ebbtide::hardware {

class TomlReader final : public FieldVisitor {
 public:
  // `known` holds the paths of all keys and tables. Requires a document that outlives the reader.
  TomlReader(const toml::table& document, std::string_view file,
             const std::set<std::string, std::less<>>& known);

  void text(std::string_view key, std::string& value) override;
  void path(std::string_view key, PeerPath& value) override;
  void count(std::string_view key, std::uint64_t& value) override;
  void size(std::string_view key, std::uint64_t& bytes, Presence presence) override;
  void quantity(std::string_view key, double& value, Dimension dimension, Least least) override;
  void fraction(std::string_view key, double& value) override;
  bool enter(std::string_view key, Presence presence, bool present) override;
  void leave() override;

  // About a key by its full path.
  [[noreturn]] void fail(std::string_view path, const std::string& problem) const;

 private:
  struct Level {
    const toml::table* table;
    std::string path;  // empty, or with a dot at its end
    std::set<std::string, std::less<>> read{};
  };

  void refuse_unknown(const toml::table& table, const std::string& prefix) const;
  void refuse_unread() const;
  const toml::node* find(std::string_view key);  // null if missing
  const toml::node& require(std::string_view key);
  std::string path_of(std::string_view key) const;
  std::string quoted(std::string_view key, const toml::node& node, std::string_view like) const;
  std::string where(std::string_view path) const;

  std::string file_;
  const toml::table& document_;
  const std::set<std::string, std::less<>>& known_;
  std::vector<Level> levels_;
};

}  // namespace ebbtide::hardware
