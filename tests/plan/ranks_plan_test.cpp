// Programs of many ranks under plans: engines of ranks that run side by side with little room, and
// the sizes that ranks are for.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "ebbtide/engine.hpp"
#include "ebbtide/plan.hpp"
#include "tests/model/rank_part.hpp"

namespace ebbtide::plan_test {
namespace {

using ebbtide::testing::RankPart;
using ebbtide::testing::RankSetting;
using ebbtide::testing::RankWorld;
using model::RankShape;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// A rank's program, its plan with hardly room for one op, and an engine that holds its homes.
struct PlannedRank {
  PlannedRank(RankPart& part, const OpFunction& comm) : program(part.backward_program(comm)) {
    const Budgets budgets{smallest_device_budget(program), kGiB, 0};
    plan = make_plan(program, budgets, generic_cpu_hardware(), {});
    EngineOptions options;
    options.host_bytes = plan.span_bytes[index(Tier::kHost)];
    options.freed_blocks = FreedBlocks::kPoison;
    engine = std::make_unique<Engine>(make_cpu_device({budgets.device_bytes, {}}), options);
    for (const Tier tier : {Tier::kDevice, Tier::kHost}) {
      const std::span<std::byte> homes = part.homes().tier(tier);
      if (!homes.empty()) engine->write_home({tier, 0, homes.size()}, homes);
    }
  }
  std::vector<std::byte> home(const Home& at) const {
    std::vector<std::byte> bytes(at.size_bytes);
    engine->read_home(at, bytes);
    return bytes;
  }

  Program program;
  Plan plan;
  std::unique_ptr<Engine> engine;
};

RankSetting small_setting(const RankShape& ranks, DType dtype) {
  RankSetting setting;
  setting.config = testing::tiny_config();
  setting.config.layers = 3;
  setting.config.heads = 6;
  setting.shape = {37, 10, 1, dtype, ranks};
  setting.policy = {model::ActivationMode::kAuto, 0.5, Reach::kAny};
  setting.placement = {Tier::kHost, Tier::kHost, Tier::kHost};
  return setting;
}

void expect_same_homes(RankPart& right, const PlannedRank& planned) {
  const model::ModelHomes& layout = right.layout();
  std::vector<Home> homes{layout.loss};
  for (std::size_t p = 0; p < layout.parameters.size(); ++p)
    homes.insert(homes.end(), {layout.parameters[p].gradient, layout.sums_of_squares[p]});
  for (const Home& home : homes)
    EXPECT_TRUE(std::ranges::equal(planned.home(home), right.homes().at(home))) << home.address;
}

TEST(PlansOfRanks, RunSideBySideToTheSameBits) {
  for (const DType dtype : {DType::kF32, DType::kBf16})
    for (const RankShape& ranks : {RankShape{4, 1, 0}, RankShape{2, 2, 0}}) {
      RankWorld world(ranks.count());
      std::vector<std::unique_ptr<RankPart>> parts;
      std::vector<std::unique_ptr<PlannedRank>> planned;
      for (std::int64_t r = 0; r < ranks.count(); ++r) {
        parts.push_back(std::make_unique<RankPart>(small_setting(ranks, dtype), r));
        planned.push_back(std::make_unique<PlannedRank>(*parts.back(), world.collectives_of(r)));
        const Verdict verdict = verify(planned.back()->program, planned.back()->plan);
        ASSERT_TRUE(verdict.ok()) << verdict.message;
        EXPECT_GT(planned.back()->plan.moved_bytes[index(Lane::kH2d)], 0U);
      }
      const auto at = [](std::int64_t r) { return static_cast<std::size_t>(r); };
      world.run([&](std::int64_t r) {
        planned[at(r)]->engine->run(planned[at(r)]->program, planned[at(r)]->plan);
      });
      world.run([&](std::int64_t r) { parts[at(r)]->backward(world.collectives_of(r)); });
      for (std::int64_t r = 0; r < ranks.count(); ++r)
        expect_same_homes(*parts[at(r)], *planned[at(r)]);
    }
}

Program large_program(const model::ModelConfig& config, const RankShape& ranks) {
  constexpr std::int64_t kMega = 1 << 20;
  model::StepShape shape{kMega, 0, 1, DType::kBf16, ranks};
  shape.chunk_tokens = model::auto_chunk_tokens(config, kMega, shape.dtype, ranks);
  shape.attention_group = model::auto_attention_group(config, shape);
  constexpr model::StatePlacement kHost{Tier::kHost, Tier::kHost, Tier::kHost};
  model::MicroStep micro;
  micro.shape = shape;
  micro.activations = {model::ActivationMode::kOffload, {0, 1, 0}, Reach::kAny};
  return model::forward_backward_program(config, model::lay_out_homes(config, shape, kHost), micro,
                                         nullptr);
}

// Eight cards of 24 GB with 128 GiB of host memory and 1 TB of NVMe each.
HardwareModel one_of_eight_cards() {
  HardwareModel model;
  model.device_flops_per_s = 1e14;
  model.device_memory_bytes_per_s = 9e11;
  model.op_overhead_s = 5e-6;
  model.d2h = model.h2d = {1e10, 1e-5};
  model.nvme_write = model.nvme_read = {1e9, 1e-4};
  model.host_flops_per_s = 1e11;
  model.host_memory_bytes_per_s = 2e10;
  model.collective = {1e10, 2e-5};
  return model;
}

// The first rank, which has most work, and the last; 28 heads on 4 KV heads divide by nothing.
TEST(PlansOfRanks, OfAMillionTokensFitACardOf24GB) {
  for (const char* name : {"llama2-7b", "qwen2.5-7b"})
    for (const std::int64_t rank : {0, 7}) {
      const Program program = large_program(model::preset(name), {8, 1, rank});
      const HardwareModel hardware = one_of_eight_cards();
      const Budgets budgets{12 * kGiB, 128 * kGiB, 900 * kGiB};
      const Plan plan = make_plan(program, budgets, hardware, {});
      const Verdict verdict = verify(program, plan);
      ASSERT_TRUE(verdict.ok()) << name << ": " << verdict.message;
      PerLane<double> busy_s{};
      for (OpId op = 0; op < program.op_count(); ++op)
        busy_s[index(op_lane(program.place(op)))] += hardware.op_seconds(program, op);
      const double compute_s = busy_s[index(Lane::kCompute)];
      // collectives hide: most of their time is beside compute
      EXPECT_GT(busy_s[index(Lane::kComm)], 0.01 * compute_s) << name;
      EXPECT_LT(plan.expected_seconds, compute_s + 0.25 * busy_s[index(Lane::kComm)]) << name;
    }
}

}  // namespace
}  // namespace ebbtide::plan_test
