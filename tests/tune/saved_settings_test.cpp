// Profiles as files.
#include "src/tune/saved_settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "ebbtide/error.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::tune {
namespace {

SavedSettings profile() {
  Setting setting;
  setting.planning.chunk_tokens = 512;
  setting.planning.saved_fraction = 0.75;
  setting.planning.bucket_bytes = 4 << 20;
  SavedSettings result{.flags = flags_of(setting), .made_for = made_for({})};
  result.flags.push_back({"hardware", "a \"machine\" \\ of\nmine.toml"});
  return result;
}

SavedSettings sorted(SavedSettings profile) {
  std::ranges::sort(profile.flags, {}, &FlagValue::name);
  std::ranges::sort(profile.made_for, {}, &FlagValue::name);
  return profile;
}

std::string refusal(const std::string& toml) {
  try {
    parse_profile(toml, "p.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kBadUsage));
    return error.what();
  }
  ADD_FAILURE() << "taken: " << toml;
  return {};
}

TEST(TuneProfile, IsReadAsItWasWritten) {
  const test::TemporaryDirectory directory;
  const auto path = directory / "p.toml";
  write_profile(path, profile_text(profile(), {"a note", "another"}));
  EXPECT_EQ(sorted(read_profile(path)), sorted(profile()));
  EXPECT_TRUE(test::text_of(path).starts_with("# a note\n# another\nchunk-tokens = 512\n"))
      << test::text_of(path);
}

TEST(TuneProfile, IsRefusedByLineWhereItIsNone) {
  EXPECT_NE(refusal("chunk-tokens = 1\nsteps = 3\n").find("line 2: steps"), std::string::npos);
  EXPECT_NE(refusal("chunk-tokens = [1]\n").find("line 1: chunk-tokens"), std::string::npos);
  EXPECT_NE(refusal("chunk-tokens = \n").find("line 1"), std::string::npos);
  EXPECT_NE(refusal("[other]\nx = 1\n").find("other"), std::string::npos);
  EXPECT_NE(refusal("steps = 3\n").find("--profile p.toml"), std::string::npos);
}

TEST(TuneProfile, IsRefusedWhereItCannotBeAFile) {
  const test::TemporaryDirectory directory;
  for (const auto& path : {directory.path(), directory / "none",
                           directory.write("long", std::string(kMostProfileBytes + 1, '#'))})
    EXPECT_THROW(read_profile(path), Error) << path;
}

TEST(TuneProfile, SaysWhatItWasNotMadeFor) {
  train::TrainOptions options;
  EXPECT_TRUE(differences(profile(), options).empty());
  options.run.seq_len = 4096;
  options.run.dtype = DType::kBf16;
  options.memory.device_bytes = 1 << 20;
  options.model = "llama2-7b";
  const std::vector<std::string> lines = differences(profile(), options);
  ASSERT_EQ(lines.size(), 4);
  EXPECT_TRUE(lines[0].starts_with("--model was layers=4")) << lines[0];
  EXPECT_EQ(lines[1], "--seq-len was 8192, now it is 4096");
  EXPECT_EQ(lines[2], "--dtype was fp32, now it is bf16");
  EXPECT_EQ(lines[3], "--device-memory was auto, now it is 1048576");
  EXPECT_TRUE(differences({}, options).empty()) << "one that says nothing fits all";
}

}  // namespace
}  // namespace ebbtide::tune
