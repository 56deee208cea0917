#include "src/train/tensor_digest.hpp"

#include <fmt/format.h>

#define XXH_STATIC_LINKING_ONLY  // the streaming state then has a known size
#include <xxhash.h>

#include "ebbtide/error.hpp"

namespace ebbtide::train {
namespace {

std::string hexadecimal(std::uint64_t digest) {
  return fmt::format("{:016x}", digest);
}

}  // namespace

struct TensorDigest::State {
  XXH3_state_t xxh3;
};

std::string digest_of(std::string_view text) {
  return hexadecimal(XXH3_64bits(text.data(), text.size()));
}

TensorDigest::TensorDigest() : state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->xxh3);
}
TensorDigest::~TensorDigest() = default;

void TensorDigest::add(std::uint64_t offset_bytes, std::span<const std::byte> bytes) {
  EBBTIDE_CHECK(offset_bytes == 0 || offset_bytes == end_bytes_,
                fmt::format("a block at {} after one that ended at {}", offset_bytes, end_bytes_));
  if (offset_bytes == 0) XXH3_64bits_reset(&state_->xxh3);
  XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size());
  end_bytes_ = offset_bytes + bytes.size();
}

std::string TensorDigest::digest() const {
  return hexadecimal(XXH3_64bits_digest(&state_->xxh3));
}

}  // namespace ebbtide::train
