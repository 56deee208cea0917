// A control group with a memory limit, below the one of this process, for a child to run in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ebbtide::test {

class ControlGroup {
 public:
  // Nothing where the machine or the user may not make one (versions 1 and 2 are tried).
  static std::optional<ControlGroup> make(std::uint64_t limit_bytes);
  ~ControlGroup();
  ControlGroup(ControlGroup&& other) noexcept;
  ControlGroup& operator=(ControlGroup&&) = delete;

  // Arguments of /bin/sh that run `program` inside of the group.
  std::vector<std::string> inside(const std::string& program,
                                  const std::vector<std::string>& arguments) const;

 private:
  explicit ControlGroup(std::filesystem::path directory) : directory_(std::move(directory)) {}

  std::filesystem::path directory_;
};

}  // namespace ebbtide::test
