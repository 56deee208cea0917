// What people and programs read about a run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/report/bill.hpp"
#include "src/report/progress.hpp"
#include "src/report/step_log.hpp"
#include "src/report/units.hpp"

namespace ebbtide::report {
namespace {

StepReport example() {
  StepReport report;
  report.step = 3;
  report.loss = 1.0 / 3;
  report.grad_norm = 0.1;
  report.learning_rate = 2e-4;
  report.tokens = 8192;
  report.step_seconds = 2;
  report.transfer_seconds = 0.75;
  report.exposed_seconds[index(Lane::kH2d)] = 0.25;
  report.exposed_seconds[index(Lane::kHostCompute)] = 0.5;
  report.peak_bytes = {1 << 20, 2 << 20, 0};
  return report;
}

TEST(StepLog, WritesNumbersThatRoundTrip) {
  StepReport report = example();
  report.weights_xxh3 = 0xabcU;
  const nlohmann::json line = nlohmann::json::parse(json_line(report));
  EXPECT_EQ(line["loss"].get<double>(), report.loss);
  EXPECT_EQ(line["grad_norm"].get<double>(), report.grad_norm);
  EXPECT_EQ(line["tokens_per_second"].get<double>(), 4096);
  EXPECT_EQ(line["exposed_seconds"]["h2d"].get<double>(), 0.25);
  EXPECT_EQ(line["weights_xxh3"], "0000000000000abc");
  EXPECT_FALSE(nlohmann::json::parse(json_line(example())).contains("weights_xxh3"));
}

TEST(StepReport, HidesOnlyTransfers) {
  EXPECT_DOUBLE_EQ(example().hidden_seconds(), 0.5);
  EXPECT_DOUBLE_EQ(example().exposed_total(), 0.75);
}

TEST(Progress, HasOnePlainLineAStep) {
  const std::string line = plain_line(example(), 10);
  for (const char* text : {"step 3/10", "loss 0.333333", "4,096 tokens/s", "hidden 500 ms",
                           "exposed 750 ms", "device 1.00 MiB", "host 2.00 MiB"})
    EXPECT_NE(line.find(text), std::string::npos) << text << " in " << line;
  EXPECT_EQ(line.find("nvme"), std::string::npos);
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(Progress, HasABarAndTheTimeLeftWhenLive) {
  const std::string line = live_line(example(), 10, 14);
  EXPECT_NE(line.find("[######..............] 3/10  14.0 s left"), std::string::npos) << line;
}

TEST(Units, AreReadable) {
  EXPECT_EQ(bytes_text(512), "512 bytes");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(std::uint64_t{24} << 30), "24.0 GiB");
  EXPECT_EQ(seconds_text(0.85), "850 ms");
  EXPECT_EQ(seconds_text(3840), "1 h 04 min");
  EXPECT_EQ(tokens_text(1234567), "1,234,567");
}

// Three values of 1, 2 and 4 KiB, made one after the other; the last op reads the first and the
// third, so that all three are never held at once.
class Bill : public testing::Test {
 protected:
  Bill() {
    const Home home = layout_.add(4096, Tier::kDevice);
    program_.set_home_bytes(layout_.bytes());
    const KernelId kernel = program_.add_kernel({.name = "op", .run = [](const OpContext&) {}});
    const ValueId weight = value("weights", 4096, &home);
    const ValueId first = value("first", 1024, nullptr);
    const ValueId second = value("second", 2048, nullptr);
    const ValueId third = value("third", 4096, nullptr);
    op(kernel, {read(weight), write(first)});
    op(kernel, {read(first), write(second)});
    op(kernel, {read(second), write(third)});
    op(kernel, {read(first), read(third), update(weight)});
  }
  ValueId value(const char* category, std::uint64_t size, const Home* home) {
    Value value;
    value.size_bytes = size;
    value.kind = program_.add_kind({.name = category, .category = category, .resident_limit = {}});
    return home == nullptr ? program_.add_value(value) : program_.add_value(value, *home);
  }
  void op(KernelId kernel, std::initializer_list<Use> uses) {
    program_.add_op(kernel, uses, 0, OpCost{.flops = 1e6, .memory_bytes = 1e4});
  }
  std::uint64_t line(const TierBill& bill, const std::string& category) const {
    for (const BillLine& one : bill.lines)
      if (one.category == category) return one.bytes;
    return 0;
  }

  // Values of 1, 3 and 1 KiB of which the middle one stays, then one of 2 KiB beside it: where no
  // other tier is, the middle one has to move, over a part of itself.
  static Program sliding_program() {
    Program program;
    const KernelId kernel = program.add_kernel({.name = "op", .run = [](const OpContext&) {}});
    const KindId kind = program.add_kind({"block", "blocks", {}});
    const auto add = [&](std::uint64_t size) {
      return program.add_value({.size_bytes = size, .kind = kind});
    };
    const ValueId first = add(1024);
    const ValueId stays = add(3072);
    const ValueId last = add(1024);
    const ValueId large = add(2048);
    program.add_op(kernel, {write(first), write(stays), write(last)}, 0, OpCost{1e6, 1e4});
    program.add_op(kernel, {read(stays), write(large)}, 0, OpCost{1e6, 1e4});
    return program;
  }

  HomeLayout layout_;
  Program program_;
};

TEST_F(Bill, NamesWhatFillsATierAtItsFullestMoment) {
  const HardwareModel hardware = generic_cpu_hardware();
  const Plan plan = make_plan(program_, {1 << 20, 1 << 20, 0}, hardware, {});
  const Planned planned{"example", &program_, &plan};
  const MemoryBill bill = memory_bill({&planned, 1}, hardware);
  const TierBill& device = bill.tiers[index(Tier::kDevice)];
  EXPECT_EQ(line(device, "weights"), 4096U);
  EXPECT_EQ(line(device, "first"), 1024U);
  EXPECT_EQ(line(device, "second"), 2048U);
  EXPECT_EQ(line(device, "third"), 4096U);
  EXPECT_EQ(device.peak_bytes, 4096U + 1024U + 2048U + 4096U);
  EXPECT_NE(text(bill).find("weights"), std::string::npos);
}

TEST_F(Bill, ShowsWhatASmallDeviceSentToTheHost) {
  const HardwareModel hardware = generic_cpu_hardware();
  const Plan plan =
      make_plan(program_, {smallest_device_budget(program_), 1 << 20, 0}, hardware, {});
  const Planned planned{"example", &program_, &plan};
  const MemoryBill bill = memory_bill({&planned, 1}, hardware);
  for (const TierBill& tier : bill.tiers) {
    std::uint64_t named = 0;
    for (const BillLine& one : tier.lines) named += one.bytes;
    EXPECT_EQ(named + tier.held_bytes(), tier.peak_bytes);
    EXPECT_EQ(tier.peak_bytes + tier.fragmentation_bytes(), tier.reserved_bytes);
    EXPECT_LE(tier.reserved_bytes, tier.budget_bytes);
  }
}

// In the smallest device all that stays is moved aside: where it was and where it goes is one room.
TEST_F(Bill, CountsAValueThatIsMovedOnce) {
  const HardwareModel hardware = generic_cpu_hardware();
  const Program program = sliding_program();
  const std::uint64_t smallest = smallest_device_budget(program);
  const Plan plan = make_plan(program, {smallest, 0, 0}, hardware, {});
  ASSERT_GT(plan.moved_bytes[index(Lane::kCompute)], 0U) << "nothing was moved";
  const Planned planned{"example", &program, &plan};
  EXPECT_LE(memory_bill({&planned, 1}, hardware).tiers[0].named_bytes(), smallest);
}

TEST_F(Bill, OpensACategoryByKind) {
  program_.add_value(
      {.size_bytes = 8192, .kind = program_.add_kind({"third's twin", "third", {}})});
  op(0, {write(4), update(3)});
  const HardwareModel hardware = generic_cpu_hardware();
  const Plan plan = make_plan(program_, {1 << 20, 1 << 20, 0}, hardware, {});
  const Planned planned{"example", &program_, &plan};
  const MemoryBill bill = memory_bill({&planned, 1}, hardware);
  const BillLine& line = bill.tiers[0].lines.front();
  ASSERT_EQ(line.category, "third");
  ASSERT_EQ(line.parts.size(), 2U);
  EXPECT_EQ(line.parts[0].kind, "third's twin");
  EXPECT_EQ(line.parts[0].bytes, 8192U);
  EXPECT_EQ(line.parts[1].bytes, 4096U);
  EXPECT_EQ(line.bytes, 8192U + 4096U);
  EXPECT_EQ(line.lifetime, Lifetime::kStep);
  EXPECT_EQ(bill.tiers[0].lines[1].category, "weights");
  EXPECT_EQ(bill.tiers[0].lines[1].lifetime, Lifetime::kRun);
  EXPECT_EQ(text(bill).find("third's twin"), std::string::npos);
  EXPECT_NE(text(bill, BillDetail::kKinds).find("third's twin"), std::string::npos);
}

}  // namespace
}  // namespace ebbtide::report
