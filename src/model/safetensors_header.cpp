#include "src/model/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace ebbtide::model {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

struct DTypeTraits {
  std::string_view name;
  std::uint64_t size_bytes;
};
constexpr std::array<DTypeTraits, 17> kTraits{{{"BOOL", 1},
                                               {"U8", 1},
                                               {"I8", 1},
                                               {"F8_E5M2", 1},
                                               {"F8_E4M3", 1},
                                               {"F8_E8M0", 1},
                                               {"I16", 2},
                                               {"U16", 2},
                                               {"F16", 2},
                                               {"BF16", 2},
                                               {"I32", 4},
                                               {"U32", 4},
                                               {"F32", 4},
                                               {"I64", 8},
                                               {"U64", 8},
                                               {"F64", 8},
                                               {"C64", 8}}};
static_assert(kTraits.size() == static_cast<std::size_t>(TensorDType::kC64) + 1);

std::string shown(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape)
    text += fmt::format("{}{}", text.size() > 1 ? ", " : "", size);
  return text + "]";
}

std::string range(const HeaderEntry& entry) {
  return fmt::format("'{}' [{}, {})", entry.name, entry.begin_bytes, entry.end_bytes);
}

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
  throw Error(Errc::kBadFile, fmt::format("{}: {}", path, problem));
}

void check_range(const HeaderEntry& entry, std::uint64_t data_bytes, const std::string& path) {
  const std::uint64_t bytes =
      tensor_bytes({entry.name, entry.dtype, entry.shape}, path, Errc::kBadFile);
  if (entry.end_bytes < entry.begin_bytes)
    fail(path, fmt::format("tensor {} ends before it begins", range(entry)));
  if (entry.end_bytes > data_bytes)
    fail(path,
         fmt::format("tensor {} ends past the file's {} bytes of data", range(entry), data_bytes));
  if (entry.end_bytes - entry.begin_bytes != bytes)
    fail(path, fmt::format("tensor {} holds {} bytes, but {} of shape {} needs {}", range(entry),
                           entry.end_bytes - entry.begin_bytes, name(entry.dtype),
                           shown(entry.shape), bytes));
}

void check_cover(const std::vector<HeaderEntry>& sorted, std::uint64_t data_bytes,
                 const std::string& path) {
  std::uint64_t covered = 0;
  const HeaderEntry* last = nullptr;
  for (const HeaderEntry& entry : sorted) {
    if (entry.begin_bytes < covered)
      fail(path, fmt::format("tensors {} and {} overlap", range(*last), range(entry)));
    if (entry.begin_bytes > covered)
      fail(path, fmt::format("bytes [{}, {}) before tensor {} belong to no tensor", covered,
                             entry.begin_bytes, range(entry)));
    covered = entry.end_bytes;
    last = &entry;
  }
  if (covered != data_bytes)
    fail(path, fmt::format("bytes [{}, {}) after {} belong to no tensor", covered, data_bytes,
                           last == nullptr ? "the header" : "tensor " + range(*last)));
}

void check_names(std::span<const TensorSpec> tensors, const std::string& path) {
  std::set<std::string_view> names;
  for (const TensorSpec& tensor : tensors) {
    const bool reserved = tensor.name == "__metadata__";
    if (reserved || !names.insert(tensor.name).second)
      throw Error(Errc::kBadUsage, fmt::format("{}: cannot write a tensor named '{}': {}", path,
                                               tensor.name, reserved ? "reserved" : "named twice"));
  }
}

}  // namespace

std::uint64_t size_bytes(TensorDType dtype) {
  return kTraits[static_cast<std::size_t>(dtype)].size_bytes;
}
std::string_view name(TensorDType dtype) {
  return kTraits[static_cast<std::size_t>(dtype)].name;
}

std::uint64_t tensor_bytes(const TensorSpec& tensor, const std::string& path, Errc blame) {
  std::uint64_t bytes = size_bytes(tensor.dtype);
  bool fits = tensor.shape.size() <= kMaxRank;
  for (const std::int64_t size : tensor.shape) {
    fits = fits && size >= 0 &&
           !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  }
  if (!fits || bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw Error(blame, fmt::format("{}: tensor '{}' cannot have the shape {}", path, tensor.name,
                                   shown(tensor.shape)));
  return bytes;
}

std::vector<TensorInfo> validate_entries(std::vector<HeaderEntry> entries,
                                         std::uint64_t data_offset_bytes, std::uint64_t data_bytes,
                                         const std::string& path) {
  for (const HeaderEntry& entry : entries) check_range(entry, data_bytes, path);
  std::ranges::sort(entries, {}, [](const HeaderEntry& entry) {
    return std::pair(entry.begin_bytes, entry.end_bytes);
  });
  check_cover(entries, data_bytes, path);
  std::vector<TensorInfo> tensors;
  tensors.reserve(entries.size());
  for (HeaderEntry& entry : entries) {
    tensors.push_back({std::move(entry.name), entry.dtype, std::move(entry.shape),
                       data_offset_bytes + entry.begin_bytes, entry.end_bytes - entry.begin_bytes});
  }
  return tensors;
}

std::string make_header(std::span<const TensorSpec> tensors, const TensorMetadata& metadata,
                        const std::string& path) {
  check_names(tensors, path);
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  std::string text;
  try {
    std::uint64_t offset = 0;
    // ordered_json looks keys up one by one, so the entries are joined as text.
    text = json.dump();
    text.pop_back();
    for (const TensorSpec& tensor : tensors) {
      const std::uint64_t end = offset + tensor_bytes(tensor, path, Errc::kBadUsage);
      const nlohmann::ordered_json entry{
          {"dtype", name(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
      if (text.size() > 1) text += ',';
      text += nlohmann::json(tensor.name).dump() + ':' + entry.dump();
      offset = end;
    }
    text += '}';
  } catch (const nlohmann::json::type_error&) {
    throw Error(Errc::kBadUsage, fmt::format("{}: a tensor's name is not UTF-8", path));
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kMaxHeaderBytes)
    throw Error(Errc::kBadUsage, fmt::format("{}: a header of {} bytes; a reader takes {}", path,
                                             text.size(), kMaxHeaderBytes));
  const auto length =
      std::bit_cast<std::array<char, kHeaderLengthBytes>>(static_cast<std::uint64_t>(text.size()));
  return std::string(length.data(), length.size()) + text;
}

}  // namespace ebbtide::model
