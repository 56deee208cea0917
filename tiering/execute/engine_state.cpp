#include "tiering/execute/engine_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "ebbtide/error.hpp"
#include "tiering/execute/seams.hpp"

namespace ebbtide {
namespace {

const EngineSeams kNoSeams;

const EngineSeams& seams_of(const EngineOptions& options) {
  return options.seams ? *options.seams : kNoSeams;
}

void check(const EngineOptions& options) {
  if (options.nvme_bytes > 0 && options.nvme_paths.empty())
    throw Error(
        Errc::kBadUsage,
        fmt::format("an NVMe memory of {} bytes needs at least one NVMe path", options.nvme_bytes));
  if (options.io_block_bytes == 0 || options.io_block_bytes % kPageAlignment != 0)
    throw Error(Errc::kBadUsage, fmt::format("the I/O block size must be a multiple of {}, not {}",
                                             kPageAlignment, options.io_block_bytes));
  if (options.io_queue_depth == 0)
    throw Error(Errc::kBadUsage, "the I/O queue depth must be at least 1, not 0");
}

tiers::HostArenaOptions host_options(const EngineOptions& options) {
  check(options);
  const EngineSeams& seams = seams_of(options);
  return {
      .size_bytes = options.host_bytes,
      .lock = options.host_lock == HostLock::kTry ? tiers::PageLock::kTry : tiers::PageLock::kNone,
      .lock_pages = seams.lock_pages,
      .available_bytes = seams.available_bytes};
}

void fill_with_nan(std::span<std::byte> memory) {
  if (!memory.empty()) std::memset(memory.data(), 0xFF, memory.size());
}

template <typename T>
std::size_t mix(std::size_t hash, const std::vector<T>& items) {
  const auto* bytes = reinterpret_cast<const char*>(items.data());
  const std::size_t own = std::hash<std::string_view>{}({bytes, items.size() * sizeof(T)});
  return hash * 0x9E3779B97F4A7C15U + own;
}

std::size_t content_hash(const Program& program, const Plan& plan) {
  std::size_t hash = mix(program.op_count() + program.use_count(), plan.waits);
  for (const std::vector<Task>& tasks : plan.tasks) hash = mix(hash, tasks);
  return mix(mix(hash, plan.segments), plan.operand_units);
}

std::size_t pieces_written(const Program& program, const Plan& plan) {
  std::size_t pieces = 0;
  for (const Task& task : plan.tasks[index(Lane::kNvmeWrite)]) {
    for (const Segment& segment : plan.segments_of(task))
      pieces +=
          tiers::Checksums::pieces(extent(program.value(segment.value).size_bytes, Tier::kNvme));
  }
  return pieces;
}

}  // namespace

Engine::State::State(std::unique_ptr<Device> device, const EngineOptions& options)
    : freed_blocks_(options.freed_blocks),
      offload_check_(options.offload_check),
      device_(std::move(device)),
      host_(host_options(options)),
      bounce_({}),
      step_(*device_) {
  step_.host_arena = host_.bytes();
  warn(host_.warnings());
  if (freed_blocks_ == FreedBlocks::kPoison) {
    fill_with_nan(step_.device_arena);
    fill_with_nan(step_.host_arena);
  }
  if (options.nvme_bytes > 0) make_disk_tier(options);
  make_lanes();
}

void Engine::State::warn(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (std::ranges::find(warnings_, line) == warnings_.end()) warnings_.push_back(line);
  }
}

void Engine::State::make_disk_tier(const EngineOptions& options) {
  const EngineSeams& seams = seams_of(options);
  files_.emplace(tiers::SwapFilesOptions{.size_bytes = options.nvme_bytes,
                                         .directories = options.nvme_paths,
                                         .enable_direct = seams.enable_direct,
                                         .reserve = seams.reserve});
  warn(files_->warnings());
  step_.nvme_bytes = files_->size_bytes();
  bounce_ = tiers::HostArena({.size_bytes = Engine::kDiskBufferBytes});
  const bool checked = offload_check_ == OffloadCheck::kChecksum;
  const tiers::IoQueueOptions queue{.block_bytes = options.io_block_bytes,
                                    .depth = options.io_queue_depth,
                                    .registered = host_.bytes(),
                                    .checksums = checked ? &checksums_ : nullptr,
                                    .faults = seams.io_faults};
  const auto make_queue = [&](tiers::OnComplete on_complete) {
    return tiers::make_io_queue(options.io_engine, *files_, queue, std::move(on_complete));
  };
  for (const Lane lane : {Lane::kNvmeWrite, Lane::kNvmeRead}) {
    auto made = std::make_unique<execute::DiskLane>(lane, step_, make_queue);
    warn(made->queue().warnings());
    (lane == Lane::kNvmeWrite ? disk_writer_ : disk_reader_) = made.get();
    walkers_[index(lane)] = std::move(made);
  }
}

void Engine::State::make_lanes() {
  for (const Lane lane : {Lane::kCompute, Lane::kD2h, Lane::kH2d, Lane::kHostCompute, Lane::kComm})
    walkers_[index(lane)] = std::make_unique<execute::SerialLane>(lane, step_);
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    const auto lane = static_cast<Lane>(i);
    if (lane == Lane::kCompute || !walkers_[i]) continue;
    threads_[i] = std::make_unique<execute::LaneThread>(lane, [this, i] { walkers_[i]->walk(); });
  }
}

const Timeline& Engine::State::run(const Program& program, const Plan& plan) {
  {
    const std::scoped_lock lock(running_mutex_);
    EBBTIDE_CHECK(!running_, "run() inside run()");
  }
  begin(program, plan);
  walk_lanes();
  end();
  return step_.timeline;
}

void Engine::State::begin(const Program& program, const Plan& plan) {
  step_.program = &program;
  step_.plan = &plan;
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    EBBTIDE_CHECK(plan.span_bytes[index(tier)] <= step_.size_bytes(tier),
                  fmt::format("the plan needs {} bytes of the {} tier, which has {}",
                              plan.span_bytes[index(tier)], name(tier), step_.size_bytes(tier)));
  }
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    EBBTIDE_CHECK(walkers_[i] || plan.tasks[i].empty(),
                  fmt::format("tasks on the {} lane of an engine without a disk tier",
                              name(static_cast<Lane>(i))));
    step_.timeline.tasks[i].assign(plan.tasks[i].size(), {});
    if (walkers_[i]) walkers_[i]->prepare();
  }
  if (offload_check_ == OffloadCheck::kChecksum) checksums_.reserve(pieces_written(program, plan));
  step_.releases = releases(program, plan);
  step_.timeline.step_seconds = 0;
  const std::scoped_lock lock(running_mutex_);
  step_.progress.reset();
  step_.failure.reset();
  running_ = true;
}

void Engine::State::walk_lanes() {
  step_.start = execute::Clock::now();
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    if (threads_[i] && !step_.plan->tasks[i].empty()) threads_[i]->start();
  }
  walkers_[index(Lane::kCompute)]->walk();
  for (const auto& thread : threads_) {
    if (thread) thread->rest();
  }
  step_.timeline.step_seconds = step_.now_s();
}

void Engine::State::end() {
  {
    const std::scoped_lock lock(running_mutex_);
    running_ = false;
  }
  count();
  step_.failure.rethrow();
  if (step_.releases == nullptr) return;
  for (const execute::Fill& fill : step_.releases->at_end) poison(step_, fill);
}

void Engine::State::count() {
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    if (!walkers_[i]) continue;
    const execute::LaneRecord& record = walkers_[i]->record();
    counters_.moved_bytes[i] = record.moved_bytes;
    for (std::size_t tier = 0; tier < kTierCount; ++tier)
      counters_.touched_bytes[tier] =
          std::max(counters_.touched_bytes[tier], record.touched_bytes[tier]);
  }
  counters_.poisoned_bytes = step_.poisoned_bytes.load();
  count_checked();
}

void Engine::State::count_checked() {
  counters_.checked_bytes = checksums_.checked_bytes();
  counters_.unchecked_bytes = checksums_.unchecked_bytes();
}

const execute::Releases* Engine::State::releases(const Program& program, const Plan& plan) {
  if (freed_blocks_ == FreedBlocks::kLeave) return nullptr;
  const auto [found, is_new] = releases_.try_emplace(content_hash(program, plan));
  if (is_new) found->second = execute::find_releases(program, plan);
  return &found->second;
}

void Engine::State::cancel() noexcept {
  const std::scoped_lock lock(running_mutex_);
  if (!running_) return;
  step_.failure.keep_cancelled();
  step_.progress.abort();
}

}  // namespace ebbtide
