#include "src/train/checkpoint.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "ebbtide/error.hpp"
#include "src/model/safetensors.hpp"
#include "src/train/checkpoint_directory.hpp"
#include "src/train/data.hpp"
#include "tests/train/small_run.hpp"

namespace ebbtide::train {
namespace {

namespace fs = std::filesystem;
using model::ModelConfig;
constexpr std::size_t kLength = 80;

using test::text_of;

class CheckpointRun : public testing::Test {
 protected:
  CheckpointRun() { write_small_model(directory_.path(), ModelConfig::Embeddings::kUntied); }
  TrainOptions options(Where where) const { return small_options(directory_.path(), where); }
  static std::unique_ptr<SequenceSource> made() { return std::make_unique<MadeSequences>(kLength); }
  std::string refusal(const TrainOptions& options) const {
    try {
      run(options, made());
    } catch (const Error& error) {
      EXPECT_EQ(exit_status(error.code()), 2);
      return error.what();
    }
    return "accepted";
  }
  static std::uint64_t last_byte_of(const fs::path& path, const std::string& tensor) {
    const model::SafetensorsFile file(path);
    const model::TensorInfo* info = file.find(tensor);
    return info == nullptr ? 0 : info->offset_bytes + info->size_bytes - 1;
  }
  // Changes the lowest bit of a byte of the file.
  static void flip(const fs::path& path, std::uint64_t byte) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(byte));
    const int old = file.get();
    file.seekp(static_cast<std::streamoff>(byte));
    file.put(static_cast<char>(old ^ 1));
  }
  // Saved after step 1 of 1, on the device.
  fs::path saved_once(DType dtype) const {
    TrainOptions options = this->options(Where::kDevice);
    options.run.steps = 1;
    options.run.dtype = dtype;
    options.checkpoint.save = directory_ / "once";
    run(options, made());
    return options.checkpoint.save;
  }

  test::TemporaryDirectory directory_;
};

// FAULTS I3: every pair of tiers, with accumulation; moments, master and counters all come back.
TEST_F(CheckpointRun, GoesOnBitByBitFromEveryTierToEveryTier) {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    std::vector<report::StepReport> reference;
    for (const Where from : kEverywhere) {
      TrainOptions whole = options(from);
      whole.run.dtype = dtype;
      whole.run.steps = 10;
      whole.run.grad_accumulation = 2;
      whole.checkpoint = {.save = directory_ / "save", .save_every = 5};
      const Recorder straight = run(whole, made());
      if (reference.empty()) reference = straight.steps;
      expect_same_steps(reference, straight.steps);
      for (const Where to : kEverywhere) {
        TrainOptions rest = options(to);
        rest.run = whole.run;
        rest.checkpoint.resume = directory_ / "save" / "step-00000005";
        expect_same_steps({reference.begin() + 5, reference.end()}, run(rest, made()).steps);
      }
    }
  }
}

// AdamW's count is part of the state: a stale one changes the bias correction.
TEST_F(CheckpointRun, KeepsCountersThroughAResume) {
  TrainOptions first = options(Where::kHost);
  first.run.grad_accumulation = 2;
  first.checkpoint.save = directory_ / "save";
  run(first, made());
  TrainOptions second = first;
  second.run.steps = 10;
  second.checkpoint = {.save = directory_ / "save2", .resume = directory_ / "save"};
  run(second, made());
  const std::string state = text_of(directory_ / "save2" / kStateDirectory / "state.json");
  EXPECT_NE(state.find("\"step\": 10"), std::string::npos) << state;
  EXPECT_NE(state.find("\"updates\": 10"), std::string::npos) << state;
  EXPECT_NE(state.find("\"sequences\": 20"), std::string::npos) << state;
}

// FAULTS I2: every copy of the weights comes from the file, none keeps its initial value.
TEST_F(CheckpointRun, ReadsWeightsIntoEveryCopy) {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    const fs::path source = saved_once(dtype);
    const std::string weights = text_of(source / "model.safetensors");
    for (const Where where : kEverywhere) {
      TrainOptions still = small_options(directory_.path(), where);
      still.model = source.string();
      still.run.dtype = dtype;
      still.run.steps = 2;
      still.optimizer.learning_rate = 0;
      still.checkpoint.save = directory_ / "copy";
      run(still, made());
      EXPECT_EQ(text_of(directory_ / "copy" / "model.safetensors"), weights);
    }
  }
}

// Samples of files, with a log of where each was.
class LoggedSamples final : public SequenceSource {
 public:
  using Place = std::pair<std::size_t, std::uint64_t>;  // file, token in it
  LoggedSamples(const DataOptions& options, std::vector<Place>& log)
      : data_(options), length_(static_cast<std::size_t>(options.seq_len)), log_(log) {}
  void read(std::uint64_t index, Sequence& out) override {
    out.tokens.resize(length_);
    out.targets.resize(length_);
    const Sample at = data_.sample(index, out.tokens, out.targets);
    log_.emplace_back(at.file, at.offset);
  }
  std::string fingerprint() const override { return "logged"; }

 private:
  DataSource data_;
  std::size_t length_;
  std::vector<Place>& log_;
};

// FAULTS I5: a resumed run reads on, by sequences and not by steps. There is no epoch: samples are
// drawn from all files, here more of them than there are tokens.
TEST_F(CheckpointRun, ReadsTheSequencesThatAStraightRunWould) {
  const DataOptions data{.files = {directory_.write("a.txt", std::string(90, 'a')),
                                   directory_.write("b.txt", std::string(110, 'b'))},
                         .vocab = 256,
                         .seq_len = static_cast<std::int64_t>(kLength),
                         .seed = 3};
  std::vector<LoggedSamples::Place> straight, stopped;
  TrainOptions whole = options(Where::kHost);
  whole.run.steps = 60;
  whole.run.grad_accumulation = 4;
  const Recorder reference = run(whole, std::make_unique<LoggedSamples>(data, straight));
  TrainOptions first = whole;
  first.run.steps = 5;
  first.checkpoint.save = directory_ / "save";
  run(first, std::make_unique<LoggedSamples>(data, stopped));
  TrainOptions second = whole;
  second.checkpoint.resume = directory_ / "save";
  const Recorder rest = run(second, std::make_unique<LoggedSamples>(data, stopped));
  EXPECT_EQ(straight.size(), 240U);
  EXPECT_EQ(stopped, straight);
  std::set<std::size_t> files;
  for (const LoggedSamples::Place& place : straight) files.insert(place.first);
  EXPECT_EQ(files.size(), 2U);
  expect_same_steps({reference.steps.begin() + 5, reference.steps.end()}, rest.steps);
}

TEST_F(CheckpointRun, RefusesSettingsThatDiffer) {
  TrainOptions other = options(Where::kHost);
  other.checkpoint.resume = saved_once(DType::kF32);
  other.run.steps = 2;
  EXPECT_EQ(refusal(other), "accepted");
  TrainOptions changed = other;
  changed.run.seed = 8;
  EXPECT_EQ(refusal(changed), "--resume: the checkpoint has --seed 7, this run 8");
  changed = other;
  changed.run.dtype = DType::kBf16;
  EXPECT_EQ(refusal(changed), "--resume: the checkpoint has --dtype fp32, this run bf16");
  changed = other;
  changed.run.grad_accumulation = 2;
  EXPECT_NE(refusal(changed).find("--grad-accumulation 1, this run 2"), std::string::npos);
}

TEST_F(CheckpointRun, RefusesWhatIsNoCheckpoint) {
  TrainOptions options = this->options(Where::kHost);
  options.checkpoint.resume = directory_ / "nowhere";
  EXPECT_NE(refusal(options).find("nowhere: no such directory"), std::string::npos);
  fs::create_directory(directory_ / "empty");
  options.checkpoint.resume = directory_ / "empty";
  EXPECT_NE(refusal(options).find("holds no checkpoint"), std::string::npos);
  const fs::path broken = saved_once(DType::kF32);
  options.checkpoint.resume = broken;
  std::ofstream(broken / kStateDirectory / "state.json") << "{\"format\": 1, \"step\": -1";
  EXPECT_NE(refusal(options).find("state.json: is not a JSON object"), std::string::npos);
  std::ofstream(broken / kStateDirectory / "state.json") << "{\"format\": 3}";
  EXPECT_NE(refusal(options).find("has another format than 2"), std::string::npos);
}

// Damages, in order: a weight, a mean, a square (the last byte of its file) and a count.
TEST_F(CheckpointRun, RefusesADamagedCheckpointNamingTheFileAndTheTensor) {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    TrainOptions rest = options(Where::kHost);
    rest.run.dtype = dtype;
    rest.run.steps = 2;
    rest.checkpoint.resume = saved_once(dtype);
    EXPECT_EQ(refusal(rest), "accepted");
    const fs::path optimizer = rest.checkpoint.resume / kStateDirectory / "optimizer.safetensors";
    const std::string name = "model.layers.1.mlp.up_proj.weight";
    const bool has_master = dtype == DType::kBf16;
    const fs::path weights = has_master ? optimizer : rest.checkpoint.resume / "model.safetensors";
    for (const auto& [file, tensor] :
         {std::pair(weights, has_master ? name + ".master" : name),
          std::pair(optimizer, name + ".m"), std::pair(optimizer, name + ".v")}) {
      const std::uint64_t byte = last_byte_of(file, tensor);
      flip(file, byte);
      const std::string message = refusal(rest);
      for (const std::string& part :
           {file.filename().string(), "tensor '" + tensor + "' is damaged",
            std::string("resume from another checkpoint")})
        EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
      flip(file, byte);
    }
    EXPECT_EQ(refusal(rest), "accepted");
  }
}

TEST_F(CheckpointRun, RefusesCountsAndDigestsThatWereChanged) {
  TrainOptions rest = options(Where::kHost);
  rest.run.steps = 9;
  rest.checkpoint.resume = saved_once(DType::kF32);
  const fs::path state = rest.checkpoint.resume / kStateDirectory / "state.json";
  const std::string saved = text_of(state);
  for (const auto& [key, value] :
       {std::pair("\"updates\": ", '7'), std::pair("\"sequences\": ", '3'),
        std::pair("embed_tokens.weight\": \"", '_')}) {
    std::string changed = saved;
    changed[changed.find(key) + std::string(key).size()] = value;
    std::ofstream(state) << changed;
    EXPECT_NE(refusal(rest).find("state.json: is damaged"), std::string::npos) << refusal(rest);
  }
  std::ofstream(state) << saved;
  EXPECT_EQ(refusal(rest), "accepted");
}

TEST_F(CheckpointRun, TakesACheckpointWithoutDigestsWithOneWarning) {
  TrainOptions rest = options(Where::kHost);
  rest.run.steps = 2;
  rest.checkpoint.resume = saved_once(DType::kF32);
  EXPECT_TRUE(run(rest, made()).warnings.empty());
  const fs::path path = rest.checkpoint.resume / kStateDirectory / "state.json";
  nlohmann::json state = nlohmann::json::parse(text_of(path));
  state["format"] = 1;
  state.erase("tensor_xxh3");
  state.erase("state_xxh3");
  std::ofstream(path) << state;
  const std::vector<std::string> warnings = run(rest, made()).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("kept no digests"), std::string::npos) << warnings[0];
}

TEST_F(CheckpointRun, NamesATensorOfAnotherShape) {
  TrainOptions wrong = options(Where::kHost);
  wrong.model = saved_once(DType::kF32).string();
  ModelConfig config = small_config(ModelConfig::Embeddings::kUntied);
  config.ffn = 128;
  fs::create_directory(directory_ / "wide");
  std::ofstream(directory_ / "wide" / "config.json") << model::write_config(config, DType::kF32);
  fs::copy_file(fs::path(wrong.model) / "model.safetensors",
                directory_ / "wide" / "model.safetensors");
  wrong.model = (directory_ / "wide").string();
  EXPECT_NE(refusal(wrong).find("tensor 'model.layers.0.mlp.gate_proj.weight' has shape [96, 64], "
                                "the model needs [128, 64]"),
            std::string::npos)
      << refusal(wrong);
}

TEST_F(CheckpointRun, SavesAtTheEndAndEveryFewStepsAndKeepsTheNewest) {
  TrainOptions options = this->options(Where::kDevice);
  options.run.steps = 7;
  options.checkpoint = {.save = directory_ / "save", .save_every = 2, .keep = 2};
  EXPECT_EQ(run(options, made()).saves.size(), 4U);
  EXPECT_EQ(CheckpointDirectory(directory_ / "save").steps(), (std::vector<std::int64_t>{6, 7}));
  EXPECT_TRUE(
      fs::equivalent(directory_ / "save" / "latest", directory_ / "save" / "step-00000007"));
}

class CheckpointDirectoryTest : public testing::Test {
 protected:
  // Publishes a checkpoint whose one file says `text`.
  void publish(CheckpointDirectory& checkpoints, std::int64_t step, const std::string& text) {
    const fs::path partial = checkpoints.begin(step);
    std::ofstream(partial / "config.json") << text;
    fs::create_directory(partial / kStateDirectory);
    checkpoints.commit(step);
  }
  test::TemporaryDirectory directory_;
};

TEST_F(CheckpointDirectoryTest, ShowsTheNewestAtItsTop) {
  CheckpointDirectory checkpoints(directory_ / "save");
  publish(checkpoints, 5, "five");
  EXPECT_EQ(text_of(directory_ / "save" / "config.json"), "five");
  publish(checkpoints, 10, "ten");
  EXPECT_EQ(text_of(directory_ / "save" / "config.json"), "ten");
  EXPECT_EQ(text_of(directory_ / "save" / "step-00000005" / "config.json"), "five");
  EXPECT_EQ(find_checkpoint(directory_ / "save"),
            fs::canonical(directory_ / "save" / "step-00000010"));
}

TEST_F(CheckpointDirectoryTest, ReplacesACheckpointOfTheSameStep) {
  CheckpointDirectory checkpoints(directory_ / "save");
  publish(checkpoints, 5, "old");
  publish(checkpoints, 5, "new");
  EXPECT_EQ(text_of(directory_ / "save" / "config.json"), "new");
  EXPECT_EQ(checkpoints.steps(), std::vector<std::int64_t>{5});
}

// A run killed before it publishes leaves a hidden part, which the next one of that step removes.
TEST_F(CheckpointDirectoryTest, NeverShowsAPartOfACheckpoint) {
  CheckpointDirectory checkpoints(directory_ / "save");
  publish(checkpoints, 5, "five");
  std::ofstream(checkpoints.begin(10) / "config.json") << "half";
  EXPECT_EQ(CheckpointDirectory(directory_ / "save").steps(), std::vector<std::int64_t>{5});
  EXPECT_EQ(text_of(directory_ / "save" / "config.json"), "five");
  EXPECT_TRUE(fs::is_empty(checkpoints.begin(10)));
}

TEST_F(CheckpointDirectoryTest, RemovesWhatKilledRunsLeftAndNothingElse) {
  const fs::path save = directory_ / "save";
  CheckpointDirectory(save).begin(10);
  fs::create_directory(save / ".step-10.partial");
  fs::create_directory(save / ".notes.partial");
  {
    CheckpointDirectory checkpoints(save);
    publish(checkpoints, 5, "five");
  }
  CheckpointDirectory claimed(save);
  claimed.claim();
  EXPECT_FALSE(fs::exists(save / ".step-00000010.partial"));
  EXPECT_TRUE(fs::exists(save / ".step-10.partial"));
  EXPECT_TRUE(fs::exists(save / ".notes.partial"));
  EXPECT_EQ(claimed.steps(), std::vector<std::int64_t>{5});
}

TEST_F(CheckpointDirectoryTest, LeavesWhatAnotherRunIsSaving) {
  const fs::path save = directory_ / "save";
  CheckpointDirectory first(save);
  first.claim();
  const fs::path partial = first.begin(10);
  {
    CheckpointDirectory second(save);
    second.claim();
    EXPECT_TRUE(fs::exists(partial));
  }
  CheckpointDirectory third(save);
  third.claim();
  EXPECT_TRUE(fs::exists(partial));
}

TEST_F(CheckpointDirectoryTest, FindsTheNewestWhereNoLinkWasMadeYet) {
  CheckpointDirectory checkpoints(directory_ / "save");
  publish(checkpoints, 5, "five");
  publish(checkpoints, 10, "ten");
  for (const char* link : {"latest", "config.json", kStateDirectory})
    fs::remove(directory_ / "save" / link);
  EXPECT_EQ(find_checkpoint(directory_ / "save").filename(), "step-00000010");
}

TEST_F(CheckpointDirectoryTest, LeavesFilesThatAreNotItsOwn) {
  CheckpointDirectory checkpoints(directory_ / "save");
  for (const char* name : {"step-1", "step-00000001x", "notes.txt"})
    fs::create_directory(directory_ / "save" / name);
  for (const std::int64_t step : {1, 2, 3}) publish(checkpoints, step, "x");
  checkpoints.prune(1);
  EXPECT_EQ(checkpoints.steps(), std::vector<std::int64_t>{3});
  for (const char* name : {"step-1", "step-00000001x", "notes.txt"})
    EXPECT_TRUE(fs::exists(directory_ / "save" / name)) << name;
}

TEST_F(CheckpointDirectoryTest, DoesNotPutALinkOverAUsersFile) {
  CheckpointDirectory checkpoints(directory_ / "save");
  std::ofstream(directory_ / "save" / "config.json") << "mine";
  EXPECT_THROW(publish(checkpoints, 1, "x"), Error);
  EXPECT_EQ(text_of(directory_ / "save" / "config.json"), "mine");
}

}  // namespace
}  // namespace ebbtide::train
