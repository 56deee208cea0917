#include <algorithm>

#include "src/model/new_file.hpp"
#include "src/model/safetensors_header.hpp"

namespace ebbtide::model {
namespace {

constexpr std::uint64_t kBlockBytes = 4 << 20;  // divides by every dtype's size

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const TensorSpec> tensors,
                       const TensorMetadata& metadata, const TensorSource& source) {
  const std::string header = make_header(tensors, metadata, path.string());
  NewFile file(path);
  file.append(std::as_bytes(std::span(header)));
  std::vector<std::byte> block(kBlockBytes);
  for (const TensorSpec& tensor : tensors) {
    const std::uint64_t bytes = tensor_bytes(tensor, path.string(), Errc::kBadUsage);
    for (std::uint64_t offset = 0; offset < bytes; offset += kBlockBytes) {
      const auto part = std::span(block).first(std::min(kBlockBytes, bytes - offset));
      source(tensor, offset, part);
      file.append(part);
    }
  }
  file.commit();
}

}  // namespace ebbtide::model
