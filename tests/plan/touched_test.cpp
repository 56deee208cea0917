// Whole training steps on the engine: the memory of each tier itself shows how far it was written.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <vector>

#include "ebbtide/engine.hpp"
#include "tests/plan/real_step.hpp"
#include "tiering/execute/seams.hpp"

namespace ebbtide::plan_test {
namespace {

constexpr std::uint64_t kBeyond = std::uint64_t{64} << 10;

std::uint64_t span(RealStep& step, Tier tier) {
  return std::max(step.forward_backward().plan.span_bytes[index(tier)],
                  step.optimizer().plan.span_bytes[index(tier)]);
}

PerTier<std::uint64_t> spans(RealStep& step) {
  return {span(step, Tier::kDevice), span(step, Tier::kHost), span(step, Tier::kNvme)};
}

// The end of what differs from `fill`.
std::uint64_t written_end(std::span<const std::byte> bytes, std::byte fill) {
  std::size_t end = bytes.size();
  while (end > 0 && bytes[end - 1] == fill) --end;
  return end;
}

// The memory behind an engine's tiers, taken hold of by the engine's seams while it is made.
class Tiers {
 public:
  Tiers() {
    seams_.lock_pages = [this](void* address, std::size_t size_bytes) {
      host_ = {static_cast<std::byte*>(address), size_bytes};
      return 0;
    };
    // Without direct I/O, so that this descriptor and the engine's see the same bytes.
    seams_.enable_direct = [this](int descriptor) {
      swap_ = dup(descriptor);
      return EINVAL;
    };
  }
  ~Tiers() { close(swap_); }
  Tiers(const Tiers&) = delete;
  Tiers& operator=(const Tiers&) = delete;

  Engine make_engine(const PerTier<std::uint64_t>& bytes) const {
    EngineOptions options;
    options.host_bytes = bytes[index(Tier::kHost)];
    options.nvme_bytes = bytes[index(Tier::kNvme)];
    options.nvme_paths = {std::filesystem::current_path()};
    options.host_lock = HostLock::kTry;
    options.seams = &seams_;
    return {make_cpu_device({.arena_bytes = bytes[index(Tier::kDevice)], .link_bytes_per_s = {}}),
            options};
  }
  std::span<std::byte> host() const { return host_; }
  int swap() const { return swap_; }

 private:
  EngineSeams seams_;
  std::span<std::byte> host_;
  int swap_ = -1;
};

// The ends of what differs from `fill` after a step that began with tiers full of it.
PerTier<std::uint64_t> written_ends(RealStep& step, std::byte fill, const StepResult& right) {
  PerTier<std::uint64_t> bytes = spans(step);
  for (std::uint64_t& tier : bytes) tier += kBeyond;
  const Tiers tiers;
  Engine engine = tiers.make_engine(bytes);
  const std::span<std::byte> device = engine.device().arena();
  std::vector<std::byte> swap(bytes[index(Tier::kNvme)], fill);
  std::ranges::fill(device, fill);
  std::ranges::fill(tiers.host(), fill);
  EXPECT_EQ(pwrite(tiers.swap(), swap.data(), swap.size(), 0), std::ssize(swap));
  EXPECT_TRUE(step.result_on(engine) == right);
  EXPECT_EQ(pread(tiers.swap(), swap.data(), swap.size(), 0), std::ssize(swap));
  return {written_end(device, fill), written_end(tiers.host(), fill), written_end(swap, fill)};
}

TEST(Tiers, AreWrittenUpToThePlannedPeaksAndNotBeyond) {
  for (const Room room : {Room::kAmple, Room::kTightDevice, Room::kTightBoth}) {
    RealStep step({.name = {},
                   .activations = {.mode = model::ActivationMode::kOffload, .reach = Reach::kNvme},
                   .state = Tier::kHost,
                   .room = room,
                   .group = 2});
    const StepResult right = resident_result(DType::kF32);
    // A byte that happens to be the filling shows with the other one.
    const PerTier<std::uint64_t> a = written_ends(step, std::byte{0xA5}, right);
    const PerTier<std::uint64_t> b = written_ends(step, std::byte{0x5A}, right);
    for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
      EXPECT_GT(span(step, tier), 0U) << name(tier);
      const std::uint64_t end = std::max(a[index(tier)], b[index(tier)]);
      EXPECT_EQ(align_up(end, alignment(tier)), span(step, tier)) << name(tier);
    }
  }
}

}  // namespace
}  // namespace ebbtide::plan_test
