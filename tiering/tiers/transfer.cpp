#include "tiering/tiers/transfer.hpp"

#include <cerrno>

namespace ebbtide::tiers {
namespace {

// A healthy kernel needs one or two; the bound only keeps a broken one from hanging the run.
constexpr int kMostFruitlessAttempts = 64;

Outcome try_again(Transfer& transfer, int error, const char* detail) {
  if (++transfer.fruitless_attempts < kMostFruitlessAttempts) return {Next::kAgain, 0, ""};
  return {Next::kFailed, error, detail};
}

}  // namespace

KernelTransfer Transfer::rest() const {
  KernelTransfer rest = whole;
  rest.offset += done_bytes;
  rest.memory += done_bytes;
  rest.size_bytes -= done_bytes;
  return rest;
}

Outcome advance(Transfer& transfer, std::int64_t answer, std::uint32_t alignment_bytes) {
  if (answer == -EINTR || answer == -EAGAIN)
    return try_again(transfer, static_cast<int>(-answer), "still so after many attempts");
  if (answer < 0) return {Next::kFailed, static_cast<int>(-answer), ""};
  if (answer == 0)
    return {Next::kFailed, EIO,
            transfer.whole.direction == IoDirection::kRead ? "the file ends before that"
                                                           : "the file took nothing"};
  const std::uint64_t left = transfer.whole.size_bytes - transfer.done_bytes;
  const auto moved = static_cast<std::uint64_t>(answer);
  if (moved >= left) {
    transfer.done_bytes = transfer.whole.size_bytes;
    return {Next::kDone, 0, ""};
  }
  const std::uint64_t kept = moved / alignment_bytes * alignment_bytes;
  if (kept == 0)
    return try_again(transfer, EIO, "again and again fewer bytes were moved than the alignment");
  transfer.done_bytes += kept;
  transfer.fruitless_attempts = 0;
  return {Next::kAgain, 0, ""};
}

}  // namespace ebbtide::tiers
