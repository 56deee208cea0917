#include "ebbtide/program.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "ebbtide/error.hpp"

namespace ebbtide {
namespace {

struct Small {
  Program program;
  KindId kind = program.add_kind({"hidden", "saved activations", {}});
  KernelId kernel = program.add_kernel({"mix", Place::kDevice, {}});
  ValueId a = program.add_value({.size_bytes = 10, .kind = kind, .at = {3, 17}});
  ValueId b = program.add_value({.size_bytes = 20, .kind = kind, .at = {4, -1}});
  ValueId c = program.add_value({.size_bytes = 30, .kind = kind});
};

TEST(Program, KeepsOpsInTheOrderOfTheirAdding) {
  Small small;
  const OpId first = small.program.add_op(small.kernel, {write(small.a)}, 1, {});
  const OpId second =
      small.program.add_op(small.kernel, {read(small.a), update(small.b, After::kLeave)}, 2, {});
  EXPECT_EQ(small.program.op_count(), 2U);
  EXPECT_EQ(small.program.uses(first)[0].access(), Access::kWrite);
  const std::span<const Use> uses = small.program.uses(second);
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].value, small.a);
  EXPECT_TRUE(uses[0].reads());
  EXPECT_FALSE(uses[0].writes());
  EXPECT_TRUE(uses[1].reads());
  EXPECT_TRUE(uses[1].writes());
  EXPECT_TRUE(uses[1].leaves);
  EXPECT_EQ(small.program.use_count(), 3U);
}

TEST(Program, KeepsArgumentsAlignedForAnyPlainStruct) {
  Small small;
  struct Wide {
    double x, y;
  };
  small.program.add_op(small.kernel, {write(small.a)}, char{7}, {});
  const OpId second = small.program.add_op(small.kernel, {write(small.b)}, Wide{1.5, 2.5}, {});
  small.program.add_op(small.kernel, {write(small.c)}, char{8}, {});
  const std::span<const std::byte> args = small.program.args(second);
  ASSERT_GE(args.size(), sizeof(Wide));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(args.data()) % alignof(std::max_align_t), 0U);
  Wide wide{};
  std::memcpy(&wide, args.data(), sizeof(wide));
  EXPECT_EQ(wide.y, 2.5);
}

TEST(Program, RefusesOneValueTwiceInAnOp) {
  Small small;
  try {
    small.program.add_op(small.kernel, {read(small.a), write(small.a)}, 0, {});
    FAIL() << "did not throw";
  } catch (const ContractViolation& violation) {
    EXPECT_NE(std::string(violation.what()).find("hidden (3, 17) is named twice"),
              std::string::npos)
        << violation.what();
  }
}

TEST(Program, RefusesWhatIsNotThere) {
  Small small;
  EXPECT_THROW(small.program.add_op(small.kernel, {read(99)}, 0, {}), ContractViolation);
  EXPECT_THROW(small.program.add_op(99, {read(small.a)}, 0, {}), ContractViolation);
  EXPECT_THROW(small.program.add_value({.size_bytes = 1, .kind = 99}), ContractViolation);
  EXPECT_THROW(small.program.add_value({.size_bytes = 0, .kind = small.kind}), ContractViolation);
}

TEST(Program, NamesValuesByTheirPlaceInTheModel) {
  Small small;
  EXPECT_EQ(small.program.describe(small.a), "hidden (3, 17)");
  EXPECT_EQ(small.program.describe(small.b), "hidden (4)");
  EXPECT_EQ(small.program.describe(small.c), "hidden");
}

TEST(Program, BeginsAChunkStepAtTheNextOp) {
  Small small;
  small.program.begin_chunk_step();
  small.program.begin_chunk_step();  // no op between: the same step
  small.program.add_op(small.kernel, {write(small.a)}, 0, {});
  small.program.add_op(small.kernel, {write(small.b)}, 0, {});
  small.program.begin_chunk_step();
  small.program.add_op(small.kernel, {write(small.c)}, 0, {});
  const std::span<const OpId> steps = small.program.chunk_steps();
  EXPECT_EQ(std::vector<OpId>(steps.begin(), steps.end()), (std::vector<OpId>{0, 2}));
}

TEST(Program, KeepsEachOpsOwnCost) {
  Small small;
  const OpId first = small.program.add_op(small.kernel, {write(small.a)}, 0, {1, 2});
  const OpId second = small.program.add_op(small.kernel, {write(small.b)}, 0, {1, 2});
  const OpId third = small.program.add_op(small.kernel, {write(small.c)}, 0, {1, 3});
  EXPECT_EQ(small.program.cost(first).memory_bytes, 2);
  EXPECT_EQ(small.program.cost(second).memory_bytes, 2);
  EXPECT_EQ(small.program.cost(third).memory_bytes, 3);
}

TEST(HomeLayout, PlacesHomesSideBySideInEachTier) {
  HomeLayout layout;
  EXPECT_EQ(layout.add(100, Tier::kDevice).address, 0U);
  EXPECT_EQ(layout.add(257, Tier::kDevice).address, 256U);
  EXPECT_EQ(layout.add(1, Tier::kHost).address, 0U);
  EXPECT_EQ(layout.add(1, Tier::kHost).address, 4096U);
  EXPECT_EQ(layout.bytes(), (PerTier<std::uint64_t>{768, 8192, 0}));
  EXPECT_THROW(layout.add(0, Tier::kNvme), ContractViolation);
}

TEST(HomeLayout, GivesAValueItsSize) {
  Small small;
  HomeLayout layout;
  const Home home = layout.add(77, Tier::kNvme);
  const ValueId value = small.program.add_value({.kind = small.kind}, home);
  EXPECT_EQ(small.program.value(value).size_bytes, 77U);
  ASSERT_NE(small.program.home(value), nullptr);
  EXPECT_EQ(small.program.home(value)->tier, Tier::kNvme);
  EXPECT_EQ(small.program.home(small.a), nullptr);
}

}  // namespace
}  // namespace ebbtide
