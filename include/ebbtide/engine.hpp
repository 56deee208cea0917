// An Engine reserves a device arena, a host arena and swap files once, then runs verified plans.
//
// Thread safety: one caller at a time, but cancel(), which may be called from any thread (not from
// a signal handler). The compute lane runs on the thread that calls run(), so that kernels use that
// thread's team and affinity; the others on threads that the engine owns and that live as long.
//
// Invariants
//  1. Nothing is allocated, registered or grown by run() once a plan has been run before.
//  2. When run() throws, every lane has come to rest and no transfer is in flight.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ebbtide/device.hpp"
#include "ebbtide/plan.hpp"
#include "ebbtide/program.hpp"
#include "ebbtide/timeline.hpp"

namespace ebbtide {

enum class IoEngine : std::uint8_t { kAuto, kUring, kThreads };
enum class OffloadCheck : std::uint8_t { kNone, kChecksum };
// Fills blocks that a value has left with 0xFF bytes (NaN in every float type), so that a read of
// what is gone is seen. For tests.
enum class FreedBlocks : std::uint8_t { kLeave, kPoison };
// Whether the host arena is locked in memory; where that is refused it goes on with a warning.
enum class HostLock : std::uint8_t { kNone, kTry };

struct EngineSeams;  // tiering/execute/seams.hpp

struct EngineOptions {
  std::uint64_t host_bytes = 0;
  std::uint64_t nvme_bytes = 0;
  std::vector<std::filesystem::path> nvme_paths;
  IoEngine io_engine = IoEngine::kAuto;
  std::uint64_t io_block_bytes = std::uint64_t{1} << 20;
  std::uint32_t io_queue_depth = 16;
  OffloadCheck offload_check = OffloadCheck::kNone;
  FreedBlocks freed_blocks = FreedBlocks::kLeave;
  HostLock host_lock = HostLock::kNone;
  const EngineSeams* seams = nullptr;  // for tests; read by the constructor only
};

// What the engine saw itself do in all runs so far, not what the plan said.
struct EngineCounters {
  // The end of the highest place touched in each space; a place is a multiple of the tier's
  // alignment.
  PerTier<std::uint64_t> touched_bytes{};
  PerLane<std::uint64_t> moved_bytes{};  // whole pages on the disk lanes
  std::uint64_t poisoned_bytes = 0;      // filled under FreedBlocks::kPoison
  // Under OffloadCheck::kChecksum, of what came back from disk, in homes read between runs too:
  // compared, and with nothing known to compare it with.
  std::uint64_t checked_bytes = 0;
  std::uint64_t unchecked_bytes = 0;
};

class Engine {
 public:
  // Memory that an engine with a disk tier holds beside the arenas, through which homes on disk are
  // read and written. Some blocks of I/O at once, so that a disk has more than one to work on.
  static constexpr std::uint64_t kDiskBufferBytes = std::uint64_t{4} << 20;

  // Reserves everything. Throws Error(kDoesNotFit) or the system's error, with what is missing.
  Engine(std::unique_ptr<Device> device, const EngineOptions& options);
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // Runs one step. Requires a plan of this program that verify() accepts and that fits what was
  // reserved. Blocks. Throws the first failure of any lane; what the program's homes then hold is
  // undefined, and the engine can be used again. The timeline is good until the next run().
  const Timeline& run(const Program& program, const Plan& plan);

  // Homes are only touched between runs. Block.
  void write_home(const Home& home, std::span<const std::byte> bytes);
  void read_home(const Home& home, std::span<std::byte> bytes);

  // Ends the current run() early; it throws Error(kCancelled). Callable from any thread.
  void cancel() noexcept;

  Device& device();
  const EngineCounters& counters() const;
  // Things that were not as asked (io_uring refused, memory not locked, ...), one line each.
  const std::vector<std::string>& warnings() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace ebbtide
