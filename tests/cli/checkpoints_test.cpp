// Where checkpoints may be saved.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "tests/cli/train_command.hpp"

namespace ebbtide::test {
namespace {

namespace fs = std::filesystem;

// What every entry of a directory is: a link's target, or "a directory", or a file's bytes.
std::map<std::string, std::string> contents(const fs::path& path) {
  std::map<std::string, std::string> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    std::string& content = entries[entry.path().filename()];
    if (entry.is_symlink())
      content = "-> " + fs::read_symlink(entry.path()).string();
    else
      content = entry.is_directory() ? "a directory" : text_of(entry.path());
  }
  return entries;
}

class TrainCheckpoints : public TrainCommand {
 protected:
  // Refused before the first step, with no entry changed.
  void expect_untouched(const fs::path& save, const Arguments& arguments,
                        const std::string& entry) const {
    const auto before = contents(save);
    const Outcome outcome = run(arguments);
    expect_refusal(outcome, {"--save " + save.string(), "holds " + entry + " already",
                             "name an empty or a new directory"});
    EXPECT_EQ(outcome.out.find("  loss "), std::string::npos) << outcome.out;
    EXPECT_EQ(contents(save), before);
  }
};

TEST_F(TrainCheckpoints, AreNotSavedOverAModelOrWhatIsIn) {
  expect_untouched(directory_ / "model", train({"--save", directory_ / "model"}), "config.json");
  for (const std::string entry : {"model.safetensors", "ebbtide-state", "latest"}) {
    const fs::path other = directory_ / ("with-" + entry);
    fs::create_directory(other);
    directory_.write("with-" + entry + "/" + entry, "of somebody else");
    expect_untouched(other, train({"--save", other}), entry);
  }
}

// The files of a model that was downloaded may be links into a store.
TEST_F(TrainCheckpoints, AreNotSavedOverLinksThatLeadElsewhere) {
  const fs::path linked = directory_ / "linked";
  fs::create_directory(linked);
  fs::create_symlink(directory_ / "model/config.json", linked / "config.json");
  expect_untouched(linked, train({"--save", linked}), "config.json");
}

TEST_F(TrainCheckpoints, AreNotSavedIntoACheckpointButBesideIt) {
  const fs::path save = directory_ / "save";
  ASSERT_EQ(run(with_steps(train({"--save", save}), "1")).status, 0);
  const fs::path checkpoint = save / "step-00000001";
  expect_untouched(checkpoint, train({"--resume", checkpoint, "--save", checkpoint}),
                   "config.json");
  const Outcome resumed = run(train({"--resume", checkpoint, "--save", save}));
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(contents(save)["latest"], "-> step-00000003");
}

// The order of the data is that of its text: another of the same length is another run.
TEST_F(TrainCheckpoints, AreNotResumedOnAnotherText) {
  const fs::path save = directory_ / "save";
  ASSERT_EQ(run(with_steps(train({"--save", save}), "1")).status, 0);
  const std::string text = text_of(directory_ / "data.txt");
  directory_.write("data.txt", text.substr(1) + text.front());
  expect_refusal(run(train({"--resume", save})), {"--resume", "--data"});
}

}  // namespace
}  // namespace ebbtide::test
