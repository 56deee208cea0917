#include "src/train/reserve.hpp"

#include <fmt/format.h>

#include <memory>
#include <system_error>
#include <utility>

#include "ebbtide/device.hpp"
#include "ebbtide/error.hpp"

namespace ebbtide::train {

namespace {

bool from_the_system(const std::error_code& code) {
  return code.category() == std::system_category() || code.category() == std::generic_category();
}

Engine make_engine(const TrainOptions& options, const PerTier<std::uint64_t>& bytes) {
  const TransferOptions& transfer = options.transfer;
  EngineOptions engine;
  engine.host_bytes = bytes[index(Tier::kHost)];
  engine.nvme_bytes = bytes[index(Tier::kNvme)];
  if (engine.nvme_bytes > 0) engine.nvme_paths = options.memory.nvme_paths;
  engine.io_engine = transfer.io_engine;
  engine.io_block_bytes = transfer.io_block_bytes.value_or(engine.io_block_bytes);
  if (transfer.io_queue_depth)
    engine.io_queue_depth = static_cast<std::uint32_t>(*transfer.io_queue_depth);
  engine.offload_check = transfer.offload_check;
  engine.freed_blocks = transfer.freed_blocks;
  engine.seams = transfer.seams;
  std::unique_ptr<Device> device = make_cpu_device(
      {.arena_bytes = bytes[index(Tier::kDevice)], .link_bytes_per_s = transfer.link_bytes_per_s});
  if (transfer.around_device) device = transfer.around_device(std::move(device));
  return {std::move(device), engine};
}

}  // namespace

Engine reserve(const TrainOptions& options, const PerTier<std::uint64_t>& bytes) {
  try {
    return make_engine(options, bytes);
  } catch (const Error& error) {
    if (!from_the_system(error.code())) throw;
    // Nothing has run yet: what the system refuses is a setting that cannot be had here.
    const bool is_path = !error.context().path.empty();
    throw Error(is_path ? Errc::kBadUsage : Errc::kDoesNotFit,
                fmt::format("{}{}", is_path ? "--nvme-path: " : "", error.what()));
  }
}

}  // namespace ebbtide::train
