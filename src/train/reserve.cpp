#include "src/train/reserve.hpp"

#include <algorithm>
#include <memory>

#include "ebbtide/device.hpp"

namespace ebbtide::train {

Engine reserve(const TrainOptions& options, const PerTier<std::uint64_t>& bytes) {
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
  return {make_cpu_device({.arena_bytes = bytes[index(Tier::kDevice)],
                           .link_bytes_per_s = transfer.link_bytes_per_s}),
          engine};
}

}  // namespace ebbtide::train
