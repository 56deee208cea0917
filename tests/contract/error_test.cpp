#include "ebbtide/error.hpp"

#include <gtest/gtest.h>

namespace ebbtide {
namespace {

TEST(Error, SaysOperationPathOffsetAndBytes) {
  const Error error(std::error_code(28, std::generic_category()),
                    {.operation = "write the swap file",
                     .path = "/mnt/swap",
                     .offset = 4096,
                     .wanted = 100,
                     .got = 40,
                     .advice = "free some space"});
  EXPECT_STREQ(error.what(),
               "cannot write the swap file: No space left on device (errno 28), in /mnt/swap, "
               "at offset 4096, wanted 100 bytes, got 40; free some space");
  EXPECT_EQ(error.code().value(), 28);
  EXPECT_EQ(error.context().offset, 4096U);
}

TEST(Error, LeavesOutWhatItDoesNotKnow) {
  const Error error(make_error_code(Errc::kBadFile), {.operation = "read the config"});
  EXPECT_STREQ(error.what(), "cannot read the config: malformed file");
}

TEST(Error, CanSayEverythingItself) {
  const Error error(Errc::kDoesNotFit, "device memory is 8 bytes, 9 are needed");
  EXPECT_STREQ(error.what(), "device memory is 8 bytes, 9 are needed");
  EXPECT_EQ(error.code(), Errc::kDoesNotFit);
}

TEST(ExitStatus, IsTwoForBadUsageAndWhatDoesNotFit) {
  for (const Errc code :
       {Errc::kBadUsage, Errc::kDoesNotFit, Errc::kBadFile, Errc::kBadData, Errc::kNotBuilt})
    EXPECT_EQ(exit_status(make_error_code(code)), 2) << make_error_code(code).message();
}

TEST(ExitStatus, IsOneForFailuresWhileRunning) {
  EXPECT_EQ(exit_status(make_error_code(Errc::kCorrupted)), 1);
  EXPECT_EQ(exit_status(make_error_code(Errc::kCancelled)), 1);
  EXPECT_EQ(exit_status(std::error_code(5, std::generic_category())), 1);
  // the same numbers in another category mean something else
  EXPECT_EQ(
      exit_status(std::error_code(static_cast<int>(Errc::kBadUsage), std::generic_category())), 1);
}

TEST(Check, ThrowsWithTheConditionAndTheDetail) {
  const int have = 3, want = 4;
  try {
    EBBTIDE_CHECK(have == want, std::to_string(have) + " of " + std::to_string(want));
    FAIL() << "did not throw";
  } catch (const ContractViolation& violation) {
    const std::string text = violation.what();
    EXPECT_NE(text.find("have == want"), std::string::npos) << text;
    EXPECT_NE(text.find("3 of 4"), std::string::npos) << text;
  }
}

TEST(Check, MakesItsDetailOnlyOnFailure) {
  int made = 0;
  const auto detail = [&] { return std::to_string(++made); };
  EBBTIDE_CHECK(true, detail());
  EXPECT_EQ(made, 0);
}

}  // namespace
}  // namespace ebbtide
