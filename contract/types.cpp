#include "ebbtide/types.hpp"

namespace ebbtide {

std::string_view name(Tier tier) {
  constexpr PerTier<std::string_view> names{"device", "host", "nvme"};
  return names[index(tier)];
}

std::string_view name(Lane lane) {
  constexpr PerLane<std::string_view> names{"compute",   "d2h",          "h2d", "nvme_write",
                                            "nvme_read", "host_compute", "comm"};
  return names[index(lane)];
}

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "fp32";
    case DType::kBf16:
      return "bf16";
    case DType::kF64:
      return "fp64";
    case DType::kU32:
      return "uint32";
    case DType::kU8:
      return "uint8";
  }
  return "unknown";
}

}  // namespace ebbtide
