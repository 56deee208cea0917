// docs/faults.md B1: a matrix, its transpose, a slice of its columns and one of its rows, all saved
// by one layer. Elsewhere they shared a copy by address and type; here each is a value of its own.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/execute/engine_under_test.hpp"

namespace ebbtide::test {
namespace {

constexpr std::size_t kSide = 64;
using Matrix = std::vector<float>;

struct Slice {
  std::size_t rows = 0;
  std::size_t cols = 0;
  float (*at)(std::size_t row, std::size_t col) = nullptr;

  std::uint64_t size_bytes() const { return rows * cols * sizeof(float); }
  Matrix values() const {
    Matrix values;
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t col = 0; col < cols; ++col) values.push_back(at(row, col));
    return values;
  }
};

float whole(std::size_t row, std::size_t col) {
  return static_cast<float>(row * kSide + col);
}
const std::array<Slice, 4> kSlices{{
    {kSide, kSide, whole},
    {kSide, kSide, [](std::size_t row, std::size_t col) { return whole(col, row); }},
    {kSide, kSide / 2, whole},
    {kSide - 1, kSide, [](std::size_t row, std::size_t col) { return whole(row + 1, col); }},
}};

TEST(Slices, ComeBackAsWhatTheyWere) {
  Program program;
  const KindId kind = program.add_kind({"value", "values", {}});
  HomeLayout layout;
  std::vector<Use> saves, loads;
  std::vector<Home> homes;
  for (const Slice& slice : kSlices) {
    const ValueId value =
        program.add_value({.size_bytes = slice.size_bytes(), .kind = kind, .reach = Reach::kHost});
    homes.push_back(layout.add(slice.size_bytes(), Tier::kHost));
    saves.push_back(write(value, After::kLeave));
    loads.push_back(read(value));
  }
  program.set_home_bytes(layout.bytes());
  for (const Home& home : homes) loads.push_back(write(program.add_value({.kind = kind}, home)));
  const KernelId save = program.add_kernel(
      {"save", Place::kDevice, [](const OpContext& context) {
         for (std::size_t i = 0; i < kSlices.size(); ++i)
           std::memcpy(context.operands[i], kSlices[i].values().data(), kSlices[i].size_bytes());
       }});
  const KernelId load =
      program.add_kernel({"load", Place::kDevice, [](const OpContext& context) {
                            for (std::size_t i = 0; i < kSlices.size(); ++i)
                              std::memcpy(context.operands[kSlices.size() + i], context.operands[i],
                                          kSlices[i].size_bytes());
                          }});
  const KernelId wait = program.add_kernel({"wait", Place::kDevice, [](const OpContext&) {}});
  const OpCost second{1e11, 0};
  const ValueId other = program.add_value({.size_bytes = 4096, .kind = kind});
  program.add_op(save, saves, {}, second);
  program.add_op(wait, std::vector<Use>{write(other)}, {}, second);
  program.add_op(load, loads, {}, second);

  const Budgets budgets{std::uint64_t{1} << 20, std::uint64_t{1} << 20, 0};
  const Plan plan = make_plan(program, budgets, generic_cpu_hardware(), {});
  EngineOptions options;
  options.host_bytes = budgets.host_bytes;
  options.freed_blocks = FreedBlocks::kPoison;
  Engine engine(slow_device(budgets.device_bytes, {}), options);
  engine.run(program, plan);
  std::uint64_t size_bytes = 0;
  for (std::size_t i = 0; i < kSlices.size(); ++i) {
    Matrix got(kSlices[i].rows * kSlices[i].cols);
    engine.read_home(homes[i], std::as_writable_bytes(std::span(got)));
    EXPECT_EQ(got, kSlices[i].values()) << i;
    size_bytes += kSlices[i].size_bytes();
  }
  EXPECT_EQ(engine.counters().moved_bytes[index(Lane::kH2d)], size_bytes) << "each by itself";
}

}  // namespace
}  // namespace ebbtide::test
