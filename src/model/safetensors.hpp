// Weights in a safetensors file: u64 header length, JSON header, tensor bytes; all little-endian.
// (huggingface/safetensors, README "Format".)
//
// A file is untrusted. Opening it validates everything before any tensor is read: the header's
// length (at most 100 MB, and within the file), its JSON (shallow, no key twice), and that the
// tensors' ranges equal shape x dtype and cover the data exactly, without overlap or hole. The
// header is parsed as it is read, so a bad one costs no memory. What the reader would refuse, the
// writer refuses to write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ebbtide::model {

// Every dtype of whole bytes; the 4- and 6-bit ones are refused as unknown.
enum class TensorDType : std::uint8_t {
  kBool,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kI16,
  kU16,
  kF16,
  kBf16,
  kI32,
  kU32,
  kF32,
  kI64,
  kU64,
  kF64,
  kC64,
};
std::uint64_t size_bytes(TensorDType dtype);
std::string_view name(TensorDType dtype);  // as in the header: "BF16"

struct TensorSpec {
  std::string name;
  TensorDType dtype = TensorDType::kF32;
  std::vector<std::int64_t> shape;
};

struct TensorInfo {
  std::string name;
  TensorDType dtype = TensorDType::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t offset_bytes = 0;  // from the start of the file
  std::uint64_t size_bytes = 0;

  std::uint64_t count() const { return size_bytes / model::size_bytes(dtype); }
};

inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // as the reference implementation
inline constexpr std::size_t kMaxRank = 32;
using TensorMetadata = std::map<std::string, std::string>;

// Reading is thread-safe.
class SafetensorsFile {
 public:
  // Throws Error: kBadFile naming the tensors at fault, or the errno of the file.
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&& other) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&& other) noexcept;

  // In the order of their bytes.
  std::span<const TensorInfo> tensors() const { return tensors_; }
  const TensorInfo* find(std::string_view name) const;  // null if there is none
  const TensorMetadata& metadata() const { return metadata_; }

  // Bytes [offset_bytes, offset_bytes + out.size()) of a tensor, as they are in the file.
  // Throws Error(kBadFile) if there is no such tensor, or the file has shrunk.
  // Requires a range inside the tensor.
  void read(std::string_view name, std::uint64_t offset_bytes, std::span<std::byte> out) const;
  // Elements [first, first + out.size()) as fp32. Throws Error(kBadFile) unless F32 or BF16.
  void read_floats(std::string_view name, std::uint64_t first, std::span<float> out) const;

 private:
  const TensorInfo& need(std::string_view name) const;
  void read_at(const TensorInfo& tensor, std::uint64_t offset_bytes,
               std::span<std::byte> out) const;

  std::string path_;
  int fd_ = -1;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  TensorMetadata metadata_;
};

// Fills `out` with bytes [offset_bytes, offset_bytes + out.size()) of a tensor.
using TensorSource =
    std::function<void(const TensorSpec& tensor, std::uint64_t offset_bytes, std::span<std::byte>)>;

// Writes the tensors in the given order, asking `source` for one block after another. The file
// appears under its name when it is complete and synced; until then, and if the writer dies, it is
// "<path>.partial". `metadata` {"format": "pt"} is what transformers asks for.
// Throws Error: kBadUsage for what a reader would refuse, or an errno. Blocks until synced.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorSpec> tensors,
                       const TensorMetadata& metadata, const TensorSource& source);

}  // namespace ebbtide::model
