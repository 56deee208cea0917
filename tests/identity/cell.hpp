// One cell of the bit-identity matrix: a way to run the same training.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/train/small_run.hpp"

namespace ebbtide::identity {

// Where saved activations go, or whether they are made again.
enum class Mode : std::uint8_t {
  kKeep,
  kHost,
  kNvme,
  kHostAndNvme,
  kRecompute,
  kQuarter,
  kHalf,
  kThreeQuarters,
  kTightDevice,  // what does not fit a device budget near the smallest leaves
};
inline constexpr std::size_t kModes = 9;

// Indices into the values of each setting.
struct Cell {
  Mode mode = Mode::kKeep;
  std::uint8_t dtype = 0;         // fp32, bf16
  std::uint8_t prefetch = 1;      // 0, 1, 4 chunk-steps
  std::uint8_t bucket = 1;        // one value, 1 MiB, 64 MiB
  std::uint8_t group = 0;         // 1, 2, 4
  std::uint8_t threads = 0;       // 1, 2, 4
  std::uint8_t chunk = 0;         // divides the sequence, does not
  std::uint8_t accumulation = 0;  // 1, 3
};

inline constexpr std::size_t kSettings = 8;
inline constexpr std::array<std::uint8_t, kSettings> kChoices{kModes, 2, 3, 3, 3, 3, 2, 2};
std::array<std::uint8_t, kSettings> choices_of(const Cell& cell);
Cell make_cell(const std::array<std::uint8_t, kSettings>& choices);

// Every cell.
std::vector<Cell> product();
// The same in an order that is random but always the same, so that any share is a fair sample.
std::vector<Cell> shuffled_product();
// Cells in which every two choices of two settings meet at least once; the same at every call.
std::vector<Cell> covering();

std::string describe(const Cell& cell);

// 2 layers, H 128, Q 4, G 2, D 32, F 352, V 256; 1000 tokens, 2 steps; freed blocks are poisoned.
class Matrix {
 public:
  explicit Matrix(const std::filesystem::path& directory);

  const train::Recorder& resident(const Cell& cell);  // the all-resident run that it must equal
  train::Recorder run(const Cell& cell);
  // Of the plan for a link so slow that transfers queue up and buckets fill.
  std::uint64_t fingerprint_behind_slow_link(const Cell& cell);

 private:
  train::TrainOptions options(const Cell& cell) const;
  std::uint64_t host_bytes_to_spill(const Cell& cell);

  std::filesystem::path directory_;
  std::array<std::unique_ptr<train::Recorder>, 8> resident_;
  std::array<std::uint64_t, 8> host_peak_{};
  std::map<std::array<std::uint8_t, kSettings>, std::uint64_t> fingerprints_;
};

}  // namespace ebbtide::identity
