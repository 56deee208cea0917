// GPUs and NVIDIA's driver.
#include <fmt/format.h>

#include "src/doctor/checks.hpp"
#include "src/doctor/pci.hpp"
#include "src/doctor/system_files.hpp"
#include "src/report/units.hpp"

namespace ebbtide::doctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMeaning =
    "this version computes on the CPU; a GPU is only planned for (ebbtide plan --hardware)";
constexpr const char* kInContainer =
    "in a container: start it with --gpus all (Docker, with nvidia-container-toolkit installed)";

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 ...": the word that
// begins with a digit and has a point.
std::string driver_version(const fs::path& root) {
  const auto line = first_line(root / "proc/driver/nvidia/version");
  for (const std::string& word : words_of(line.value_or("")))
    if (word.front() >= '0' && word.front() <= '9' && word.find('.') != std::string::npos)
      return word;
  return "of unknown version";
}

Finding finding(Verdict verdict, std::string found, std::string remedy = {}) {
  return {"gpu", "GPU", verdict, std::move(found), kMeaning, std::move(remedy)};
}

// What cannot be looked at is not there for a run either.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string devices_text(const CudaProbe& probe) {
  std::string text;
  for (const CudaDevice& device : probe.devices)
    text += fmt::format("{}{}, {}", text.empty() ? "" : "; ", device.name,
                        report::bytes_text(device.memory_bytes));
  return text;
}

// The driver's kernel module is there.
Finding with_driver(const System& system, const std::string& driver) {
  if (!is_there(system.root() / "dev/nvidiactl"))
    return finding(Verdict::kCouldBeBetter, fmt::format("driver {}, but no /dev/nvidiactl", driver),
                   fmt::format("sudo modprobe nvidia && nvidia-smi; {}", kInContainer));
  const CudaProbe probe = system.cuda();
  if (probe.library == CudaProbe::Library::kMissing)
    return finding(Verdict::kCouldBeBetter,
                   fmt::format("driver {}, but no libcuda.so.1: {}", driver, probe.why_not),
                   fmt::format("sudo apt install libcuda1; {}", kInContainer));
  if (probe.library == CudaProbe::Library::kFailed)
    return finding(Verdict::kCouldBeBetter,
                   fmt::format("driver {}, but CUDA does not start: {}", driver, probe.why_not),
                   "nvidia-smi says more; after an update of the driver, reboot");
  if (probe.devices.empty())
    return finding(Verdict::kCouldBeBetter, fmt::format("driver {} shows no device", driver),
                   "unset CUDA_VISIBLE_DEVICES; nvidia-smi -L lists what there is");
  return finding(Verdict::kGood,
                 fmt::format("{}; driver {}, CUDA {}.{}", devices_text(probe), driver,
                             probe.driver_version / 1000, probe.driver_version % 1000 / 10));
}

}  // namespace

Findings check_gpu(const System& system) {
  const fs::path root = system.root();
  if (is_there(root / "proc/driver/nvidia/version"))
    return {with_driver(system, driver_version(root))};
  std::string cards;
  for (const PciDevice& device : pci_devices(root))
    if (device.kind == PciKind::kGpu)
      cards += fmt::format("{}{}", cards.empty() ? "" : ", ", device.address);
  if (cards.empty()) return {finding(Verdict::kNotHere, "no NVIDIA GPU, no driver")};
  return {finding(Verdict::kCouldBeBetter,
                  fmt::format("NVIDIA GPU at {}, but no driver is loaded", cards),
                  "sudo apt install nvidia-driver (Debian, non-free) and reboot")};
}

}  // namespace ebbtide::doctor
