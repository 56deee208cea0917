#include "src/measure/machine_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "ebbtide/error.hpp"
#include "src/measure/disk.hpp"
#include "src/measure/fit.hpp"

namespace ebbtide::measure {
namespace {

// What `train` leaves free of memory that no budget was given for.
constexpr std::uint64_t kMarginShare = 16;
// What one AdamW op counts a parameter in a step's program.
constexpr double kUpdateFlops = 16;
// Of an op's seconds the dispatch is taken off, but never more than this part: the two were timed
// apart, and a small op's own time is uncertain by as much.
constexpr double kMostOverhead = 0.9;

double peak_product(const ComputeFigures& compute, Timing OpFigure::*dtype) {
  double best = 0;
  for (const OpFigure& figure : compute.ops)
    if (figure.op_class == OpClass::kMatmul) best = std::max(best, (figure.*dtype).per_s());
  return best;
}

// Four digits: what a timing is worth at most. No order of two figures is turned by it.
double rounded(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

class MachineBuilder {
 public:
  explicit MachineBuilder(const Figures& figures)
      : figures_(figures),
        by_(fmt::format("measured by ebbtide bench {} on {}, {} threads", figures.date,
                        figures.cpu_name, figures.threads)) {}

  MeasuredMachine build() {
    set_names();
    set_device();
    set_link();
    set_host();
    if (figures_.disk)
      set_disk(*figures_.disk);
    else
      set_no_disk();
    return std::move(result_);
  }

 private:
  template <typename T>
  void set(const std::string& key, T& target, const T& value, const std::string& how) {
    if constexpr (std::is_same_v<T, double>)
      target = rounded(value);
    else
      target = value;
    result_.sources[key] = how.empty() ? by_ : fmt::format("{}: {}", by_, how);
  }

  void set_names();
  void set_device();
  void set_efficiency(const std::string& key, hardware::Efficiency& target, OpClass op_class);
  void set_link();
  void set_host();
  void set_disk(const DiskFigures& disk);
  void set_no_disk();
  std::vector<Speed> speeds(OpClass op_class) const;
  std::uint64_t half_of_memory() const {
    const std::uint64_t usable = figures_.memory_bytes - figures_.memory_bytes / kMarginShare;
    return std::max(kPageAlignment, usable / 2 / kPageAlignment * kPageAlignment);
  }

  const Figures& figures_;
  const std::string by_;
  MeasuredMachine result_;
};

void MachineBuilder::set_names() {
  hardware::Machine& machine = result_.machine;
  set("name", machine.name, fmt::format("{}, {} threads", figures_.cpu_name, figures_.threads), "");
  set("ranks_per_node", machine.ranks_per_node, std::uint64_t{1}, "the CPU is one device");
  set("device.name", machine.device.name, figures_.cpu_name, "");
  set("peer.path", machine.peer.path, PeerPath::kThroughHost, "there is one device");
}

void MachineBuilder::set_device() {
  hardware::Device& device = result_.machine.device;
  const ComputeFigures& compute = figures_.compute;
  set("device.memory", device.memory_bytes, half_of_memory(),
      "half of what this process can take, less a margin; the rest is host.memory");
  set("device.memory_bandwidth", device.memory_bytes_per_s, figures_.memory.best_bytes_per_s(),
      "the best of triad and AdamW, not what the memory is rated for");
  set("device.op_overhead", device.op_overhead_s, compute.op_overhead_s, "an add of 16 numbers");
  const std::string best = "the best product of our own kernels, not what the CPU is rated for";
  set("device.peak.bf16", device.peak_bf16_flops_per_s, peak_product(compute, &OpFigure::bf16),
      best);
  set("device.peak.fp32", device.peak_fp32_flops_per_s, peak_product(compute, &OpFigure::fp32),
      best);
  set_efficiency("device.efficiency.matmul", device.matmul, OpClass::kMatmul);
  set_efficiency("device.efficiency.attention", device.attention, OpClass::kAttention);
  set_efficiency("device.efficiency.elementwise", device.elementwise, OpClass::kElementwise);
}

void MachineBuilder::set_efficiency(const std::string& key, hardware::Efficiency& target,
                                    OpClass op_class) {
  const std::vector<Speed> all = speeds(op_class);
  const std::string how = fmt::format("fitted on {} timings of fp32 and bf16", all.size());
  const hardware::Efficiency fitted = fit_efficiency(all);
  set(key + ".peak_fraction", target.peak_fraction, fitted.peak_fraction, how);
  set(key + ".half", target.half, fitted.half, how);
}

// Both dtypes', each against its own peak: the file has one efficiency for them. Elementwise ops
// that were faster than memory ran from a cache, which the file has no figure for: with them the
// fit would promise large ops what only small ones get. They count only where there are no others.
std::vector<Speed> MachineBuilder::speeds(OpClass op_class) const {
  const hardware::Device& device = result_.machine.device;
  const bool moves_bytes = op_class == OpClass::kElementwise;
  std::vector<Speed> all;
  const auto take = [&](const Timing& timing, double peak_flops_per_s) {
    const double peak = moves_bytes ? device.memory_bytes_per_s : peak_flops_per_s;
    const double overhead_s = std::min(device.op_overhead_s, kMostOverhead * timing.seconds);
    all.push_back({timing.work, timing.work / (timing.seconds - overhead_s) / peak});
  };
  for (const OpFigure& figure : figures_.compute.ops) {
    if (figure.op_class != op_class) continue;
    take(figure.fp32, device.peak_fp32_flops_per_s);
    take(figure.bf16, device.peak_bf16_flops_per_s);
  }
  const auto from_cache = [](const Speed& speed) { return speed.of_peak > 1; };
  if (moves_bytes && !std::ranges::all_of(all, from_cache)) std::erase_if(all, from_cache);
  return all;
}

// The slower direction stands for both. Two rates that were measured one after the other may come
// out in the wrong order; the file's never do.
void MachineBuilder::set_link() {
  hardware::Link& link = result_.machine.link;
  const CopyFigure& large = figures_.copies.sizes.back();
  const double alone = std::min(large.d2h_bytes_per_s, large.h2d_bytes_per_s);
  const double beside = std::min(large.d2h_beside_bytes_per_s, large.h2d_beside_bytes_per_s);
  const std::string how =
      fmt::format("copies of {} MiB between arenas, the slower direction", large.size_bytes >> 20);
  set("link.alone", link.alone_bytes_per_s, alone, how);
  set("link.both_ways", link.both_ways_bytes_per_s, std::min(alone, beside), how);
  set("link.all_cards", link.all_cards_bytes_per_s, std::min(alone, beside), "there is one device");
  set("link.latency", link.latency_s, figures_.copies.latency_s,
      "a copy of 64 bytes by a lane that slept");
}

void MachineBuilder::set_host() {
  hardware::Host& host = result_.machine.host;
  const MemoryFigures& memory = figures_.memory;
  set("host.memory", host.memory_bytes, half_of_memory(), "see device.memory");
  set("host.memory_bandwidth", host.memory_bytes_per_s, memory.best_bytes_per_s(),
      "the best of triad and AdamW");
  const double parameters = static_cast<double>(memory.adamw_parameters);
  set("host.fp32", host.flops_per_s, kUpdateFlops * parameters / memory.adamw_fp32.seconds,
      fmt::format("AdamW, {} flops a parameter: what the host computes is that", kUpdateFlops));
}

void MachineBuilder::set_disk(const DiskFigures& disk) {
  hardware::Nvme& nvme = result_.machine.nvme;
  const auto drives = static_cast<double>(disk.directories.size());
  const DiskCell& usual = disk.cell(kUsualBlockBytes, kUsualDepth);
  const DiskCell& smallest = disk.cell(kSmallestBlockBytes, 1);
  const auto how = [&](const DiskFigure& mixed) {
    return fmt::format("1 MiB blocks, {} in flight, alone; {:.3g} GB/s while the other runs too",
                       kUsualDepth, mixed.bytes_per_s / drives / 1e9);
  };
  set("nvme.drives", nvme.drives, std::uint64_t{disk.directories.size()},
      "file systems of --nvme-path");
  set("nvme.capacity", nvme.capacity_bytes, std::max(kPageAlignment, disk.capacity_bytes),
      "free bytes then");
  set("nvme.read", nvme.read_bytes_per_s, usual.read.bytes_per_s / drives, how(usual.mixed_read));
  set("nvme.write", nvme.write_bytes_per_s, usual.write.bytes_per_s / drives,
      how(usual.mixed_write));
  const std::string latency = "reads of 4 KiB, one at a time";
  set("nvme.latency", nvme.latency_s, smallest.read.median_s, latency);
  set("nvme.latency_p99", nvme.latency_p99_s, smallest.read.p99_s, latency);
}

void MachineBuilder::set_no_disk() {
  hardware::Nvme& nvme = result_.machine.nvme;
  const HardwareModel generic = generic_cpu_hardware();
  nvme = {.drives = 1,
          .capacity_bytes = kPageAlignment,
          .read_bytes_per_s = generic.nvme_read.bytes_per_s,
          .write_bytes_per_s = generic.nvme_write.bytes_per_s,
          .latency_s = generic.nvme_read.latency_s,
          .latency_p99_s = generic.nvme_read.latency_s};
  for (const char* key : {"drives", "read", "write", "latency", "latency_p99"})
    result_.sources[fmt::format("nvme.{}", key)] =
        "estimate, not measured: ebbtide bench was given no --nvme-path";
  result_.sources["nvme.capacity"] = "the least there can be, so that no plan uses it";
}

}  // namespace

MeasuredMachine machine_of(const Figures& figures) {
  EBBTIDE_CHECK(!figures.copies.sizes.empty(), "no copies");
  return MachineBuilder(figures).build();
}

}  // namespace ebbtide::measure
