// The same training in every way: bit for bit the same loss, gradient norm and weights.
// EBBTIDE_IDENTITY=all runs every cell of the matrix (thousands), else a covering selection.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string_view>

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

std::vector<Cell> cells_to_run() {
  const char* which = std::getenv("EBBTIDE_IDENTITY");
  return which != nullptr && std::string_view(which) == "all" ? product() : covering();
}

TEST(Identity, EveryWayOfRunningGivesTheSameBits) {
  const test::TemporaryDirectory directory;
  Matrix matrix(directory.path());
  for (const Cell& cell : cells_to_run()) {
    SCOPED_TRACE(describe(cell));
    const train::Recorder& resident = matrix.resident(cell);
    const train::Recorder run = matrix.run(cell);
    train::expect_same_steps(run.steps, resident.steps);
    expect_at_work(cell, run, resident);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Identity, EveryPrefetchDistanceAndBucketSizeIsAnotherPlan) {
  const test::TemporaryDirectory directory;
  Matrix matrix(directory.path());
  std::set<std::uint64_t> plans;
  for (std::uint8_t prefetch = 0; prefetch < 3; ++prefetch)
    for (std::uint8_t bucket = 0; bucket < 3; ++bucket)
      plans.insert(matrix.fingerprint_behind_slow_link(
          {.mode = Mode::kTightDevice, .prefetch = prefetch, .bucket = bucket}));
  EXPECT_EQ(plans.size(), 9U);
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
