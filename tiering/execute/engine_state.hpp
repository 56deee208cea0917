// What stands behind an Engine: its tiers, its lanes and the step they walk.
//
// Members are declared in the order in which they must be made; they die in the opposite one: first
// the threads, then the disk lanes with their queues, then the memory and the files under them.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ebbtide/engine.hpp"
#include "tiering/execute/disk_lane.hpp"
#include "tiering/execute/lane.hpp"
#include "tiering/execute/lane_thread.hpp"
#include "tiering/execute/step.hpp"
#include "tiering/tiers/checksums.hpp"
#include "tiering/tiers/host_arena.hpp"
#include "tiering/tiers/swap_files.hpp"

namespace ebbtide {

class Engine::State {
 public:
  State(std::unique_ptr<Device> device, const EngineOptions& options);

  const Timeline& run(const Program& program, const Plan& plan);
  void write_home(const Home& home, std::span<const std::byte> bytes);
  void read_home(const Home& home, std::span<std::byte> bytes);
  void cancel() noexcept;
  Device& device() { return *device_; }
  const EngineCounters& counters() const { return counters_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void make_disk_tier(const EngineOptions& options);
  void make_lanes();
  void warn(const std::vector<std::string>& lines);

  void begin(const Program& program, const Plan& plan);
  void walk_lanes();
  void end();
  void count();
  void count_checked();
  const execute::Releases* releases(const Program& program, const Plan& plan);

  // Piece by piece through bounce_.
  void write_disk(std::uint64_t address, std::span<const std::byte> bytes);
  void read_disk(std::uint64_t address, std::span<std::byte> bytes);

  const FreedBlocks freed_blocks_;
  const OffloadCheck offload_check_;
  std::unique_ptr<Device> device_;
  tiers::HostArena host_;
  tiers::HostArena bounce_;  // for homes on disk; part of the constant, not of the host budget
  std::optional<tiers::SwapFiles> files_;
  tiers::Checksums checksums_;
  execute::Step step_;
  std::vector<std::string> warnings_;
  EngineCounters counters_;
  std::unordered_map<std::size_t, execute::Releases> releases_;  // by a hash of the plan's content

  std::mutex running_mutex_;  // guards running_ between run() and cancel()
  bool running_ = false;

  execute::DiskLane* disk_writer_ = nullptr;  // one of walkers_; null without a disk tier
  execute::DiskLane* disk_reader_ = nullptr;
  PerLane<std::unique_ptr<execute::LaneWalker>> walkers_;  // a lane without one takes no task
  PerLane<std::unique_ptr<execute::LaneThread>> threads_;  // none for kCompute: the caller's
};

}  // namespace ebbtide
