#include "tiering/tiers/io_queue.hpp"

#include <fmt/format.h>

#include <utility>

#include "ebbtide/types.hpp"
#include "tiering/tiers/checksums.hpp"
#include "tiering/tiers/swap_files.hpp"
#include "tiering/tiers/thread_queue.hpp"
#include "tiering/tiers/uring_queue.hpp"

namespace ebbtide::tiers {
namespace {

// Adds one line to the warnings of a queue.
class WarningQueue final : public IoQueue {
 public:
  WarningQueue(std::unique_ptr<IoQueue> inner, std::string warning)
      : inner_(std::move(inner)), warnings_(inner_->warnings()) {
    warnings_.insert(warnings_.begin(), std::move(warning));
  }
  void submit(JobId job, IoDirection direction, std::span<const IoRequest> requests) override {
    inner_->submit(job, direction, requests);
  }
  void reserve(std::size_t jobs, std::size_t requests) override { inner_->reserve(jobs, requests); }
  void drain() override { inner_->drain(); }
  std::string engine_name() const override { return inner_->engine_name(); }
  const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  std::unique_ptr<IoQueue> inner_;
  std::vector<std::string> warnings_;
};

std::unique_ptr<IoQueue> make_plain_queue(IoEngine engine, const SwapFiles& files,
                                          const IoQueueOptions& options, OnComplete on_complete) {
  if (engine == IoEngine::kThreads)
    return make_thread_queue(files, options, std::move(on_complete));
  if (engine == IoEngine::kUring) return make_uring_queue(files, options, std::move(on_complete));
  try {
    return make_uring_queue(files, options, on_complete);
  } catch (const Error& refused) {
    return std::make_unique<WarningQueue>(
        make_thread_queue(files, options, std::move(on_complete)),
        fmt::format("{}; going on with threads that read and write", refused.what()));
  }
}

}  // namespace

void check_request(const SwapFiles& files, const IoRequest& request) {
  const auto address = reinterpret_cast<std::uintptr_t>(request.memory);
  EBBTIDE_CHECK((request.offset | request.size_bytes | address) % kPageAlignment == 0,
                fmt::format("offset {}, size {}, memory {:#x}; all must be multiples of {}",
                            request.offset, request.size_bytes, address, kPageAlignment));
  EBBTIDE_CHECK(request.offset <= files.size_bytes() &&
                    request.size_bytes <= files.size_bytes() - request.offset,
                fmt::format("{} bytes at {} in a swap space of {}", request.size_bytes,
                            request.offset, files.size_bytes()));
}

Error io_error(IoDirection direction, const IoResult& result) {
  EBBTIDE_CHECK(result.error, "a job that did not fail");
  return Error(result.error,
               {.operation = direction == IoDirection::kRead ? "read from the swap file"
                                                             : "write to the swap file",
                .path = result.path,
                .offset = result.offset,
                .wanted = result.wanted,
                .got = result.got,
                .advice = result.detail});
}

std::unique_ptr<IoQueue> make_io_queue(IoEngine engine, const SwapFiles& files,
                                       const IoQueueOptions& options, OnComplete on_complete) {
  if (!options.checksums) return make_plain_queue(engine, files, options, std::move(on_complete));
  return make_checked_queue(
      files, *options.checksums, std::move(on_complete),
      [&](OnComplete inner) { return make_plain_queue(engine, files, options, std::move(inner)); });
}

}  // namespace ebbtide::tiers
