// Every wait of a plan matters: with one taken out, a lane that is late gives other bytes.
#include <gtest/gtest.h>

#include "tests/execute/delayed_disk.hpp"
#include "tests/execute/engine_under_test.hpp"
#include "tests/execute/relay.hpp"
#include "tiering/execute/seams.hpp"

namespace ebbtide::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kBytes = std::uint64_t{256} << 10;

// Makes one thing of the relay late, each with an engine of its own.
struct Late {
  const char* what = "";           // a kernel's name, or a lane's
  std::vector<std::size_t> waits;  // of the relay's plan: those that wait for this
};

void PrintTo(const Late& late, std::ostream* out) {
  *out << late.what;
}

class LateLane : public testing::TestWithParam<Late> {
 protected:
  LateLane() {
    relay_.before_op = [this](const std::string& kernel) {
      if (kernel == GetParam().what) std::this_thread::sleep_for(100ms);
    };
    seams_.io_faults = disk();
  }

  DelayedDisk* disk() {
    if (name(Lane::kNvmeWrite) == GetParam().what) return &late_writes_;
    return name(Lane::kNvmeRead) == GetParam().what ? &late_reads_ : nullptr;
  }
  // Whether the right bytes come out of a fresh engine whose arenas hold 0xFF.
  bool is_right(const Plan& plan) {
    EngineOptions options = options_for(relay_);
    options.freed_blocks = FreedBlocks::kPoison;
    options.seams = &seams_;
    Engine engine = engine_for(relay_, options, [](Lane lane) {
      if (name(lane) == GetParam().what) std::this_thread::sleep_for(100ms);
    });
    engine.write_home(relay_.total(), std::vector<std::byte>(kBytes));
    engine.run(relay_.program(), plan);
    return relay_.is_right(engine, 1);
  }

  Relay relay_{kBytes};
  DelayedDisk late_writes_{tiers::IoDirection::kWrite, {.delay = 100ms}};
  DelayedDisk late_reads_{tiers::IoDirection::kRead, {.delay = 100ms}};
  EngineSeams seams_;
};

TEST_P(LateLane, ChangesNoByte) {
  EXPECT_TRUE(is_right(relay_.plan()));
}

TEST_P(LateLane, GivesWrongBytesIfItsWaitIsTakenOut) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a race by construction";
#endif
  for (const std::size_t wait : GetParam().waits)
    EXPECT_FALSE(is_right(plan_test::without_wait(relay_.plan(), wait))) << "wait " << wait;
}

INSTANTIATE_TEST_SUITE_P(OfTheRelay, LateLane,
                         testing::Values(Late{"fill", {0}}, Late{"d2h", {1, 2, 7}},
                                         Late{"nvme_write", {3}}, Late{"nvme_read", {4}},
                                         Late{"h2d", {5}}, Late{"add", {6}},
                                         Late{"accumulate", {8}}),
                         [](const testing::TestParamInfo<Late>& tested) {
                           return std::string(tested.param.what);
                         });

}  // namespace
}  // namespace ebbtide::test
