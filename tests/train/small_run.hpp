// A model and a run small enough for a test, and an observer that keeps what it was told.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "src/model/config.hpp"
#include "src/train/train.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::train {

// 2 layers, H 64, Q 4, G 2, D 16, F 96, V 256.
model::ModelConfig small_config(model::ModelConfig::Embeddings embeddings);
// Writes its config.json there.
void write_small_model(const std::filesystem::path& directory,
                       model::ModelConfig::Embeddings embeddings);

// Where everything that may leave the device goes.
enum class Where : std::uint8_t { kDevice, kHost, kNvme };
inline constexpr std::array<Where, 3> kEverywhere{Where::kDevice, Where::kHost, Where::kNvme};

// 80 tokens in chunks of 32 on one thread, freed blocks poisoned, weights hashed each step, a
// constant learning rate; state and activations at `where`. The model is in `directory`, and swap
// files go there.
TrainOptions small_options(const std::filesystem::path& directory, Where where);

class Recorder final : public TrainObserver {
 public:
  void planned(const RunFacts& facts, const report::MemoryBill& bill) override;
  void stepped(const report::StepReport& report) override { steps.push_back(report); }
  void evaluated(std::int64_t, double loss) override { evaluations.push_back(loss); }
  void saved(const std::filesystem::path& checkpoint) override { saves.push_back(checkpoint); }
  void finished(const RunSummary& done) override { summary = done; }
  void warned(const std::string& warning) override { warnings.push_back(warning); }

  RunFacts facts;
  report::MemoryBill bill;
  std::vector<report::StepReport> steps;
  std::vector<double> evaluations;
  std::vector<std::filesystem::path> saves;
  std::vector<std::string> warnings;
  RunSummary summary;
};

// Sequences given one by one; the last is repeated.
class ListedSequences final : public SequenceSource {
 public:
  explicit ListedSequences(std::vector<Sequence> sequences) : sequences_(std::move(sequences)) {}
  void read(std::uint64_t index, Sequence& out) override;
  std::string fingerprint() const override { return "listed"; }

 private:
  std::vector<Sequence> sequences_;
};

// A sequence of `length` bytes made from a number.
Sequence made_sequence(std::uint32_t number, std::size_t length);
// Sequences 0, 1, 2, ... of one length, without end.
class MadeSequences final : public SequenceSource {
 public:
  explicit MadeSequences(std::size_t length) : length_(length) {}
  void read(std::uint64_t index, Sequence& out) override {
    out = made_sequence(static_cast<std::uint32_t>(index), length_);
  }
  std::string fingerprint() const override { return "made"; }

 private:
  std::size_t length_;
};

Recorder run(const TrainOptions& options, std::unique_ptr<SequenceSource> source);

// Loss, gradient norm and weights of every step, bit by bit; fails the test where they differ.
void expect_same_steps(const std::vector<report::StepReport>& a,
                       const std::vector<report::StepReport>& b);

}  // namespace ebbtide::train
