#include "tests/cli/control_group.hpp"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

namespace ebbtide::test {
namespace {

namespace fs = std::filesystem;

struct Place {
  fs::path parent;
  const char* limit;
};

// Below the group of this process, for the lines "id:controllers:/path" of /proc/self/cgroup.
std::vector<Place> places() {
  std::vector<Place> found;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 2);
    if (controllers == "memory")
      found.push_back({fs::path("/sys/fs/cgroup/memory") / path, "memory.limit_in_bytes"});
    if (controllers.empty()) found.push_back({fs::path("/sys/fs/cgroup") / path, "memory.max"});
  }
  return found;
}

bool write_number(const fs::path& file, std::uint64_t number) {
  if (!fs::exists(file)) return false;
  std::ofstream to(file);
  to << number << std::flush;
  return to.good();
}

}  // namespace

std::optional<ControlGroup> ControlGroup::make(std::uint64_t limit_bytes) {
  for (const Place& place : places()) {
    const fs::path directory = place.parent / ("ebbtide-test-" + std::to_string(getpid()));
    std::error_code refused;
    if (!fs::create_directory(directory, refused)) continue;
    ControlGroup group(directory);
    if (write_number(directory / place.limit, limit_bytes)) return group;
  }
  return std::nullopt;
}

// A group may be busy for a moment after its last process.
ControlGroup::~ControlGroup() {
  for (int attempt = 0; !directory_.empty() && attempt < 100; ++attempt) {
    if (rmdir(directory_.c_str()) == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

ControlGroup::ControlGroup(ControlGroup&& other) noexcept
    : directory_(std::exchange(other.directory_, {})) {}

std::vector<std::string> ControlGroup::inside(const std::string& program,
                                              const std::vector<std::string>& arguments) const {
  std::vector<std::string> all{
      "-c", "echo $$ > " + (directory_ / "cgroup.procs").string() + "; exec \"$0\" \"$@\"",
      program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

}  // namespace ebbtide::test
