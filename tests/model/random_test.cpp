#include "src/model/random.hpp"

#include <gtest/gtest.h>

namespace ebbtide::model {
namespace {

// philox4x32, 10 rounds, from kat_vectors of the authors' Random123 library.
TEST(Philox, GivesThePublishedKnownAnswers) {
  EXPECT_EQ(philox_4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = ~0U;
  EXPECT_EQ(philox_4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox_4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomBlock, UsesEveryBitOfSeedStreamAndBlock) {
  const PhiloxCounter base = random_block(1, 2, 3);
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t flip = std::uint64_t{1} << bit;
    EXPECT_NE(random_block(1 ^ flip, 2, 3), base);
    EXPECT_NE(random_block(1, 2 ^ flip, 3), base);
    EXPECT_NE(random_block(1, 2, 3 ^ flip), base);
  }
}

// FNV-1a test vectors of its authors.
TEST(StreamNumber, IsFnv1a) {
  EXPECT_EQ(stream_number(""), 0xcbf29ce484222325U);
  EXPECT_EQ(stream_number("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(stream_number("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace ebbtide::model
