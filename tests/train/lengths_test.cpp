// Sequences of many lengths in chunks of many sizes.
#include <gtest/gtest.h>

#include <random>

#include "src/model/llama_dims.hpp"
#include "tests/train/small_run.hpp"

namespace ebbtide::train {
namespace {

using model::ModelConfig;

class Lengths : public testing::Test {
 protected:
  Lengths() { write_small_model(directory_.path(), ModelConfig::Embeddings::kUntied); }
  TrainOptions options(Where where) const { return small_options(directory_.path(), where); }

  test::TemporaryDirectory directory_;
};

struct Cut {
  std::int64_t length = 0;
  std::int64_t chunks = 0;  // that are asked for
};

// FAULTS D5: a length that does not divide leaves no empty chunk, and none larger than asked,
// whatever the batch.
TEST_F(Lengths, GiveTheSameNumbersInAnyNumberOfChunks) {
  for (const Cut& cut : {Cut{5, 4}, {2, 4}, {7, 4}, {8, 4}, {1, 4}, {4, 1}}) {
    for (const std::int64_t batch : {1, 3}) {
      SCOPED_TRACE(testing::Message() << cut.length << " tokens, batch " << batch);
      const auto of = [&](std::int64_t chunk_tokens) {
        TrainOptions options = this->options(Where::kHost);
        options.run.seq_len = cut.length;
        options.run.batch_size = batch;
        options.run.steps = 2;
        options.planning.chunk_tokens = chunk_tokens;
        return run(options, std::make_unique<MadeSequences>(cut.length));
      };
      const std::int64_t chunk_tokens = (cut.length + cut.chunks - 1) / cut.chunks;
      const Recorder whole = of(cut.length);
      const Recorder chunked = of(chunk_tokens);
      EXPECT_EQ(chunked.facts.shape.chunk_tokens, chunk_tokens);
      EXPECT_GT(chunk_tokens * chunked.facts.shape.chunks(), cut.length - 1);
      EXPECT_LE(chunk_tokens * (chunked.facts.shape.chunks() - 1), cut.length - 1);
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(chunked.steps[i].tokens, batch * cut.length);
        EXPECT_NEAR(chunked.steps[i].loss, whole.steps[i].loss, 1e-6 * whole.steps[i].loss);
        EXPECT_NEAR(chunked.steps[i].grad_norm, whole.steps[i].grad_norm,
                    1e-5 * whole.steps[i].grad_norm);
      }
    }
  }
}

// Lengths that come as they like, the longest among them.
class AnyLengths final : public SequenceSource {
 public:
  AnyLengths(std::size_t least, std::size_t most) : least_(least), most_(most) {}
  void read(std::uint64_t index, Sequence& out) override {
    std::mt19937_64 random(index);
    out = made_sequence(static_cast<std::uint32_t>(index),
                        index == 7 ? most_ : least_ + random() % (most_ - least_ + 1));
  }
  std::string fingerprint() const override { return "any lengths"; }

 private:
  std::size_t least_;
  std::size_t most_;
};

// FAULTS G3: no pool to cut into pieces. A plan of another length lies in the same arenas, so the
// marks stay where they are and the last step fits like the first.
TEST_F(Lengths, OfThreeHundredStepsFitWhereTheLongestDoes) {
  constexpr std::int64_t kSteps = 300;
  TrainOptions options = this->options(Where::kNvme);
  options.run.steps = kSteps;
  options.run.seq_len = 512;
  options.planning.chunk_tokens = 64;
  options.planning.activations = model::ActivationMode::kAuto;
  options.mode = RunMode::kDryRun;
  const std::uint64_t smallest =
      run(options, std::make_unique<AnyLengths>(16, 512)).bill.smallest_device_bytes;
  options.mode = RunMode::kTrain;
  options.memory.device_bytes = align_up(smallest + smallest / 10, kDeviceAlignment);
  const Recorder recorder = run(options, std::make_unique<AnyLengths>(16, 512));
  ASSERT_EQ(recorder.steps.size(), kSteps);
  for (const report::StepReport& step : recorder.steps) {
    EXPECT_LE(step.peak_bytes[index(Tier::kDevice)], *options.memory.device_bytes);
    if (step.step > 50) {
      EXPECT_EQ(step.peak_bytes, recorder.steps[49].peak_bytes) << step.step;
    }
  }
  options.memory.device_bytes.reset();
  const Recorder roomy = run(options, std::make_unique<AnyLengths>(16, 512));
  expect_same_steps(recorder.steps, roomy.steps);
}

}  // namespace
}  // namespace ebbtide::train
