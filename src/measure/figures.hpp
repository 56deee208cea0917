// What was measured of a machine: plain data, in bytes, flops and seconds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ebbtide/hardware.hpp"

namespace ebbtide::measure {

struct Timing {
  double work = 0;  // flops, or bytes of elementwise ops
  double seconds = 0;

  double per_s() const { return work / seconds; }
};

// One op of one shape in both dtypes.
struct OpFigure {
  OpClass op_class = OpClass::kMatmul;
  std::string name;  // "1024 x 2048 -> 2048  dx"
  Timing fp32;
  Timing bf16;
};

struct ComputeFigures {
  std::vector<OpFigure> ops;  // of a class by the least work first
  double op_overhead_s = 0;   // of an op that has next to nothing to do
};

struct MemoryFigures {
  double triad_bytes_per_s = 0;
  std::int64_t adamw_parameters = 0;  // of one run
  Timing adamw_fp32;                  // bytes
  Timing adamw_bf16;

  // The most that was seen in memory that no cache holds.
  double best_bytes_per_s() const;
};

// Copies of one size, each way alone and both together.
struct CopyFigure {
  std::uint64_t size_bytes = 0;
  double d2h_bytes_per_s = 0;
  double h2d_bytes_per_s = 0;
  double d2h_beside_bytes_per_s = 0;  // while h2d copies too
  double h2d_beside_bytes_per_s = 0;
};
struct CopyFigures {
  std::vector<CopyFigure> sizes;  // ascending; the last is what large copies reach
  double latency_s = 0;
};

struct DiskFigure {
  double bytes_per_s = 0;
  double median_s = 0;  // of a block, from submission to completion
  double p99_s = 0;
};
// Blocks of one size with a number of them in flight; mixed is both directions at once, each with
// that many.
struct DiskCell {
  std::uint64_t block_bytes = 0;
  std::uint32_t depth = 0;
  DiskFigure read;
  DiskFigure write;
  DiskFigure mixed_read;
  DiskFigure mixed_write;
};
struct DiskFigures {
  std::vector<std::filesystem::path> directories;  // one a file system
  std::uint64_t capacity_bytes = 0;                // free there, on the fullest
  std::uint64_t written_bytes = 0;                 // by all of it, of the drives' lives
  std::vector<DiskCell> cells;
  std::vector<std::string> warnings;

  // Requires a cell of them.
  const DiskCell& cell(std::uint64_t block_bytes, std::uint32_t depth) const;
};

struct Figures {
  std::string cpu_name;
  std::string date;  // "2026-12-01"
  int threads = 0;
  std::uint64_t memory_bytes = 0;  // that this process can take
  ComputeFigures compute;
  MemoryFigures memory;
  CopyFigures copies;
  std::optional<DiskFigures> disk;
};

}  // namespace ebbtide::measure
