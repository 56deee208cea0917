// Whole runs of a small model: what must not change with tiers, accumulation, masks and shapes.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "ebbtide/error.hpp"
#include "src/model/safetensors.hpp"
#include "src/train/checkpoint_directory.hpp"
#include "tests/train/small_run.hpp"

namespace ebbtide::train {
namespace {

using model::ModelConfig;
constexpr std::size_t kLength = 80;

class TrainRun : public testing::Test {
 protected:
  explicit TrainRun(ModelConfig::Embeddings embeddings = ModelConfig::Embeddings::kUntied) {
    write_small_model(directory_.path(), embeddings);
  }
  TrainOptions options(Where where) const { return small_options(directory_.path(), where); }
  static std::unique_ptr<SequenceSource> made() { return std::make_unique<MadeSequences>(kLength); }

  test::TemporaryDirectory directory_;
};

struct TiedTrainRun : TrainRun {
  TiedTrainRun() : TrainRun(ModelConfig::Embeddings::kTied) {}
};

void expect_bytes_moved(const Recorder& recorder, Where where) {
  for (const report::StepReport& step : recorder.steps) {
    if (where == Where::kDevice) continue;
    EXPECT_GT(step.offloaded_bytes, 0U);
    if (where == Where::kHost) continue;
    EXPECT_GT(step.nvme_bytes_written, 0U);
    EXPECT_GT(step.nvme_bytes_read, 0U);
  }
}

TEST_F(TrainRun, GivesTheSameBitsOnEveryTier) {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    TrainOptions resident = options(Where::kDevice);
    resident.run.dtype = dtype;
    const Recorder reference = run(resident, made());
    EXPECT_LT(reference.summary.last_loss, reference.summary.first_loss);
    for (const Where where : {Where::kHost, Where::kNvme}) {
      TrainOptions moved = options(where);
      moved.run.dtype = dtype;
      const Recorder tiered = run(moved, made());
      expect_same_steps(reference.steps, tiered.steps);
      expect_bytes_moved(tiered, where);
      EXPECT_LT(tiered.summary.touched_bytes[index(Tier::kDevice)],
                reference.summary.touched_bytes[index(Tier::kDevice)]);
    }
  }
}

TEST_F(TrainRun, GivesTheSameBitsUnderTheSmallestBudgetThatTheBillNames) {
  const Recorder reference = run(options(Where::kDevice), made());
  TrainOptions tight = options(Where::kHost);
  tight.planning.activations = model::ActivationMode::kAuto;
  tight.mode = RunMode::kDryRun;
  tight.memory.device_bytes = run(tight, made()).bill.smallest_device_bytes;
  tight.mode = RunMode::kTrain;
  const Recorder tiered = run(tight, made());
  expect_same_steps(reference.steps, tiered.steps);
  EXPECT_LE(tiered.summary.touched_bytes[index(Tier::kDevice)], *tight.memory.device_bytes);
}

TEST_F(TrainRun, PlansThePeaksThatTheEngineThenTouches) {
  for (const Where where : kEverywhere) {
    const RunSummary summary = run(options(where), made()).summary;
    // The engine saw the last byte, the plan the end of the block around it.
    for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme})
      EXPECT_EQ(summary.planned_peak_bytes[index(tier)],
                extent(summary.touched_bytes[index(tier)], tier));
  }
}

// Weights of more than 4 MiB are read back in parts to be hashed, and are checked like all else.
TEST_F(TrainRun, ChecksEverythingThatComesBackFromDisk) {
  ModelConfig config = small_config(ModelConfig::Embeddings::kUntied);
  config.layers = 1;
  config.hidden = 1024;
  config.ffn = 1100;
  std::ofstream(directory_ / "config.json") << model::write_config(config, DType::kF32);
  TrainOptions checked = options(Where::kNvme);
  checked.run.steps = 2;
  checked.memory.nvme_bytes = std::uint64_t{512} << 20;
  checked.transfer.offload_check = OffloadCheck::kChecksum;
  const RunSummary summary = run(checked, made()).summary;
  EXPECT_GT(summary.checked_bytes, summary.moved_bytes[index(Lane::kNvmeRead)]);
  EXPECT_EQ(summary.unchecked_bytes, 0U);
}

// FAULTS C1: several backward passes a step, of which each must count.
TEST_F(TrainRun, AccumulatesWhatOneBatchOfAllGivesOnEveryTier) {
  std::vector<report::StepReport> reference;
  for (const Where where : kEverywhere) {
    TrainOptions accumulated = options(where);
    accumulated.run.grad_accumulation = 4;
    TrainOptions batched = options(where);
    batched.run.batch_size = 4;
    const Recorder steps = run(accumulated, made());
    expect_same_steps(steps.steps, run(batched, made()).steps);
    if (reference.empty()) reference = steps.steps;
    expect_same_steps(reference, steps.steps);
    EXPECT_EQ(steps.steps.front().tokens, 4 * static_cast<std::int64_t>(kLength));
  }
}

// The mean over the tokens of four sequences is the mean of their means, as all are as long.
TEST_F(TrainRun, CountsEachMicroStepOnce) {
  TrainOptions four = options(Where::kHost);
  four.run.grad_accumulation = 4;
  four.run.steps = 1;
  const double together = run(four, made()).steps.front().loss;
  double apart = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    TrainOptions one = options(Where::kHost);
    one.run.steps = 1;
    std::vector<Sequence> only{made_sequence(i, kLength)};
    apart += run(one, std::make_unique<ListedSequences>(only)).steps.front().loss / 4;
  }
  EXPECT_NEAR(together, apart, 1e-9 * apart);
}

// Four copies of one sequence have the gradient of one; a dropped or doubled one has not.
TEST_F(TrainRun, HasTheNormOfTheMeanGradientAtEveryStep) {
  const std::vector<Sequence> same{made_sequence(3, kLength)};
  for (const Where where : kEverywhere) {
    TrainOptions one = options(where);
    one.optimizer.grad_clip = 0.5;
    TrainOptions four = one;
    four.run.grad_accumulation = 4;
    const Recorder a = run(one, std::make_unique<ListedSequences>(same));
    const Recorder b = run(four, std::make_unique<ListedSequences>(same));
    for (std::size_t i = 0; i < 2; ++i)  // FAULTS C2: the counter differed between steps 1 and 2
      EXPECT_NEAR(a.steps[i].grad_norm, b.steps[i].grad_norm, 1e-4 * a.steps[i].grad_norm);
  }
}

Sequence masked(Sequence sequence) {
  sequence.targets.assign(sequence.targets.size(), kernels::kIgnoredTarget);
  return sequence;
}

// FAULTS C4: a micro-step without targets adds nothing to loss, gradient or their divisor.
TEST_F(TrainRun, TakesNothingFromAMaskedMicroStep) {
  const Sequence real = made_sequence(1, kLength);
  for (const Where where : kEverywhere) {
    for (const std::int64_t chunk : {16, 80}) {
      TrainOptions one = options(where);
      one.planning.chunk_tokens = chunk;
      one.run.steps = 1;
      TrainOptions two = one;
      two.run.grad_accumulation = 2;
      const Recorder alone = run(one, std::make_unique<ListedSequences>(std::vector{real}));
      const Recorder with_masked =
          run(two, std::make_unique<ListedSequences>(std::vector{real, masked(real)}));
      expect_same_steps(alone.steps, with_masked.steps);
    }
  }
}

// FAULTS C4: 0/0 must not reach the weights; AdamW's count and moments stay too.
TEST_F(TrainRun, SkipsTheUpdateOfAStepWithoutTargets) {
  const Sequence first = made_sequence(1, kLength);
  const Sequence second = made_sequence(2, kLength);
  TrainOptions three = options(Where::kNvme);
  three.run.steps = 3;
  const Recorder skipped =
      run(three, std::make_unique<ListedSequences>(std::vector{first, masked(first), second}));
  EXPECT_EQ(skipped.steps[1].loss, 0);
  EXPECT_EQ(skipped.steps[1].weights_xxh3, skipped.steps[0].weights_xxh3);
  TrainOptions two = options(Where::kNvme);
  two.run.steps = 2;
  const Recorder plain = run(two, std::make_unique<ListedSequences>(std::vector{first, second}));
  EXPECT_EQ(skipped.steps[2].weights_xxh3, plain.steps[1].weights_xxh3);
}

// FAULTS H1: a shorter sequence has a plan of its own; what follows is as if it fitted everywhere.
TEST_F(TrainRun, TakesShorterSequencesInBetween) {
  const std::vector<Sequence> lengths{made_sequence(1, kLength), made_sequence(2, kLength),
                                      made_sequence(3, 33), made_sequence(4, 1),
                                      made_sequence(5, kLength)};
  for (const std::int64_t prefetch : {0, 1, 2, 7}) {
    std::vector<report::StepReport> reference;
    for (const Where where : kEverywhere) {
      TrainOptions mixed = options(where);
      mixed.run.steps = 5;
      mixed.planning.prefetch_chunk_steps = prefetch;
      const Recorder recorder = run(mixed, std::make_unique<ListedSequences>(lengths));
      if (reference.empty()) reference = recorder.steps;
      expect_same_steps(reference, recorder.steps);
      EXPECT_EQ(recorder.steps[2].tokens, 33);
      EXPECT_EQ(recorder.steps[4].peak_bytes, recorder.steps[1].peak_bytes);
    }
  }
}

TEST_F(TrainRun, TakesAShorterSequenceAsARunOfThatLengthWould) {
  const Sequence before = made_sequence(1, kLength);
  const std::vector<Sequence> cut{made_sequence(2, 33)};
  for (const Where where : kEverywhere) {
    TrainOptions still = options(where);
    still.run.steps = 2;
    still.optimizer.learning_rate = 0;
    const Recorder mixed =
        run(still, std::make_unique<ListedSequences>(std::vector{before, cut.front()}));
    still.run.seq_len = 33;
    const Recorder alone = run(still, std::make_unique<ListedSequences>(cut));
    EXPECT_EQ(mixed.steps[1].loss, alone.steps[1].loss);
    EXPECT_EQ(mixed.steps[1].grad_norm, alone.steps[1].grad_norm);
  }
}

// FAULTS I1: an optimizer whose state is elsewhere trains like any other, ends with the same
// moments, and what is on NVMe moves once.
TEST_F(TrainRun, MovesOptimizerStateOnNvmeOnceAStep) {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    std::vector<report::StepReport> reference;
    std::string moments;
    for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
      TrainOptions moved = options(Where::kDevice);
      moved.run.steps = 20;
      moved.run.dtype = dtype;
      moved.memory.optimizer_tier = tier;
      moved.memory.nvme_paths = {directory_.path()};
      moved.memory.nvme_bytes = std::uint64_t{64} << 20;
      moved.checkpoint.save = directory_ / "save";
      const Recorder recorder = run(moved, made());
      const std::string state =
          test::text_of(directory_ / "save" / kStateDirectory / "optimizer.safetensors");
      if (reference.empty()) {
        reference = recorder.steps;
        moments = state;
      }
      expect_same_steps(reference, recorder.steps);
      EXPECT_TRUE(state == moments);
      if (tier != Tier::kNvme) continue;
      // m, v and, beside bf16 weights, the master weights; whole pages each
      const std::uint64_t copies = dtype == DType::kBf16 ? 3 : 2;
      std::uint64_t state_bytes = 0;
      for (const model::Parameter& parameter :
           model::parameters(small_config(ModelConfig::Embeddings::kUntied)))
        state_bytes +=
            copies * extent(static_cast<std::uint64_t>(parameter.count()) * 4, Tier::kNvme);
      for (const report::StepReport& step : recorder.steps) {
        EXPECT_EQ(step.nvme_bytes_read, state_bytes);
        EXPECT_EQ(step.nvme_bytes_written, state_bytes);
      }
    }
  }
}

// Where the host has no room for all of it, only the rest of the optimizer's state is on NVMe.
TEST_F(TrainRun, MovesTheOptimizerStateThatTheHostHasNoRoomFor) {
  TrainOptions divided = options(Where::kHost);
  divided.memory.optimizer_tier.reset();
  const Recorder whole = run(divided, made());
  ASSERT_EQ(whole.facts.placement.optimizer, Tier::kHost);
  divided.memory.host_bytes = whole.summary.touched_bytes[index(Tier::kHost)] * 3 / 4;
  divided.memory.nvme_paths = {directory_.path()};
  divided.memory.nvme_bytes = std::uint64_t{64} << 20;
  const Recorder rest = run(divided, made());
  EXPECT_EQ(rest.facts.placement.optimizer.tier, Tier::kHost);
  EXPECT_GT(rest.facts.placement.optimizer.nvme_fraction, 0);
  EXPECT_GT(rest.steps.back().nvme_bytes_written, 0U);
  expect_same_steps(whole.steps, rest.steps);
}

// FAULTS B4: one stored tensor, planned once, with the gradient of both uses.
TEST_F(TiedTrainRun, KeepsOneEmbeddingThroughEveryTierAndResume) {
  std::vector<report::StepReport> reference;
  for (const Where where : kEverywhere) {
    TrainOptions tied = options(where);
    tied.run.steps = 5;
    tied.checkpoint.save = directory_ / "save";
    tied.checkpoint.save_every = 3;
    const Recorder straight = run(tied, made());
    if (reference.empty()) reference = straight.steps;
    expect_same_steps(reference, straight.steps);
    TrainOptions resumed = tied;
    resumed.checkpoint = {.resume = directory_ / "save" / "step-00000003"};
    const Recorder rest = run(resumed, made());
    expect_same_steps({reference.begin() + 3, reference.end()}, rest.steps);
    const model::SafetensorsFile file(directory_ / "save" / "model.safetensors");
    EXPECT_EQ(file.find("lm_head.weight"), nullptr);
    EXPECT_NE(file.find("model.embed_tokens.weight"), nullptr);
    EXPECT_EQ(straight.facts.parameters,
              256 * 64 + 64 + 2 * (2 * 64 + 2 * 64 * 64 + 2 * 32 * 64 + 3 * 96 * 64));
  }
}

// FAULTS J1: initial weights do not depend on where they go, and no two layers are equal.
TEST_F(TrainRun, StartsFromTheSameWeightsEverywhere) {
  std::set<std::uint64_t> hashes;
  for (const Where where : kEverywhere) {
    for (const std::int64_t chunk : {16, 80}) {
      TrainOptions still = options(where);
      still.planning.chunk_tokens = chunk;
      still.planning.prefetch_chunk_steps = chunk == 16 ? 0 : 3;
      still.run.steps = 1;
      still.optimizer.learning_rate = 0;
      still.checkpoint.save = directory_ / "save";
      hashes.insert(*run(still, made()).steps[0].weights_xxh3);
    }
  }
  EXPECT_EQ(hashes.size(), 1U);
  const model::SafetensorsFile file(directory_ / "save" / "model.safetensors");
  std::vector<float> first(64 * 64), second(64 * 64);
  file.read_floats("model.layers.0.self_attn.q_proj.weight", 0, first);
  file.read_floats("model.layers.1.self_attn.q_proj.weight", 0, second);
  EXPECT_NE(first, second);
}

TEST_F(TrainRun, EvaluatesWithoutChangingTheRun) {
  const Recorder plain = run(options(Where::kNvme), made());
  TrainOptions evaluated = options(Where::kNvme);
  evaluated.evaluation.every = 2;
  Recorder recorder;
  Stop stop;
  Sources sources;
  sources.training = made();
  sources.evaluation = {std::make_unique<MadeSequences>(50), 3, 50};
  train(evaluated, std::move(sources), recorder, stop);
  expect_same_steps(plain.steps, recorder.steps);
  ASSERT_EQ(recorder.evaluations.size(), 2U);
  EXPECT_GT(recorder.evaluations[0], 0);
}

TEST_F(TrainRun, EndsWithItsStepWhenTheLossIsNotFinite) {
  TrainOptions wild = options(Where::kDevice);
  wild.optimizer.learning_rate = 1e6;
  wild.optimizer.grad_clip = 0;
  wild.run.steps = 50;
  try {
    run(wild, made());
    FAIL() << "the loss stayed finite";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kDiverged));
    EXPECT_NE(std::string(error.what()).find("of step "), std::string::npos) << error.what();
    EXPECT_EQ(exit_status(error.code()), 1);
  }
}

// Sequences, of which one has something wrong.
class SequencesWithABadOne final : public SequenceSource {
 public:
  void read(std::uint64_t index, Sequence& out) override {
    if (index == 2) throw Error(Errc::kBadData, "token 7 has id 256");
    out = made_sequence(static_cast<std::uint32_t>(index), 80);
  }
  std::string fingerprint() const override { return "bad"; }
};

TEST_F(TrainRun, FailsWhileRunningWhereTheDataTurnsOutBad) {
  try {
    run(options(Where::kHost), std::make_unique<SequencesWithABadOne>());
    FAIL() << "the bad sequence was taken";
  } catch (const Error& error) {
    EXPECT_EQ(exit_status(error.code()), 1);
    EXPECT_STREQ(error.what(), "token 7 has id 256");
  }
}

TEST_F(TrainRun, EndsBeforeItsNextStepWhenAskedToStop) {
  struct Stopping final : TrainObserver {
    explicit Stopping(Stop& s) : stop(s) {}
    void stepped(const report::StepReport& report) override {
      steps = report.step;
      if (report.step == 2) stop.request("SIGTERM");
    }
    Stop& stop;
    std::int64_t steps = 0;
  };
  Stop stop;
  Stopping observer(stop);
  Sources sources;
  sources.training = made();
  try {
    train(options(Where::kNvme), std::move(sources), observer, stop);
    FAIL() << "it went on";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "cancelled by SIGTERM");
  }
  EXPECT_EQ(observer.steps, 2);
}

}  // namespace
}  // namespace ebbtide::train
