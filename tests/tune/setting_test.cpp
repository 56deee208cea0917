// Settings as flags and back.
#include "src/tune/setting.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace ebbtide::tune {
namespace {

Setting full() {
  return {.planning = {.chunk_tokens = 256,
                       .attention_group = 4,
                       .activations = model::ActivationMode::kOffload,
                       .saved_fraction = 0.25,
                       .activation_reach = Reach::kNvme,
                       .prefetch_chunk_steps = 0,
                       .bucket_bytes = 64 << 10},
          .parameter_tier = Tier::kHost,
          .gradient_tier = Tier::kNvme,
          .optimizer_tier = Tier::kDevice};
}

TEST(TuneSetting, IsWrittenAsTheFlagsThatAskForIt) {
  EXPECT_EQ(flags_text(full()),
            "--chunk-tokens 256 --attention-group 4 --activations offload --offload-fraction 0.25 "
            "--activation-tier nvme --prefetch-distance 0 --transfer-bucket-size 64KiB "
            "--parameter-tier host --gradient-tier nvme --optimizer-tier device");
  EXPECT_EQ(flags_text({}), "auto");
  Setting odd;
  odd.planning.bucket_bytes = (1 << 20) + 1;
  EXPECT_EQ(flags_text(odd), "--transfer-bucket-size 1048577");
  odd.planning.bucket_bytes = 0;
  EXPECT_EQ(flags_text(odd), "--transfer-bucket-size 0");
}

TEST(TuneSetting, IsTakenFromOptionsAndPutBack) {
  const train::TrainOptions options = with({}, full());
  EXPECT_EQ(setting_of(options), full());
  EXPECT_EQ(options.planning, full().planning);
  EXPECT_EQ(*options.memory.gradient_tier, Tier::kNvme);
  EXPECT_EQ(flags_of(full()).size(), kTunable.size());
}

TEST(TuneSetting, KeepsOnlyWhatIsFixedWhenItIsFreed) {
  EXPECT_EQ(freed(full(), {}), Setting());
  EXPECT_EQ(freed(full(), {kTunable.begin(), kTunable.end()}), full());
  for (std::size_t at = 0; at < kTunable.size(); ++at) {
    const auto left = flags_of(freed(full(), {std::string(kTunable[at])}));
    for (std::size_t other = 0; other < kTunable.size(); ++other)
      EXPECT_EQ(left[other].value, other == at ? flags_of(full())[at].value : "auto")
          << kTunable[at] << " fixed, " << kTunable[other];
  }
}

TEST(TuneSetting, SaysWhatHasToBeTypedInPlaceOfTheStartsFlags) {
  Setting start;
  start.planning.chunk_tokens = 256;
  Setting best;
  best.planning.prefetch_chunk_steps = 2;
  EXPECT_EQ(flags_to_paste(start, best), "--chunk-tokens auto --prefetch-distance 2");
  EXPECT_EQ(flags_to_paste({}, {}), "auto");
}

TEST(TuneSetting, AsksForWhatASearchTriedWhereFlagsCan) {
  const train::Candidate candidate{
      .placement = {Tier::kHost, Tier::kHost, Tier::kNvme},
      .activations = {model::ActivationMode::kOffload, 0.5, Reach::kAny},
      .attention_group = 2};
  const auto asked = asking_for(candidate, {}, {});
  ASSERT_TRUE(asked);
  EXPECT_EQ(flags_text(*asked),
            "--attention-group 2 --activations offload --offload-fraction 0.5 --parameter-tier "
            "host --gradient-tier host --optimizer-tier nvme");
  EXPECT_EQ(flags_text(*asking_for(candidate, {}, {"attention-group", "parameter-tier"})),
            "--activations offload --offload-fraction 0.5 --gradient-tier host --optimizer-tier "
            "nvme");
  train::Candidate uneven = candidate;
  uneven.activations.saved_fraction = model::SavedFraction(0, 1, 1);
  EXPECT_FALSE(asking_for(uneven, {}, {}));
}

}  // namespace
}  // namespace ebbtide::tune
