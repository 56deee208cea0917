#include "src/train/token_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "ebbtide/error.hpp"

namespace ebbtide::train {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

constexpr std::string_view kMagic = "EBBTOK01";
constexpr std::uint64_t kOurHeaderBytes = 24;
// karpathy/llm.c, dev/data/data_common.py: 256 int32: magic, version, count, zeros.
constexpr std::uint64_t kLlmcHeaderBytes = 1024;
constexpr std::uint32_t kLlmcGpt2Magic = 20240520;    // version 1: uint16
constexpr std::uint32_t kLlmcLlama3Magic = 20240801;  // version 7: uint32

template <typename T>
T load(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Reads until `out` is full or the file ends; -1 on an error.
std::int64_t read_all(int fd, std::uint64_t offset_bytes, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t count =
        pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset_bytes + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return static_cast<std::int64_t>(done);
}

void widen(std::span<const std::byte> raw, std::uint32_t token_bytes,
           std::span<std::uint32_t> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::uint32_t id = 0;
    std::memcpy(&id, raw.data() + i * token_bytes, token_bytes);
    ids[i] = id;
  }
}

}  // namespace

std::optional<TokenHeader> parse_token_header(std::span<const std::byte> start) {
  if (start.size() >= kOurHeaderBytes && std::memcmp(start.data(), kMagic.data(), 8) == 0)
    return TokenHeader{kOurHeaderBytes, load<std::uint32_t>(start, 8),
                       load<std::uint64_t>(start, 16)};
  if (start.size() < kLlmcHeaderBytes) return std::nullopt;
  const auto magic = load<std::uint32_t>(start, 0);
  const auto version = load<std::uint32_t>(start, 4);
  const auto count = load<std::uint32_t>(start, 8);
  if (magic == kLlmcGpt2Magic && version == 1) return TokenHeader{kLlmcHeaderBytes, 2, count};
  if (magic == kLlmcLlama3Magic && version == 7) return TokenHeader{kLlmcHeaderBytes, 4, count};
  return std::nullopt;
}

std::string make_token_header(std::uint32_t token_bytes, std::uint64_t token_count) {
  std::string header(kOurHeaderBytes, '\0');
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  std::memcpy(header.data() + 8, &token_bytes, sizeof token_bytes);
  std::memcpy(header.data() + 16, &token_count, sizeof token_count);
  return header;
}

TokenFile::TokenFile(const std::filesystem::path& path, TokenType headerless)
    : path_(path.string()) {
  try {
    open_file();
    if (path.extension() == ".bin") take_header(headerless);
    const std::uint64_t data_bytes = size_bytes_ - data_offset_bytes_;
    if (data_bytes % token_bytes_ != 0)
      fail(fmt::format("{} bytes are no whole number of {}-byte tokens", data_bytes, token_bytes_));
    token_count_ = data_bytes / token_bytes_;
  } catch (...) {
    if (fd_ >= 0) close(fd_);
    throw;
  }
}

TokenFile::~TokenFile() {
  if (fd_ >= 0) close(fd_);
}

TokenFile::TokenFile(TokenFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_bytes_(other.size_bytes_),
      data_offset_bytes_(other.data_offset_bytes_),
      token_bytes_(other.token_bytes_),
      token_count_(other.token_count_) {}

void TokenFile::open_file() {
  // O_NONBLOCK: a FIFO must be refused, not waited for.
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) fail(fmt::format("cannot open it: {}", std::generic_category().message(errno)));
  struct stat status {};
  if (fstat(fd_, &status) != 0)
    fail(fmt::format("cannot examine it: {}", std::generic_category().message(errno)));
  if (S_ISDIR(status.st_mode)) fail("is a directory; name the files in it");
  if (!S_ISREG(status.st_mode)) fail("not a regular file");
  size_bytes_ = static_cast<std::uint64_t>(status.st_size);
}

void TokenFile::take_header(TokenType headerless) {
  std::array<std::byte, kLlmcHeaderBytes> start{};
  const std::int64_t got = read_all(fd_, 0, start);
  if (got < 0) fail(fmt::format("cannot read it: {}", std::generic_category().message(errno)));
  const std::uint32_t stated = headerless == TokenType::kUint16   ? 2
                               : headerless == TokenType::kUint32 ? 4
                                                                  : 0;
  const auto header = parse_token_header(std::span(start).first(static_cast<std::size_t>(got)));
  if (!header) {
    token_bytes_ = stated;
    if (size_bytes_ > 0 && stated == 0)
      throw Error(
          Errc::kBadUsage,
          fmt::format("{}: has no header, so its token type, uint16 or uint32, must be given",
                      path_));
    token_bytes_ = std::max(stated, 2U);
    return;
  }
  if (header->token_bytes != 2 && header->token_bytes != 4)
    fail(fmt::format("its header says {} bytes a token; 2 and 4 exist", header->token_bytes));
  if (stated != 0 && stated != header->token_bytes)
    fail(fmt::format("its header says uint{}, but uint{} was given", 8 * header->token_bytes,
                     8 * stated));
  const std::uint64_t data_bytes = size_bytes_ - header->size_bytes;
  if (data_bytes / header->token_bytes != header->token_count ||
      data_bytes % header->token_bytes != 0)
    fail(fmt::format("its header says {} tokens of {} bytes, but {} bytes follow",
                     header->token_count, header->token_bytes, data_bytes));
  data_offset_bytes_ = header->size_bytes;
  token_bytes_ = header->token_bytes;
}

std::uint32_t TokenFile::largest_id() const {
  return std::numeric_limits<std::uint32_t>::max() >> (32 - 8 * token_bytes_);
}

void TokenFile::read(std::uint64_t first, std::span<std::uint32_t> ids) const {
  EBBTIDE_CHECK(
      first <= token_count_ && ids.size() <= token_count_ - first,
      fmt::format("tokens {} + {} of {}, which has {}", first, ids.size(), path_, token_count_));
  std::array<std::byte, 16 * 1024> block;  // a stack may be as small as 64 KiB
  while (!ids.empty()) {
    const std::size_t count = std::min(ids.size(), block.size() / token_bytes_);
    const std::span<std::byte> raw = std::span(block).first(count * token_bytes_);
    const std::uint64_t offset = data_offset_bytes_ + first * token_bytes_;
    const std::int64_t got = read_all(fd_, offset, raw);
    if (got < 0)
      throw Error(
          std::error_code(errno, std::system_category()),
          {.operation = "read data", .path = path_, .offset = offset, .wanted = raw.size()});
    if (static_cast<std::size_t>(got) != raw.size())
      throw Error(Errc::kDataFailed,
                  fmt::format("data file {}: ended at {} bytes instead of {}; it has shrunk since "
                              "it was opened",
                              path_, offset + static_cast<std::uint64_t>(got), size_bytes_));
    widen(raw, token_bytes_, ids.first(count));
    ids = ids.subspan(count);
    first += count;
  }
}

void TokenFile::fail(const std::string& problem) const {
  throw Error(Errc::kBadData, fmt::format("data file {}: {}", path_, problem));
}

}  // namespace ebbtide::train
