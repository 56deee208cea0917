// One file of tokens: text, whose tokens are its bytes, or a .bin file of 16- or 32-bit ids. The
// formats are in docs/data-format.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace ebbtide::train {

// Of .bin files without a header.
enum class TokenType : std::uint8_t { kFromHeader, kUint16, kUint32 };

// Reading is thread-safe and allocates nothing. Offsets have 64 bits.
class TokenFile {
 public:
  // Throws Error(kBadData) naming the file, or kBadUsage if a .bin file has no header and no type
  // was given.
  TokenFile(const std::filesystem::path& path, TokenType headerless);
  ~TokenFile();
  TokenFile(TokenFile&& other) noexcept;
  TokenFile& operator=(TokenFile&&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t token_count() const { return token_count_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  std::uint32_t token_bytes() const { return token_bytes_; }
  // Largest id that the file's type can hold.
  std::uint32_t largest_id() const;

  // Tokens [first, first + ids.size()). Requires them inside the file.
  // Throws Error(kDataFailed) if the file has shrunk, the system's error if it cannot be read.
  void read(std::uint64_t first, std::span<std::uint32_t> ids) const;

 private:
  void open_file();
  void take_header(TokenType headerless);
  [[noreturn]] void fail(const std::string& problem) const;

  std::string path_;
  int fd_ = -1;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t data_offset_bytes_ = 0;
  std::uint32_t token_bytes_ = 1;
  std::uint64_t token_count_ = 0;
};

// Bytes before the tokens, and their width and number, as a header states them.
struct TokenHeader {
  std::uint64_t size_bytes = 0;
  std::uint32_t token_bytes = 0;
  std::uint64_t token_count = 0;
};
// Nothing if the bytes that the file starts with are no header that we know.
std::optional<TokenHeader> parse_token_header(std::span<const std::byte> start);

// What scripts and tests put before the tokens: "EBBTOK01", bytes a token, 0, count.
std::string make_token_header(std::uint32_t token_bytes, std::uint64_t token_count);

}  // namespace ebbtide::train
