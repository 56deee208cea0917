// Whole runs whose transfers are late, of every size and at every distance: no bit changes.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "src/model/safetensors.hpp"
#include "tests/execute/delayed_disk.hpp"
#include "tests/execute/slow_device.hpp"
#include "tests/train/small_run.hpp"
#include "tiering/execute/seams.hpp"

namespace ebbtide::train {
namespace {

using namespace std::chrono_literals;
using model::ModelConfig;
constexpr std::size_t kLength = 80;

class LateTransfers : public testing::Test {
 protected:
  LateTransfers() { write_small_model(directory_.path(), ModelConfig::Embeddings::kUntied); }

  TrainOptions options(Where where) const { return small_options(directory_.path(), where); }
  // In so little device memory that every block is taken again as soon as it is free.
  TrainOptions tight(Where where) const {
    TrainOptions options = this->options(where);
    options.mode = RunMode::kDryRun;
    const std::uint64_t smallest = run(options).bill.smallest_device_bytes;
    options.mode = RunMode::kTrain;
    options.memory.device_bytes = align_up(smallest + smallest / 10, kDeviceAlignment);
    return options;
  }
  static Recorder run(const TrainOptions& options) {
    return train::run(options, std::make_unique<MadeSequences>(kLength));
  }
  // Every copy of these lanes begins late: an op needs a tenth of a millisecond.
  static void delay(TrainOptions& options, Lane lane, std::chrono::milliseconds by) {
    options.transfer.around_device = [=](std::unique_ptr<Device> device) {
      return std::make_unique<test::SlowDevice>(std::move(device), test::delay(lane, by));
    };
  }
  // Bytes of the largest weight, and of all.
  static constexpr std::uint64_t kLargestWeight = 256 * 64 * 4;
  static constexpr std::uint64_t kModel = 94'528 * 4;

  test::TemporaryDirectory directory_;
};

// FAULTS A1: a stored value, which other ops still read, is not freed under its store.
TEST_F(LateTransfers, OfStoresChangeNoBit) {
  TrainOptions resident = options(Where::kDevice);
  resident.run.steps = 6;
  const Recorder reference = run(resident);
  for (const Where where : {Where::kHost, Where::kNvme}) {
    TrainOptions late = tight(where);
    late.run.steps = 6;
    delay(late, Lane::kD2h, 4ms);
    const Recorder recorder = run(late);
    expect_same_steps(reference.steps, recorder.steps);
    EXPECT_GT(recorder.summary.poisoned_bytes, 0U);
  }
}

// FAULTS A2: fetched at the last moment, the first step has its own bytes, and not stale ones.
TEST_F(LateTransfers, OfStoresAreWaitedForByFetchesOfTheLastMoment) {
  TrainOptions resident = options(Where::kDevice);
  resident.run.steps = 1;
  const Recorder reference = run(resident);
  for (const Where where : {Where::kHost, Where::kNvme}) {
    TrainOptions late = tight(where);
    late.run.steps = 1;
    late.planning.prefetch_chunk_steps = 0;
    delay(late, Lane::kD2h, 20ms);
    expect_same_steps(reference.steps, run(late).steps);
  }
}

// FAULTS A5: a slot of the host arena is not refilled under the load that reads it.
TEST_F(LateTransfers, OfLoadsChangeNoBit) {
  const Recorder reference = run(options(Where::kDevice));
  TrainOptions late = tight(Where::kNvme);
  delay(late, Lane::kH2d, 4ms);
  expect_same_steps(reference.steps, run(late).steps);
}

// FAULTS D2: the embedding has 16,384 elements, a bucket 10,000 bytes.
TEST_F(LateTransfers, OfValuesLargerThanABucketChangeNoBit) {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    TrainOptions huge = tight(Where::kHost);
    huge.run.dtype = dtype;
    huge.planning.bucket_bytes = 10 * kModel;
    TrainOptions small = huge;
    small.planning.bucket_bytes = 10'000;
    const Recorder a = run(huge);
    const Recorder b = run(small);
    expect_same_steps(a.steps, b.steps);
    EXPECT_NE(a.facts.plan_fingerprint, b.facts.plan_fingerprint);
  }
}

// FAULTS D4: elsewhere the size of a bucket changed the numbers, and a small one made NaN.
TEST_F(LateTransfers, OfBucketsOfAnySizeChangeNoBit) {
  TrainOptions resident = options(Where::kDevice);
  resident.run.steps = 5;
  const Recorder reference = run(resident);
  for (const std::uint64_t bucket :
       {std::uint64_t{4}, std::uint64_t{1024}, kLargestWeight / 2, kModel, 10 * kModel}) {
    for (const Lane lane : {Lane::kD2h, Lane::kH2d}) {
      TrainOptions late = tight(Where::kHost);
      late.run.steps = 5;
      late.planning.bucket_bytes = bucket;
      delay(late, lane, 1ms);
      expect_same_steps(reference.steps, run(late).steps);
    }
  }
}

// FAULTS I3: a checkpoint waits for the writes of the step before it.
TEST_F(LateTransfers, OfWritesAreInTheCheckpoint) {
  TrainOptions resident = options(Where::kDevice);
  resident.run.steps = 6;
  resident.run.grad_accumulation = 2;
  const Recorder reference = run(resident);
  test::DelayedDisk disk(tiers::IoDirection::kWrite, {.delay = 5ms});
  EngineSeams seams;
  seams.io_faults = &disk;
  TrainOptions late = options(Where::kNvme);
  late.run = resident.run;
  late.transfer.seams = &seams;
  late.checkpoint = {.save = directory_ / "save", .save_every = 3};
  expect_same_steps(reference.steps, run(late).steps);
  EXPECT_GT(disk.hits(), 0);
  for (const Where where : kEverywhere) {
    TrainOptions rest = options(where);
    rest.run = resident.run;
    rest.checkpoint.resume = directory_ / "save" / "step-00000003";
    expect_same_steps({reference.steps.begin() + 3, reference.steps.end()}, run(rest).steps);
  }
}

}  // namespace
}  // namespace ebbtide::train
