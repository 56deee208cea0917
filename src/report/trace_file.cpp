#include "src/report/trace_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "ebbtide/error.hpp"

namespace ebbtide::report {
namespace {

// Some thousand events a system call.
constexpr std::size_t kPendingBytes = std::size_t{1} << 20;

}  // namespace

TraceFile::TraceFile(std::filesystem::path path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) fail("open the trace");
  pending_.reserve(2 * kPendingBytes);
  write("[");
  kept_bytes_ = written_bytes_;
}

TraceFile::~TraceFile() {
  if (file_ < 0) return;
  close_array();
}

void TraceFile::add(std::string_view event) {
  EBBTIDE_CHECK(file_ >= 0, "a trace that failed is written on");
  // The comma comes first: without a closing bracket nothing may follow the last event.
  pending_ += has_events_ ? ",\n" : "\n";
  pending_ += event;
  has_events_ = true;
  if (pending_.size() < kPendingBytes) return;
  write(pending_);
  pending_.clear();
}

void TraceFile::keep() {
  write(pending_);
  pending_.clear();
  kept_bytes_ = written_bytes_;
}

void TraceFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("write the trace");
    written_bytes_ += static_cast<std::uint64_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void TraceFile::fail(const char* operation) {
  const std::error_code error(errno, std::system_category());
  if (file_ >= 0) close_array();
  throw Error(error, {.operation = operation, .path = path_.string(), .offset = written_bytes_});
}

// Bytes behind the array would be an error to one reader, a line's end too.
void TraceFile::close_array() noexcept {
  const bool is_cut =
      ::ftruncate(file_, static_cast<off_t>(kept_bytes_)) == 0 && ::lseek(file_, 0, SEEK_END) >= 0;
  // Where it cannot be cut (a pipe), or closed, readers do without the bracket.
  if (is_cut && kept_bytes_ > 0 && ::write(file_, "\n]", 2) < 0) errno = 0;
  ::close(file_);
  file_ = -1;
}

}  // namespace ebbtide::report
