// What the checks ask of the machine. An interface, so that a test can show each finding with a
// made-up /proc and /sys and answers of its own; this_system() is the machine at hand.
//
// Asking changes nothing: what it makes (a ring, a nameless file of a page) is gone when it
// returns. Nothing here throws for what the machine lacks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ebbtide::doctor {

enum class Resource : std::uint8_t {
  kLockedMemory,  // bytes
  kOpenFiles,
  kThreads,       // of this user
  kFileSize,      // bytes
  kAddressSpace,  // bytes
};
inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

struct CudaDevice {
  std::string name;
  std::uint64_t memory_bytes = 0;
};

// NVIDIA's driver, through its library as it is found at run time: nothing is linked.
struct CudaProbe {
  enum class Library : std::uint8_t { kMissing, kFailed, kWorks };
  Library library = Library::kMissing;
  std::string why_not{};   // the loader's words, or the name of cuInit's error
  int driver_version = 0;  // 1000 * major + 10 * minor, of CUDA
  std::vector<CudaDevice> devices{};
};

struct DirectoryProbe {
  int error = 0;               // errno of making a swap file of a page there; 0: it was made
  std::string why_not;         // in words, with advice
  std::filesystem::path path;  // absolute, without links
  std::uint64_t device = 0;    // of its file system, as major << 32 | minor
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
  bool is_direct = false;             // O_DIRECT was taken
  std::uint32_t alignment = 0;        // that it asks for, bytes
  std::vector<std::string> warnings;  // of the swap file
};

struct NumaNode {
  unsigned index = 0;  // the system's number
  std::uint64_t memory_bytes = 0;
  int usable_cpus = 0;  // that this process may run on
};
struct NumaMap {
  std::vector<NumaNode> nodes;
  // distances[i][j] from nodes[i] to nodes[j], relative to others; empty: not known.
  std::vector<std::vector<std::uint64_t>> distances;
};

class System {
 public:
  virtual ~System() = default;
  // Stands before /proc, /sys and /dev.
  virtual std::filesystem::path root() const = 0;
  virtual std::uint64_t limit(Resource resource) const = 0;
  // The real user whom this process runs as.
  virtual std::uint32_t user() const = 0;
  // Of setting up an io_uring as training does: 0 or an errno.
  virtual int ring_error() const = 0;
  virtual CudaProbe cuda() const = 0;
  virtual DirectoryProbe directory(const std::filesystem::path& path) const = 0;
  virtual NumaMap numa() const = 0;
  virtual int usable_cpus() const = 0;
  // The widest vector instructions that this build was compiled for: "avx512f", "avx2", "".
  virtual std::string_view compiled_for() const = 0;
};

std::unique_ptr<System> this_system();

}  // namespace ebbtide::doctor
