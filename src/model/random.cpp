#include "src/model/random.hpp"

namespace ebbtide::model {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53U;  // table 2 of the paper
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57U;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;  // golden ratio
constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;  // sqrt(3) - 1
constexpr int kRounds = 10;

constexpr std::uint32_t low(std::uint64_t x) {
  return static_cast<std::uint32_t>(x);
}
constexpr std::uint32_t high(std::uint64_t x) {
  return static_cast<std::uint32_t>(x >> 32);
}

}  // namespace

PhiloxCounter philox_4x32(PhiloxCounter c, PhiloxKey key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * c[0];
    const std::uint64_t p1 = std::uint64_t{kMultiplier1} * c[2];
    c = {high(p1) ^ c[1] ^ key[0], low(p1), high(p0) ^ c[3] ^ key[1], low(p0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return c;
}

PhiloxCounter random_block(std::uint64_t seed, std::uint64_t stream, std::uint64_t block) {
  return philox_4x32({low(block), high(block), low(stream), high(stream)}, {low(seed), high(seed)});
}

}  // namespace ebbtide::model
