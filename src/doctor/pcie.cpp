// PCIe links of drives and GPUs.
#include <fmt/format.h>

#include "src/doctor/checks.hpp"
#include "src/doctor/pci.hpp"

namespace ebbtide::doctor {
namespace {

std::string text_of(const PcieLink& link) {
  const int generation = link.generation();
  return fmt::format("PCIe {} x{}, {:.1f} GB/s each way at most",
                     generation > 0 ? fmt::format("{}.0", generation)
                                    : fmt::format("of {} GT/s", link.gigatransfers_per_s),
                     link.lanes, link.bytes_per_s() / 1e9);
}

std::string subject_of(const PciDevice& device) {
  const std::string_view kind = device.kind == PciKind::kGpu ? "GPU" : "drive";
  return fmt::format("PCIe link of {} {}", kind, device.name);
}

std::string meaning_of(const PciDevice& device) {
  return device.kind == PciKind::kGpu ? "all that is offloaded crosses this link, both ways"
                                      : "reads and writes of swap files are no faster than this";
}

// A GPU that idles runs its link slowly to save power; lanes that are missing stay missing.
Finding finding(const PciDevice& device) {
  const PcieLink& now = *device.link;
  const PcieLink& best = *device.best_link;
  Finding result{"pcie", subject_of(device), Verdict::kGood, text_of(now), meaning_of(device)};
  const bool is_narrow = now.lanes < best.lanes;
  const bool is_slow = now.gigatransfers_per_s < best.gigatransfers_per_s;
  if (!is_narrow && !is_slow) return result;
  result.found += fmt::format("; the device can do {}", text_of(best));
  if (!is_narrow && device.kind == PciKind::kGpu) {
    result.found += " (slower while it idles)";
    return result;
  }
  result.verdict = Verdict::kCouldBeBetter;
  result.remedy = fmt::format(
      "move it to a slot with {} lanes of PCIe {}.0 wired to the CPU, or set the slot's speed and "
      "bifurcation in the firmware; sudo lspci -vv -s {} shows LnkCap and LnkSta",
      best.lanes, best.generation(), device.address);
  return result;
}

}  // namespace

Findings check_pcie(const System& system) {
  Findings findings;
  for (const PciDevice& device : pci_devices(system.root()))
    if (device.link && device.best_link) findings.push_back(finding(device));
  if (findings.empty())
    findings.push_back({"pcie", "PCIe links", Verdict::kNotHere,
                        "no NVMe drive or NVIDIA GPU tells its PCIe link here",
                        "in a virtual machine the host knows; ebbtide bench measures what comes "
                        "through"});
  return findings;
}

}  // namespace ebbtide::doctor
