// The header of a safetensors file: parsing, validation, and making one.
#pragma once

#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <vector>

#include "ebbtide/error.hpp"
#include "src/model/safetensors.hpp"

namespace ebbtide::model {

inline constexpr std::uint64_t kHeaderLengthBytes = 8;

// What one entry of the header says; nothing is checked against anything yet.
struct HeaderEntry {
  std::string name;
  TensorDType dtype = TensorDType::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin_bytes = 0;  // from the start of the data
  std::uint64_t end_bytes = 0;
};
struct Header {
  std::vector<HeaderEntry> entries;
  TensorMetadata metadata;
};

// Throws Error(kBadFile); `path` is for messages.
Header parse_header(std::istream& json, const std::string& path);

// Entries in the order of their bytes, with offsets from the start of a file whose data starts at
// `data_offset_bytes`. Throws Error(kBadFile) unless they cover `data_bytes` exactly.
std::vector<TensorInfo> validate_entries(std::vector<HeaderEntry> entries,
                                         std::uint64_t data_offset_bytes, std::uint64_t data_bytes,
                                         const std::string& path);

// Bytes of shape x dtype. Throws Error(blame) naming the tensor if a size is negative, the rank is
// over kMaxRank, or the product does not fit 63 bits.
std::uint64_t tensor_bytes(const TensorSpec& tensor, const std::string& path, Errc blame);

// The length and the header, padded so that the data starts at a multiple of 8 bytes.
// Throws Error(kBadUsage) for what a reader would refuse.
std::string make_header(std::span<const TensorSpec> tensors, const TensorMetadata& metadata,
                        const std::string& path);

}  // namespace ebbtide::model
