// The same training in every way: bit for bit the same loss, gradient norm and weights.
//
// Without EBBTIDE_IDENTITY a covering selection of the matrix's cells runs. scripts/identity.sh
// runs all of them (thousands), or a share, over several processes: EBBTIDE_IDENTITY is "all" or
// how many of the shuffled cells to take, EBBTIDE_IDENTITY_SHARD "k/n" takes every n-th of these
// from the k-th on, and each cell that has run prints a line.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "tests/identity/cell.hpp"

namespace ebbtide::identity {
namespace {

std::uint64_t moved(const train::Recorder& run, Lane lane) {
  return run.summary.moved_bytes[index(lane)];
}
std::uint64_t device_peak(const train::Recorder& run) {
  return run.summary.touched_bytes[index(Tier::kDevice)];
}

// The cell really did what it is there for.
void expect_at_work(const Cell& cell, const train::Recorder& run, const train::Recorder& resident) {
  if (cell.mode == Mode::kKeep) return;
  EXPECT_LT(device_peak(run), device_peak(resident));
  EXPECT_GT(run.summary.poisoned_bytes, 0U);
  if (cell.mode == Mode::kRecompute) return;
  EXPECT_GT(moved(run, Lane::kD2h), moved(resident, Lane::kD2h));
  EXPECT_GT(moved(run, Lane::kH2d), moved(resident, Lane::kH2d));
  const bool to_disk = cell.mode == Mode::kNvme || cell.mode == Mode::kHostAndNvme;
  EXPECT_EQ(moved(run, Lane::kNvmeWrite) > 0, to_disk);
  EXPECT_EQ(moved(run, Lane::kNvmeRead) > 0, to_disk);
  if (cell.mode == Mode::kHostAndNvme) {  // some of it stayed on the host
    EXPECT_LT(moved(run, Lane::kNvmeWrite), moved(run, Lane::kD2h));
  }
}

std::size_t other_plans(Matrix& matrix, const Cell& cell, std::uint8_t Cell::*setting,
                        std::uint8_t choices) {
  std::set<std::uint64_t> plans;
  for (std::uint8_t choice = 0; choice < choices; ++choice) {
    Cell other = cell;
    other.*setting = choice;
    plans.insert(matrix.fingerprint_behind_slow_link(other));
  }
  return plans.size();
}

// The settings of the cell made a plan of their own.
void expect_plans_of_their_own(Matrix& matrix, const Cell& cell) {
  EXPECT_EQ(other_plans(matrix, cell, &Cell::prefetch, 3), 3U);
  // Nothing leaves, so that there is little to join.
  if (cell.mode == Mode::kKeep || cell.mode == Mode::kRecompute) return;
  EXPECT_GE(other_plans(matrix, cell, &Cell::bucket, 3), 2U);
}

const char* environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

std::vector<Cell> cells_to_run() {
  const std::string which = environment("EBBTIDE_IDENTITY");
  if (which.empty()) return covering();
  const std::vector<Cell> all = shuffled_product();
  const std::size_t share = which == "all" ? all.size() : std::stoul(which);
  std::size_t first = 0;
  std::size_t every = 1;
  const std::string shard = environment("EBBTIDE_IDENTITY_SHARD");
  if (!shard.empty()) {
    first = std::stoul(shard);
    every = std::stoul(shard.substr(shard.find('/') + 1));
  }
  std::vector<Cell> cells;
  for (std::size_t at = first; at < std::min(share, all.size()); at += every)
    cells.push_back(all[at]);
  return cells;
}

void tell(const Cell& cell) {
  if (*environment("EBBTIDE_IDENTITY") == '\0') return;
  fmt::print("cell {}: {}\n", testing::Test::HasFailure() ? "WRONG" : "right", describe(cell));
  std::fflush(stdout);
}

TEST(Identity, EveryWayOfRunningGivesTheSameBits) {
  const test::TemporaryDirectory directory;
  Matrix matrix(directory.path());
  const std::vector<Cell> cells = cells_to_run();
  ASSERT_FALSE(cells.empty());
  for (const Cell& cell : cells) {
    SCOPED_TRACE(describe(cell));
    const train::Recorder& resident = matrix.resident(cell);
    const train::Recorder run = matrix.run(cell);
    train::expect_same_steps(run.steps, resident.steps);
    expect_at_work(cell, run, resident);
    expect_plans_of_their_own(matrix, cell);
    tell(cell);
    if (testing::Test::HasFailure()) return;
  }
}

// More than 1 MiB waits to travel at once only here and there, where the device is tight.
TEST(Identity, BucketsOf64MiBMakeOtherPlansThanThoseOf1MiB) {
  const test::TemporaryDirectory directory;
  Matrix matrix(directory.path());
  const std::vector<Cell> cells = covering();
  EXPECT_TRUE(std::ranges::any_of(cells, [&matrix](const Cell& cell) {
    return cell.mode == Mode::kTightDevice && other_plans(matrix, cell, &Cell::bucket, 3) == 3;
  }));
}

TEST(Identity, TheShuffledProductHoldsEveryCellOnce) {
  std::set<std::array<std::uint8_t, kSettings>> cells;
  for (const Cell& cell : shuffled_product()) cells.insert(choices_of(cell));
  std::size_t all = 1;
  for (const std::uint8_t choices : kChoices) all *= choices;
  EXPECT_EQ(cells.size(), all);
  EXPECT_EQ(shuffled_product().size(), all);
}

TEST(Identity, TheCoveringSelectionHoldsEveryPairOfChoices) {
  std::set<std::tuple<std::size_t, std::size_t, int, int>> met;
  for (const Cell& cell : covering()) {
    const auto choices = choices_of(cell);
    for (std::size_t a = 0; a < kSettings; ++a)
      for (std::size_t b = a + 1; b < kSettings; ++b) met.insert({a, b, choices[a], choices[b]});
  }
  std::size_t all = 0;
  for (std::size_t a = 0; a < kSettings; ++a)
    for (std::size_t b = a + 1; b < kSettings; ++b) all += std::size_t{kChoices[a]} * kChoices[b];
  EXPECT_EQ(met.size(), all);
}

}  // namespace
}  // namespace ebbtide::identity
