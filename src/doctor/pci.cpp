#include "src/doctor/pci.hpp"

#include <array>
#include <charconv>
#include <cstdlib>

#include "src/doctor/system_files.hpp"

namespace ebbtide::doctor {
namespace {

namespace fs = std::filesystem;

// Gigatransfers a second of a lane, by generation.
constexpr std::array<double, 6> kSpeeds{2.5, 5, 8, 16, 32, 64};

// "16.0 GT/s PCIe" and "4"; "Unknown" and 0 where there is no link.
std::optional<PcieLink> link_of(const fs::path& device, const std::string& which) {
  const auto speed = first_line(device / (which + "_link_speed"));
  const auto width = first_line(device / (which + "_link_width"));
  if (!speed || !width) return std::nullopt;
  const PcieLink link{std::strtod(speed->c_str(), nullptr), std::atoi(width->c_str())};
  // A width of 255 stands for unknown.
  if (link.gigatransfers_per_s <= 0 || link.lanes <= 0 || link.lanes > 32) return std::nullopt;
  return link;
}

std::optional<PciKind> kind_of(const fs::path& device) {
  const std::string kind = first_line(device / "class").value_or("");
  const std::string vendor = first_line(device / "vendor").value_or("");
  if (kind.starts_with("0x0108")) return PciKind::kNvmeDrive;
  if (kind.starts_with("0x03") && vendor == "0x10de") return PciKind::kGpu;
  return std::nullopt;
}

std::string name_of(const fs::path& device) {
  const std::vector<std::string> names = names_in(device / "nvme");
  return names.empty() ? device.filename().string() : names.front();
}

}  // namespace

int PcieLink::generation() const {
  for (std::size_t at = 0; at < kSpeeds.size(); ++at)
    if (gigatransfers_per_s == kSpeeds[at]) return static_cast<int>(at) + 1;
  return 0;
}

// 8 of 10 bits are data before generation 3, then 128 of 130 (PCI Express base specification).
double PcieLink::bytes_per_s() const {
  const double data = gigatransfers_per_s < kSpeeds[2] ? 0.8 : 128.0 / 130.0;
  return gigatransfers_per_s * 1e9 * data / 8 * lanes;
}

std::vector<PciDevice> pci_devices(const fs::path& root) {
  const fs::path all = root / "sys/bus/pci/devices";
  std::vector<PciDevice> devices;
  for (const std::string& address : names_in(all)) {
    const fs::path device = all / address;
    const std::optional<PciKind> kind = kind_of(device);
    if (!kind) continue;
    devices.push_back(
        {.address = address,
         .name = name_of(device),
         .kind = *kind,
         .link = link_of(device, "current"),
         .best_link = link_of(device, "max"),
         .numa_node = std::atoi(first_line(device / "numa_node").value_or("-1").c_str())});
  }
  return devices;
}

}  // namespace ebbtide::doctor
