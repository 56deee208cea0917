#include "src/cli/bench_table.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "src/report/units.hpp"

namespace ebbtide::cli {
namespace {

using measure::DiskFigure;
using report::bytes_text;

// Three digits or more and a unit: "0.532 GB/s", "284 GFLOP/s".
std::string gigas(double per_s, std::string_view unit) {
  const double amount = per_s / 1e9;
  const int digits = amount >= 100 ? 0 : amount >= 10 ? 1 : amount >= 1 ? 2 : 3;
  return fmt::format("{:.{}f} {}", amount, digits, unit);
}
std::string bandwidth(double bytes_per_s) {
  return gigas(bytes_per_s, "GB/s");
}
std::string flop_rate(double flops_per_s) {
  return gigas(flops_per_s, "GFLOP/s");
}
std::string micros(double seconds) {
  const double amount = seconds * 1e6;
  return fmt::format("{:.{}f} us", amount, amount >= 100 ? 0 : amount >= 10 ? 1 : 2);
}

std::string efficiency_line(const hardware::Efficiency& efficiency, std::string_view of,
                            const std::string& half) {
  return fmt::format("  large ones reach {:.1f} % of {}; half of that at {}\n",
                     100 * efficiency.peak_fraction, of, half);
}

std::string op_rows(const measure::ComputeFigures& compute, OpClass op_class) {
  std::string text;
  for (const measure::OpFigure& figure : compute.ops) {
    if (figure.op_class != op_class) continue;
    const auto cell = [&](const measure::Timing& timing) {
      return op_class == OpClass::kElementwise ? bandwidth(timing.per_s())
                                               : flop_rate(timing.per_s());
    };
    text +=
        fmt::format("  {:<38}{:>15}{:>15}\n", figure.name, cell(figure.fp32), cell(figure.bf16));
  }
  return text;
}

std::string op_header(std::string_view title) {
  return fmt::format("\n{:<40}{:>15}{:>15}\n", title, "fp32", "bf16");
}

std::string compute_text(const measure::ComputeFigures& compute, const hardware::Device& device) {
  const auto half_flops = [](const hardware::Efficiency& efficiency) {
    return fmt::format("{:.3g} MFLOP", efficiency.half / 1e6);
  };
  std::string text = op_header("matmul, tokens x in -> out");
  text += op_rows(compute, OpClass::kMatmul);
  text +=
      fmt::format("  {:<38}{:>15}{:>15}\n", "the best, taken for the peak",
                  flop_rate(device.peak_fp32_flops_per_s), flop_rate(device.peak_bf16_flops_per_s));
  text += efficiency_line(device.matmul, "the peak", half_flops(device.matmul));
  text += op_header("attention, one pair of chunks") + op_rows(compute, OpClass::kAttention);
  text += efficiency_line(device.attention, "the peak", half_flops(device.attention));
  text += op_header("elementwise, tokens x width") + op_rows(compute, OpClass::kElementwise);
  text += efficiency_line(device.elementwise, "the memory's",
                          fmt::format("{:.3g} KiB", device.elementwise.half / 1024));
  return text + fmt::format("  {:<38}{:>15}\n", "overhead of an op", micros(compute.op_overhead_s));
}

std::string memory_text(const measure::MemoryFigures& memory) {
  const auto rate = [&](const measure::Timing& adamw) {
    return fmt::format(
        "{}, {}", bandwidth(adamw.per_s()),
        gigas(static_cast<double>(memory.adamw_parameters) / adamw.seconds, "G parameters/s"));
  };
  return fmt::format("\nmemory\n  {:<26}{}\n  {:<26}{}\n  {:<26}{}\n", "triad",
                     bandwidth(memory.triad_bytes_per_s), "AdamW, weights in fp32",
                     rate(memory.adamw_fp32), "AdamW, weights in bf16", rate(memory.adamw_bf16));
}

std::string copies_text(const measure::CopyFigures& copies) {
  std::string text = fmt::format("\n{:<14}{:>14}{:>14}{:>18}{:>18}\n", "copies", "d2h alone",
                                 "h2d alone", "d2h beside h2d", "h2d beside d2h");
  for (const measure::CopyFigure& size : copies.sizes)
    text +=
        fmt::format("  {:<12}{:>14}{:>14}{:>18}{:>18}\n", bytes_text(size.size_bytes),
                    bandwidth(size.d2h_bytes_per_s), bandwidth(size.h2d_bytes_per_s),
                    bandwidth(size.d2h_beside_bytes_per_s), bandwidth(size.h2d_beside_bytes_per_s));
  return text + fmt::format("  {:<12}{:>14}\n", "latency", micros(copies.latency_s));
}

std::string disk_text(const measure::DiskFigures& disk) {
  std::string text = "\nNVMe";
  for (const std::filesystem::path& path : disk.directories)
    text += fmt::format(" {}", path.string());
  text += fmt::format(": {} free{}; latency: median / 99 % of a block\n",
                      bytes_text(disk.capacity_bytes), disk.directories.size() > 1 ? " each" : "");
  text += fmt::format("  {:<9}{:>5} {:>34} {:>34} {:>28}\n", "block", "depth", "read", "write",
                      "mixed: read + write");
  const auto alone = [](const DiskFigure& figure) {
    return fmt::format("{:>11}{:>11} / {:<9}", bandwidth(figure.bytes_per_s),
                       micros(figure.median_s), micros(figure.p99_s));
  };
  for (const measure::DiskCell& cell : disk.cells)
    text += fmt::format("  {:<9}{:>5} {:>34} {:>34} {:>28}\n", bytes_text(cell.block_bytes),
                        cell.depth, alone(cell.read), alone(cell.write),
                        fmt::format("{} + {}", bandwidth(cell.mixed_read.bytes_per_s),
                                    bandwidth(cell.mixed_write.bytes_per_s)));
  text += fmt::format("  {} were written for this\n", bytes_text(disk.written_bytes));
  for (const std::string& warning : disk.warnings) text += fmt::format("  note: {}\n", warning);
  return text;
}

}  // namespace

std::string table_text(const measure::Figures& figures, const hardware::Machine& machine) {
  std::string text = fmt::format("{}, {} threads, {} of memory available, {}\n", figures.cpu_name,
                                 figures.threads, bytes_text(figures.memory_bytes), figures.date);
  text += compute_text(figures.compute, machine.device) + memory_text(figures.memory) +
          copies_text(figures.copies);
  return text + (figures.disk ? disk_text(*figures.disk)
                              : "\nNVMe: not measured; give --nvme-path DIR to measure it\n");
}

}  // namespace ebbtide::cli
