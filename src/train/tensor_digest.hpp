// The XXH3 of a tensor that is written or read in order, block after block, so that no tensor is
// ever held whole. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ebbtide::train {

// By tensor, as 16 hexadecimal digits.
using Digests = std::map<std::string, std::string>;

std::string digest_of(std::string_view text);

class TensorDigest {
 public:
  TensorDigest();
  ~TensorDigest();
  TensorDigest(const TensorDigest&) = delete;
  TensorDigest& operator=(const TensorDigest&) = delete;

  // The bytes of a tensor from `offset_bytes` on; those from 0 on begin a new tensor.
  // Requires that each block begins where the one before it ended.
  void add(std::uint64_t offset_bytes, std::span<const std::byte> bytes);
  // Of what was added since the last beginning.
  std::string digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::uint64_t end_bytes_ = 0;
};

}  // namespace ebbtide::train
