// The queue for where io_uring is refused: pread and pwrite on as many threads as the queue is
// deep.
#pragma once

#include <memory>

#include "tiering/tiers/io_queue.hpp"

namespace ebbtide::tiers {

// More threads than this cost more than they bring; deeper queues are as deep as this.
inline constexpr std::uint32_t kMostIoThreads = 64;

std::unique_ptr<IoQueue> make_thread_queue(const SwapFiles& files, const IoQueueOptions& options,
                                           OnComplete on_complete);

}  // namespace ebbtide::tiers
