#include "tests/train/small_run.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>

#include "tests/small_llama.hpp"

namespace ebbtide::train {

namespace fs = std::filesystem;

model::ModelConfig small_config(model::ModelConfig::Embeddings embeddings) {
  model::ModelConfig config = test::small_llama();
  config.max_positions = 4096;
  config.embeddings = embeddings;
  return config;
}

void write_small_model(const fs::path& directory, model::ModelConfig::Embeddings embeddings) {
  std::ofstream(directory / "config.json")
      << model::write_config(small_config(embeddings), DType::kF32);
}

TrainOptions small_options(const fs::path& directory, Where where) {
  TrainOptions options;
  options.model = directory.string();
  options.run = {.seq_len = 80, .steps = 4, .threads = 1, .seed = 7};
  options.optimizer.learning_rate = 1e-2;
  options.optimizer.decay = Decay::kConstant;
  options.memory.device_bytes = std::uint64_t{64} << 20;
  options.memory.host_bytes = std::uint64_t{64} << 20;
  options.planning.chunk_tokens = 32;
  options.planning.attention_group = 2;
  options.planning.activations =
      where == Where::kDevice ? model::ActivationMode::kKeep : model::ActivationMode::kOffload;
  options.transfer.freed_blocks = FreedBlocks::kPoison;
  options.checksum = WeightChecksum::kXxh3;
  const Tier tier = where == Where::kNvme   ? Tier::kNvme
                    : where == Where::kHost ? Tier::kHost
                                            : Tier::kDevice;
  options.memory.parameter_tier = tier;
  options.memory.gradient_tier = tier;
  options.memory.optimizer_tier = tier;
  if (where == Where::kHost) options.planning.activation_reach = Reach::kHost;
  if (where != Where::kNvme) return options;
  options.memory.nvme_paths = {directory};
  options.memory.nvme_bytes = std::uint64_t{64} << 20;
  options.planning.activation_reach = Reach::kNvme;
  return options;
}

void Recorder::planned(const RunFacts& run_facts, const report::MemoryBill& run_bill) {
  facts = run_facts;
  bill = run_bill;
}

void ListedSequences::read(std::uint64_t index, Sequence& out) {
  out = sequences_[std::min<std::size_t>(index, sequences_.size() - 1)];
}

Sequence made_sequence(std::uint32_t number, std::size_t length) {
  Sequence sequence;
  std::uint32_t state = number * 2654435761U + 12345U;
  for (std::size_t i = 0; i <= length; ++i) {
    state = state * 1664525U + 1013904223U;
    const std::uint32_t id = state >> 24;
    if (i < length) sequence.tokens.push_back(id);
    if (i > 0) sequence.targets.push_back(id);
  }
  return sequence;
}

Recorder run(const TrainOptions& options, std::unique_ptr<SequenceSource> source) {
  Recorder recorder;
  Stop stop;
  Sources sources;
  sources.training = std::move(source);
  train(options, std::move(sources), recorder, stop);
  return recorder;
}

void expect_same_steps(const std::vector<report::StepReport>& a,
                       const std::vector<report::StepReport>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].step, b[i].step);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(a[i].loss), std::bit_cast<std::uint64_t>(b[i].loss))
        << "step " << a[i].step << ": " << a[i].loss << " and " << b[i].loss;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(a[i].grad_norm),
              std::bit_cast<std::uint64_t>(b[i].grad_norm))
        << "step " << a[i].step << ": " << a[i].grad_norm << " and " << b[i].grad_norm;
    EXPECT_EQ(a[i].weights_xxh3, b[i].weights_xxh3) << "step " << a[i].step;
  }
}

}  // namespace ebbtide::train
