#include "src/hardware/machine_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ebbtide/error.hpp"
#include "tests/hardware/example_machine.hpp"

namespace ebbtide::hardware {
namespace {

using testing::example_with;
using testing::kExample;

// Message of the kBadFile that the text gives; empty if there was none.
std::string refusal(const std::string& text) {
  try {
    parse_machine(text, "test.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kBadFile)) << error.what();
    return error.what();
  }
  return "";
}

// `where` is what the message begins with: file, line and key.
void expect_refused(const std::string& text, const std::string& where, const std::string& why) {
  const std::string message = refusal(text);
  EXPECT_TRUE(message.starts_with(where)) << message;
  EXPECT_NE(message.find(why), std::string::npos) << message;
}

TEST(MachineFile, FillsEveryMember) {
  const Machine machine = parse_machine(kExample, "test.toml");
  const Machine expected{
      .name = "4x example",
      .ranks_per_node = 4,
      .device = {.name = "Example 24 GB",
                 .memory_bytes = std::uint64_t{24} << 30,
                 .memory_bytes_per_s = 1e12,
                 .op_overhead_s = 4e-6,
                 .peak_bf16_flops_per_s = 1e14,
                 .peak_fp32_flops_per_s = 5e13,
                 .matmul = {0.8, 1e9},
                 .attention = {0.5, 2e9},
                 .elementwise = {0.9, 1048576}},
      .link = {25e9, 20e9, 11e9, 1e-5},
      .peer = {PeerPath::kDirect, 200e9, 5e-6},
      .host = {std::uint64_t{1} << 40, 300e9, 2e12},
      .nvme = {2, 4'000'000'000'000, 7e9, 6e9, 8e-5, 9e-4, 2'400'000'000'000'000},
      .network = Network{12.5e9, 3e-6}};
  EXPECT_EQ(machine, expected);
}

TEST(MachineFile, NeedsNoNetworkAndNoEndurance) {
  std::string text = example_with("endurance = \"2400 TB\"\n", "");
  text.resize(text.find("[network]"));
  const Machine machine = parse_machine(text, "test.toml");
  EXPECT_FALSE(machine.network.has_value());
  EXPECT_EQ(machine.nvme.endurance_bytes, 0U);
}

TEST(MachineFile, WithoutPeerToPeerHasNoPeerRate) {
  const Machine machine = parse_machine(
      example_with("\"direct\"\nbandwidth = \"200 GB/s\"\nlatency = \"5 us\"", "\"host\""),
      "test.toml");
  EXPECT_EQ(machine.peer, (Peer{PeerPath::kThroughHost, 0, 0}));
}

// Each key is taken out of its line in turn, whatever table it is in.
TEST(MachineFile, AMissingKeyIsNamedWithItsTable) {
  const std::string text(kExample);
  int tried = 0;
  for (const std::string& path : machine_keys()) {
    if (path == "nvme.endurance" || path.starts_with("device.efficiency")) continue;
    const std::size_t dot = path.rfind('.');
    const std::string table = dot == std::string::npos ? "" : path.substr(0, dot);
    const std::string key = path.substr(dot + 1);
    const std::size_t section = table.empty() ? 0 : text.find("[" + table + "]");
    ASSERT_NE(section, std::string::npos) << path;
    const std::size_t begin = text.find(key + " = ", section);
    ASSERT_NE(begin, std::string::npos) << path;
    std::string without = text;
    without.erase(begin, text.find('\n', begin) + 1 - begin);
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(section), '\n');
    EXPECT_EQ(refusal(without), "test.toml:" + std::to_string(line) + ": " + path + ": missing");
    ++tried;
  }
  EXPECT_GE(tried, 20);
}

TEST(MachineFile, AMissingTableIsNamed) {
  std::string text(kExample);
  text.erase(text.find("[link]"), text.find("[peer]") - text.find("[link]"));
  EXPECT_EQ(refusal(text), "test.toml:1: link: missing");
  expect_refused("", "test.toml:1: name: missing", "");
}

TEST(MachineFile, AMissingKeyOfAnInlineTableIsNamed) {
  EXPECT_EQ(refusal(example_with("peak_fraction = 0.5, ", "")),
            "test.toml:16: device.efficiency.attention.peak_fraction: missing");
}

TEST(MachineFile, AnUnknownKeyIsNamedWithThoseKnown) {
  expect_refused(example_with("both_ways", "bothways"), "test.toml:21: link.bothways: unknown key",
                 "known here: all_cards, alone, both_ways, latency");
  expect_refused(example_with("[network]", "[networks]"), "test.toml:44: networks: unknown key",
                 "known here: device, host, link, name, network, nvme, peer, ranks_per_node");
  expect_refused(example_with("half = \"2 GFLOP\"", "size = 1"),
                 "test.toml:16: device.efficiency.attention.size: unknown key",
                 "half, peak_fraction");
}

TEST(MachineFile, AQuotedKeyWithADotIsNotThePathOfAnother) {
  expect_refused(
      example_with("ranks_per_node = 4", "ranks_per_node = 4\n\"link.alone\" = \"9 GB/s\""),
      "test.toml:3: link.alone: unknown key", "known here: device");
}

TEST(MachineFile, ANegativeRateIsRefused) {
  EXPECT_EQ(refusal(example_with("\"11 GB/s\"", "\"-11 GB/s\"")),
            "test.toml:22: link.all_cards: '-11 GB/s' is negative");
  expect_refused(example_with("\"7 GB/s\"", "\"-7 GB/s\""),
                 "test.toml:38: nvme.read: ", "is negative");
  expect_refused(example_with("\"4 us\"", "\"-4 us\""),
                 "test.toml:8: device.op_overhead: ", "is negative");
}

TEST(MachineFile, ARateOrSizeOfZeroIsRefused) {
  expect_refused(example_with("\"100 TFLOP/s\"", "\"0 TFLOP/s\""),
                 "test.toml:11: device.peak.bf16: ", "above zero");
  expect_refused(example_with("\"24 GiB\"", "\"0 GiB\""),
                 "test.toml:6: device.memory: ", "above zero");
}

TEST(MachineFile, AnUnknownUnitIsRefused) {
  expect_refused(example_with("\"25 GB/s\"", "\"25 Gb/s\""),
                 "test.toml:20: link.alone: '25 Gb/s' has the unknown unit 'Gb/s'",
                 "GB/s for bytes, Gbit/s for bits");
  expect_refused(example_with("\"1 GFLOP\"", "\"1 GB\""),
                 "test.toml:15: device.efficiency.matmul.half: ", "unknown unit 'GB'");
}

TEST(MachineFile, AQuantityWithoutAUnitIsRefused) {
  expect_refused(example_with("\"25 GB/s\"", "25"), "test.toml:20: link.alone: ",
                 "is a number without a unit; write it like \"25 GB/s\"");
  expect_refused(example_with("\"25 GB/s\"", "\"25\""), "test.toml:20: link.alone: ", "no unit");
}

TEST(MachineFile, AWrongTypeIsRefused) {
  expect_refused(example_with("\"25 GB/s\"", "true"),
                 "test.toml:20: link.alone: ", "is true or false");
  expect_refused(example_with("\"25 GB/s\"", "[1, 2]"), "test.toml:20: link.alone: ", "an array");
  expect_refused(example_with("\"4x example\"", "4"),
                 "test.toml:1: name: ", "is a number, not a text");
  expect_refused(example_with("drives = 2", "drives = \"2\""),
                 "test.toml:36: nvme.drives: ", "is a text, not a whole number");
  expect_refused(example_with("drives = 2", "drives = 2.5"),
                 "test.toml:36: nvme.drives: ", "not a whole number");
  expect_refused(example_with("0.8", "\"80 %\""),
                 "test.toml:15: device.efficiency.matmul.peak_fraction: ", "is a text");
  std::string text(kExample);
  text = "link = 5\n" + text.erase(text.find("[link]"), text.find("[peer]") - text.find("[link]"));
  expect_refused(text, "test.toml:1: link: ", "is a number, not a table");
}

TEST(MachineFile, ANumberOutOfRangeIsRefused) {
  expect_refused(example_with("ranks_per_node = 4", "ranks_per_node = 0"),
                 "test.toml:2: ranks_per_node: ", "from 1 to");
  expect_refused(example_with("drives = 2", "drives = -1"),
                 "test.toml:36: nvme.drives: ", "from 1 to");
  expect_refused(example_with("0.8", "1.01"),
                 "test.toml:15: device.efficiency.matmul.peak_fraction: ", "at most 1");
  expect_refused(example_with("0.8", "0"),
                 "test.toml:15: device.efficiency.matmul.peak_fraction: ", "above 0");
  expect_refused(example_with("0.8", "nan"),
                 "test.toml:15: device.efficiency.matmul.peak_fraction: ", "above 0");
  expect_refused(example_with("\"24 GiB\"", "\"0.3 B\""),
                 "test.toml:6: device.memory: ", "whole number of bytes");
  expect_refused(example_with("\"24 GiB\"", "\"1e9 TiB\""),
                 "test.toml:6: device.memory: ", "whole number of bytes");
}

TEST(MachineFile, FiguresAtOddsAreRefused) {
  expect_refused(example_with("\"20 GB/s\"", "\"26 GB/s\""),
                 "test.toml:21: link.both_ways: ", "above link.alone");
  expect_refused(example_with("\"11 GB/s\"", "\"21 GB/s\""),
                 "test.toml:22: link.all_cards: ", "above link.both_ways");
  expect_refused(example_with("\"900 us\"", "\"79 us\""),
                 "test.toml:41: nvme.latency_p99: ", "below nvme.latency");
  expect_refused(example_with("\"direct\"", "\"host\""),
                 "test.toml:27: peer.bandwidth: ", "means nothing");
  expect_refused(example_with("\"direct\"", "\"nvlink\""),
                 "test.toml:26: peer.path: ", "'nvlink' is neither 'direct' nor 'host'");
}

TEST(MachineFile, AKeyThatIsThereTwiceIsRefused) {
  expect_refused(example_with("fp32 = \"2 TFLOP/s\"", "memory = \"2 TiB\""),
                 "test.toml:33: ", "'memory'");
  expect_refused(example_with("[nvme]", "[host]"), "test.toml:35: ", "'host'");
}

TEST(MachineFile, WhatIsNotTomlIsRefusedWithItsLine) {
  expect_refused(example_with("\"25 GB/s\"", "25 GB/s"), "test.toml:20: ", "");
  expect_refused(example_with("\"25 GB/s\"", ""), "test.toml:20: ", "");
  expect_refused("\x7f\x45\x4c\x46", "test.toml:1: ", "");
}

}  // namespace
}  // namespace ebbtide::hardware
