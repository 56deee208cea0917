// The PCI devices that data moves to and from: NVMe drives and NVIDIA's GPUs, as sysfs lists them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ebbtide::doctor {

enum class PciKind : std::uint8_t { kNvmeDrive, kGpu };

// Of a link, one direction.
struct PcieLink {
  double gigatransfers_per_s = 0;  // of a lane
  int lanes = 0;

  int generation() const;  // 1 to 6; 0: unknown
  double bytes_per_s() const;
  bool operator==(const PcieLink&) const = default;
};

struct PciDevice {
  std::string address;  // "0000:01:00.0"
  std::string name;     // "nvme0", or as the address
  PciKind kind = PciKind::kNvmeDrive;
  // Nothing where the system does not say, as in most virtual machines.
  std::optional<PcieLink> link;
  std::optional<PcieLink> best_link;
  int numa_node = -1;  // -1: not known
};

std::vector<PciDevice> pci_devices(const std::filesystem::path& root);

}  // namespace ebbtide::doctor
