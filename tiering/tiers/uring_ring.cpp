#include "tiering/tiers/uring_ring.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "tiering/tiers/errno_name.hpp"
#include "tiering/tiers/job_book.hpp"
#include "tiering/tiers/ring_refusal.hpp"
#include "tiering/tiers/swap_files.hpp"

namespace ebbtide::tiers {
namespace {

constexpr std::uint32_t kMostDepth = 4096;  // the kernel's own limit is 32768 entries

std::string locked_memory_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{} bytes", limit.rlim_cur);
}

Error refused(int error, const std::string& operation) {
  return Error(std::error_code(error, std::system_category()),
               {.operation = operation,
                .advice = fmt::format("{}: {}", errno_name(error), ring_refusal_text(error))});
}

}  // namespace

UringRing::UringRing(const SwapFiles& files, const IoQueueOptions& options,
                     std::vector<std::string>& warnings)
    : files_(files), depth_(std::clamp<std::uint32_t>(options.depth, 1, kMostDepth)) {
  set_up(warnings);
  try {
    check_kernel();
    register_memory(options.registered, warnings);
    register_files(warnings);
  } catch (...) {
    io_uring_queue_exit(&ring_);
    throw;
  }
}

UringRing::~UringRing() {
  io_uring_queue_exit(&ring_);
}

// Before Linux 5.12 the ring itself counted as locked memory: a smaller one may still fit.
void UringRing::set_up(std::vector<std::string>& warnings) {
  const std::uint32_t asked = depth_;
  for (;; depth_ /= 2) {
    const int error = -io_uring_queue_init(depth_ + 1, &ring_, 0);
    if (error == 0) break;
    if (error != ENOMEM || depth_ == 1) throw refused(error, "set up io_uring");
  }
  if (depth_ != asked)
    warnings.push_back(
        fmt::format("io_uring: no memory for a queue depth of {}, going on with {}; the limit "
                    "(RLIMIT_MEMLOCK, ulimit -l) is {}",
                    asked, depth_, locked_memory_limit()));
}

// IORING_OP_READ and IORING_OP_WRITE came with Linux 5.6, after io_uring itself.
void UringRing::check_kernel() {
  io_uring_probe* const probe = io_uring_get_probe_ring(&ring_);
  const bool known = probe && io_uring_opcode_supported(probe, IORING_OP_READ) &&
                     io_uring_opcode_supported(probe, IORING_OP_WRITE);
  if (probe) io_uring_free_probe(probe);
  if (!known)
    throw Error(std::error_code(ENOSYS, std::system_category()),
                {.operation = "set up io_uring",
                 .advice = "ENOSYS: this kernel's io_uring is too old (Linux 5.6 is needed)"});
}

void UringRing::register_memory(std::span<std::byte> memory, std::vector<std::string>& warnings) {
  if (memory.empty()) return;
  std::vector<iovec> buffers;
  for (std::size_t at = 0; at < memory.size(); at += kRegisteredBufferBytes)
    buffers.push_back(
        {memory.data() + at, std::min<std::size_t>(kRegisteredBufferBytes, memory.size() - at)});
  const int error =
      -io_uring_register_buffers(&ring_, buffers.data(), static_cast<unsigned>(buffers.size()));
  if (error == 0) {
    registered_ = memory;
    return;
  }
  warnings.push_back(fmt::format(
      "io_uring: registering {} bytes of host memory was refused: {}; the limit (RLIMIT_MEMLOCK, "
      "ulimit -l) is {}; going on with plain buffers",
      memory.size(), errno_text(error), locked_memory_limit()));
}

void UringRing::register_files(std::vector<std::string>& warnings) {
  std::vector<int> descriptors(files_.file_count());
  for (std::size_t i = 0; i < descriptors.size(); ++i) descriptors[i] = files_.descriptor(i);
  if (descriptors.empty()) return;
  const int error = -io_uring_register_files(&ring_, descriptors.data(),
                                             static_cast<unsigned>(descriptors.size()));
  files_registered_ = error == 0;
  if (error != 0)
    warnings.push_back(fmt::format(
        "io_uring: registering {} files was refused: {}; going on with plain descriptors",
        descriptors.size(), errno_text(error)));
}

int UringRing::buffer_index(const std::byte* memory) const {
  if (memory < registered_.data() || memory >= registered_.data() + registered_.size()) return -1;
  return static_cast<int>(static_cast<std::uint64_t>(memory - registered_.data()) /
                          kRegisteredBufferBytes);
}

bool UringRing::prepare(const KernelTransfer& transfer, std::uint64_t tag) {
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
  if (!sqe) return false;
  const int file =
      files_registered_ ? static_cast<int>(transfer.file) : files_.descriptor(transfer.file);
  const auto size_bytes = static_cast<unsigned>(transfer.size_bytes);
  const int buffer = buffer_index(transfer.memory);
  const bool reads = transfer.direction == IoDirection::kRead;
  if (buffer >= 0 && reads) {
    io_uring_prep_read_fixed(sqe, file, transfer.memory, size_bytes, transfer.offset, buffer);
  } else if (buffer >= 0) {
    io_uring_prep_write_fixed(sqe, file, transfer.memory, size_bytes, transfer.offset, buffer);
  } else if (reads) {
    io_uring_prep_read(sqe, file, transfer.memory, size_bytes, transfer.offset);
  } else {
    io_uring_prep_write(sqe, file, transfer.memory, size_bytes, transfer.offset);
  }
  if (files_registered_) io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
  io_uring_sqe_set_data64(sqe, tag);
  return true;
}

bool UringRing::prepare_wake(int descriptor, std::uint64_t* value, std::uint64_t tag) {
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
  if (!sqe) return false;
  io_uring_prep_read(sqe, descriptor, value, sizeof *value, 0);
  io_uring_sqe_set_data64(sqe, tag);
  return true;
}

bool UringRing::prepare_delay(__kernel_timespec* delay, std::uint64_t tag) {
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
  if (!sqe) return false;
  io_uring_prep_timeout(sqe, delay, 0, 0);
  io_uring_sqe_set_data64(sqe, tag);
  return true;
}

int UringRing::submit_and_wait() {
  return io_uring_submit_and_wait(&ring_, 1);
}

bool UringRing::wait_without_entering(int descriptor) {
  pollfd waits[] = {{ring_.ring_fd, POLLIN, 0}, {descriptor, POLLIN, 0}};
  ::poll(waits, 2, -1);  // passes over a negative descriptor
  return (waits[1].revents & POLLIN) != 0;
}

}  // namespace ebbtide::tiers
