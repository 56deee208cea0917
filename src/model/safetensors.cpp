#include "src/model/safetensors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <istream>
#include <streambuf>
#include <utility>

#include "ebbtide/error.hpp"
#include "src/model/safetensors_header.hpp"

namespace ebbtide::model {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
  throw Error(Errc::kBadFile, fmt::format("{}: {}", path, problem));
}

// Reads until `out` is full or the file ends; returns the bytes read.
std::uint64_t read_all(int fd, std::uint64_t offset_bytes, std::span<std::byte> out,
                       const std::string& path) {
  std::uint64_t done = 0;
  while (done < out.size()) {
    const ssize_t count =
        pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset_bytes + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw Error({errno, std::generic_category()}, {.operation = "read weights",
                                                     .path = path,
                                                     .offset = offset_bytes + done,
                                                     .wanted = out.size() - done});
    if (count == 0) break;
    done += static_cast<std::uint64_t>(count);
  }
  return done;
}

// The header's bytes, a block at a time. A header has quotes all along; a long run without one is
// refused, so that no string or number can take much memory.
class HeaderBuffer final : public std::streambuf {
 public:
  HeaderBuffer(int fd, std::uint64_t length_bytes, const std::string& path)
      : fd_(fd), end_(kHeaderLengthBytes + length_bytes), path_(path) {}

 protected:
  int_type underflow() override {
    const std::uint64_t wanted = std::min<std::uint64_t>(block_.size(), end_ - at_);
    if (wanted == 0) return traits_type::eof();
    const auto bytes = std::as_writable_bytes(std::span(block_)).first(wanted);
    if (read_all(fd_, at_, bytes, path_) != wanted) fail(path_, "shorter than its header");
    at_ += wanted;
    const std::string_view text(block_.data(), wanted);
    const std::size_t quote = text.rfind('"');
    unquoted_ = quote == std::string_view::npos ? unquoted_ + wanted : wanted - quote;
    if (unquoted_ > kMaxUnquotedBytes)
      fail(path_, fmt::format("the header has {} bytes without a quote", unquoted_));
    setg(block_.data(), block_.data(), block_.data() + wanted);
    return traits_type::to_int_type(block_[0]);
  }

 private:
  static constexpr std::uint64_t kMaxUnquotedBytes = 1 << 20;

  int fd_;
  std::uint64_t at_ = kHeaderLengthBytes;  // of the file
  std::uint64_t end_;
  std::uint64_t unquoted_ = 0;  // bytes since the last quote
  const std::string& path_;
  std::array<char, 16 * 1024> block_{};  // a stack may be as small as 64 KiB
};

std::uint64_t file_bytes(int fd, const std::string& path) {
  struct stat status {};
  if (fstat(fd, &status) != 0)
    throw Error({errno, std::generic_category()}, {.operation = "examine weights", .path = path});
  if (!S_ISREG(status.st_mode)) fail(path, "not a regular file");
  return static_cast<std::uint64_t>(status.st_size);
}

std::uint64_t header_length(int fd, std::uint64_t file_size_bytes, const std::string& path) {
  std::array<std::byte, kHeaderLengthBytes> bytes{};
  if (read_all(fd, 0, bytes, path) != bytes.size())
    fail(path, fmt::format("{} bytes are too few for a safetensors file", file_size_bytes));
  const auto length = std::bit_cast<std::uint64_t>(bytes);
  if (length > kMaxHeaderBytes || length > file_size_bytes - kHeaderLengthBytes)
    fail(path, fmt::format("a header of {} bytes, in a file of {}; at most {} are allowed", length,
                           file_size_bytes, kMaxHeaderBytes));
  return length;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path.string()) {
  // O_NONBLOCK: a FIFO must be refused, not waited for.
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0)
    throw Error({errno, std::generic_category()}, {.operation = "open weights", .path = path_});
  try {
    const std::uint64_t size = file_bytes(fd_, path_);
    const std::uint64_t length = header_length(fd_, size, path_);
    HeaderBuffer buffer(fd_, length, path_);
    std::istream stream(&buffer);
    Header header = parse_header(stream, path_);
    const std::uint64_t data = kHeaderLengthBytes + length;
    tensors_ = validate_entries(std::move(header.entries), data, size - data, path_);
    metadata_ = std::move(header.metadata);
    for (std::size_t i = 0; i < tensors_.size(); ++i) by_name_.emplace(tensors_[i].name, i);
  } catch (...) {
    close(fd_);
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() {
  if (fd_ >= 0) close(fd_);
}

SafetensorsFile::SafetensorsFile(SafetensorsFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      tensors_(std::move(other.tensors_)),
      by_name_(std::move(other.by_name_)),
      metadata_(std::move(other.metadata_)) {}

SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(tensors_, other.tensors_);
  std::swap(by_name_, other.by_name_);
  std::swap(metadata_, other.metadata_);
  return *this;
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &tensors_[at->second];
}

const TensorInfo& SafetensorsFile::need(std::string_view name) const {
  const TensorInfo* tensor = find(name);
  if (tensor == nullptr) fail(path_, fmt::format("there is no tensor '{}'", name));
  return *tensor;
}

void SafetensorsFile::read_at(const TensorInfo& tensor, std::uint64_t offset_bytes,
                              std::span<std::byte> out) const {
  EBBTIDE_CHECK(offset_bytes <= tensor.size_bytes && out.size() <= tensor.size_bytes - offset_bytes,
                fmt::format("bytes {} + {} of {}, which has {}", offset_bytes, out.size(),
                            tensor.name, tensor.size_bytes));
  const std::uint64_t got = read_all(fd_, tensor.offset_bytes + offset_bytes, out, path_);
  if (got != out.size())
    fail(path_, fmt::format("tensor '{}': the file ended after {} of {} bytes; it has shrunk since "
                            "it was opened",
                            tensor.name, got, out.size()));
}

void SafetensorsFile::read(std::string_view name, std::uint64_t offset_bytes,
                           std::span<std::byte> out) const {
  read_at(need(name), offset_bytes, out);
}

void SafetensorsFile::read_floats(std::string_view name, std::uint64_t first,
                                  std::span<float> out) const {
  const TensorInfo& tensor = need(name);
  EBBTIDE_CHECK(
      first <= tensor.count() && out.size() <= tensor.count() - first,
      fmt::format("elements {} + {} of {}, which has {}", first, out.size(), name, tensor.count()));
  if (tensor.dtype == TensorDType::kF32)
    return read_at(tensor, first * sizeof(float), std::as_writable_bytes(out));
  if (tensor.dtype != TensorDType::kBf16)
    fail(path_, fmt::format("tensor '{}' is {}; only F32 and BF16 weights can be loaded", name,
                            model::name(tensor.dtype)));
  // The bf16 numbers land in the second half of `out` and are widened from the front: number i is
  // read at byte 2 n + 2 i, which no earlier one, written below byte 4 i, has overwritten.
  const auto bytes = std::as_writable_bytes(out);
  read_at(tensor, first * 2, bytes.last(bytes.size() / 2));
  const std::byte* narrow = bytes.data() + bytes.size() / 2;
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t high = 0;
    std::memcpy(&high, narrow + 2 * i, sizeof high);
    const std::uint32_t word = std::uint32_t{high} << 16;
    std::memcpy(&out[i], &word, sizeof word);
  }
}

}  // namespace ebbtide::model
