#include "src/device/streaming_copy.hpp"

#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ebbtide::device {

#if defined(__SSE2__)

namespace {

constexpr std::uint64_t kLineBytes = 64;  // one write-combining buffer

void stream_line(std::byte* to, const std::byte* from) {
  const auto* source = reinterpret_cast<const __m128i*>(from);
  auto* target = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(source);
  const __m128i b = _mm_loadu_si128(source + 1);
  const __m128i c = _mm_loadu_si128(source + 2);
  const __m128i d = _mm_loadu_si128(source + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
}

}  // namespace

void streaming_copy(std::byte* to, const std::byte* from, std::uint64_t size_bytes) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(to) % kLineBytes == 0;
  if (size_bytes < kStreamingBytes || !is_aligned) {
    std::memcpy(to, from, size_bytes);
    return;
  }
  const std::uint64_t lines_end = size_bytes / kLineBytes * kLineBytes;
  for (std::uint64_t at = 0; at < lines_end; at += kLineBytes) stream_line(to + at, from + at);
  _mm_sfence();  // before anybody is told that the copy is done
  std::memcpy(to + lines_end, from + lines_end, size_bytes - lines_end);
}

#else

void streaming_copy(std::byte* to, const std::byte* from, std::uint64_t size_bytes) {
  std::memcpy(to, from, size_bytes);
}

#endif

}  // namespace ebbtide::device
