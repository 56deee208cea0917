// The queue on io_uring. One thread owns the ring and sleeps in it; submit() wakes it through an
// eventfd that the ring reads.
#pragma once

#include <memory>

#include "tiering/tiers/io_queue.hpp"

namespace ebbtide::tiers {

// Throws Error where io_uring is refused.
std::unique_ptr<IoQueue> make_uring_queue(const SwapFiles& files, const IoQueueOptions& options,
                                          OnComplete on_complete);

}  // namespace ebbtide::tiers
