#include "src/hardware/known_machines.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "ebbtide/error.hpp"
#include "src/hardware/machine_file.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::hardware {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(KnownMachines, AreTheFilesOfTheFolder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(EBBTIDE_HARDWARE_DIR))
    if (entry.path().extension() == ".toml") files.insert(entry.path().stem().string());
  std::set<std::string> known;
  for (const MachineFile& file : known_machine_files()) {
    known.emplace(file.name);
    EXPECT_EQ(file.text, text_of(std::filesystem::path(EBBTIDE_HARDWARE_DIR) /
                                 (std::string(file.name) + ".toml")));
  }
  EXPECT_EQ(known, files);
  EXPECT_GE(known.size(), 11U);
}

// The comment of each line of the text that has a figure; empty where there is none.
std::map<std::string, std::string> sources_of(const MachineFile& file) {
  std::map<std::string, std::string> sources;
  std::istringstream lines{std::string(file.text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#') || line.find(" = ") == std::string::npos) continue;
    const std::size_t at = line.find("  # ");
    sources[line] = at == std::string::npos ? "" : line.substr(at + 4);
  }
  return sources;
}

TEST(KnownMachines, HaveASourceBesideEveryFigure) {
  for (const MachineFile& file : known_machine_files()) {
    const auto sources = sources_of(file);
    EXPECT_GE(sources.size(), 28U) << file.name;
    for (const auto& [line, source] : sources)
      EXPECT_GE(source.size(), 5U) << file.name << ": " << line;
  }
}

// "[ada]" beside a figure is short for a line at the head of the file.
TEST(KnownMachines, SpellOutTheirSources) {
  for (const MachineFile& file : known_machine_files()) {
    int found = 0;
    for (const auto& [line, source] : sources_of(file))
      for (std::size_t at = source.find('['); at != std::string::npos;
           at = source.find('[', at + 1), ++found) {
        const std::string name = source.substr(at, source.find(']', at) + 1 - at);
        EXPECT_NE(file.text.find("#   " + name + " "), std::string::npos) << file.name << line;
      }
    EXPECT_GE(found, 5) << file.name;
  }
}

struct Figures {
  const char* name;
  std::uint64_t ranks;
  double memory_gib;
  double memory_gb_per_s;
  double bf16_tflops;  // dense, accumulated in fp32
  PeerPath path;
};

// The figures of the vendors' data sheets and architecture papers, as the files name them.
TEST(KnownMachines, HaveTheirVendorsFigures) {
  constexpr PeerPath direct = PeerPath::kDirect;
  constexpr PeerPath host = PeerPath::kThroughHost;
  for (const Figures& figures : {
           Figures{"rtx4090", 1, 24, 1008, 165.2, host},
           Figures{"rtx4090x8", 8, 24, 1008, 165.2, host},
           Figures{"rtx3090", 1, 24, 936, 71, host},
           Figures{"rtx3090x4", 4, 24, 936, 71, host},
           Figures{"rtx5060ti", 1, 16, 448, 47.4, host},
           Figures{"a800x8", 8, 80, 2039, 312, direct},
           Figures{"a100-40x8", 8, 40, 1555, 312, direct},
           Figures{"a100-80x8", 8, 80, 2039, 312, direct},
           Figures{"h100", 1, 81559.0 / 1024, 3350, 989.4, direct},
           Figures{"h100x8", 8, 81559.0 / 1024, 3350, 989.4, direct},
           Figures{"h200", 1, 143771.0 / 1024, 4800, 989.5, direct},
       }) {
    SCOPED_TRACE(figures.name);
    const Machine machine = load_machine(figures.name);
    EXPECT_EQ(machine.ranks_per_node, figures.ranks);
    EXPECT_EQ(static_cast<double>(machine.device.memory_bytes), figures.memory_gib * kGiB);
    EXPECT_EQ(machine.device.memory_bytes_per_s, figures.memory_gb_per_s * 1e9);
    EXPECT_EQ(machine.device.peak_bf16_flops_per_s, figures.bf16_tflops * 1e12);
    EXPECT_EQ(machine.peer.path, figures.path);
  }
}

TEST(KnownMachines, EightRtx4090HaveTheirHostAndDrives) {
  const Machine machine = load_machine("rtx4090x8");
  EXPECT_EQ(machine.host.memory_bytes, 1024 * kGiB);
  EXPECT_EQ(machine.nvme.drives, 2U);
  EXPECT_EQ(machine.nvme.capacity_bytes, 4'000'000'000'000U);
  EXPECT_EQ(machine.link.all_cards_bytes_per_s, 11e9);
  EXPECT_DOUBLE_EQ(2 * machine.nvme.read_bytes_per_s, 2.8e9);
  EXPECT_DOUBLE_EQ(2 * machine.nvme.write_bytes_per_s, 3.35e9);
  EXPECT_EQ(machine.device.peak_fp32_flops_per_s, 82.6e12);
}

// A unit that is wrong by 1000 or a bit taken for a byte falls out of these.
TEST(KnownMachines, AreSane) {
  for (const MachineFile& file : known_machine_files()) {
    SCOPED_TRACE(file.name);
    const Machine machine = load_machine(file.name);
    const Device& device = machine.device;
    EXPECT_GE(device.peak_bf16_flops_per_s, 1.5 * device.peak_fp32_flops_per_s);
    EXPECT_LE(device.peak_bf16_flops_per_s, 20 * device.peak_fp32_flops_per_s);
    EXPECT_GT(device.memory_bytes_per_s, 10 * machine.link.alone_bytes_per_s);
    EXPECT_LT(machine.link.alone_bytes_per_s, 64e9);  // one direction of PCIe 5.0 x16
    EXPECT_GE(machine.link.all_cards_bytes_per_s, 5e9);
    EXPECT_GT(machine.host.memory_bytes, device.memory_bytes);
    EXPECT_GT(machine.host.memory_bytes_per_s, machine.link.alone_bytes_per_s);
    EXPECT_LT(machine.host.memory_bytes_per_s, device.memory_bytes_per_s);
    EXPECT_LE(machine.nvme.read_bytes_per_s, 14.5e9);  // PCIe 5.0 x4
    EXPECT_GE(machine.nvme.endurance_bytes, 100 * machine.nvme.capacity_bytes);
    EXPECT_GE(machine.nvme.latency_s, 1e-5);
    EXPECT_LE(machine.nvme.latency_p99_s, 0.1);
    for (const double seconds : {device.op_overhead_s, machine.link.latency_s})
      EXPECT_TRUE(seconds >= 1e-7 && seconds <= 1e-4) << seconds;
  }
}

TEST(KnownMachines, AnUnknownNameListsThoseKnown) {
  try {
    load_machine("rtx4090x9");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), make_error_code(Errc::kBadUsage));
    const std::string message = error.what();
    EXPECT_NE(message.find("'rtx4090x9'"), std::string::npos) << message;
    for (const MachineFile& file : known_machine_files())
      EXPECT_NE(message.find(file.name), std::string::npos) << message;
  }
}

TEST(KnownMachines, APathIsReadFromDisk) {
  const ebbtide::test::TemporaryDirectory directory;
  std::string text(known_machine_files().front().text);
  text = "name = \"mine\"" + text.substr(text.find('\n', text.find("\nname = ") + 1));
  // With a slash it is a path, whatever it ends in.
  EXPECT_EQ(load_machine(directory.write("mine", text).string()).name, "mine");
  try {
    load_machine("rtx4090.toml");
    FAIL() << "a name that ends in .toml is a path, of which there is none here";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), std::error_code(ENOENT, std::generic_category()));
    EXPECT_EQ(error.context().path, "rtx4090.toml");
  }
}

TEST(KnownMachines, WhatIsNoHardwareFileIsRefusedByItsPath) {
  const ebbtide::test::TemporaryDirectory directory;
  for (const std::string& path :
       {directory.path().string(),
        directory.write("long.toml", std::string(kMaxMachineFileBytes + 1, '#')).string()}) {
    try {
      load_machine(path);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), make_error_code(Errc::kBadFile));
      EXPECT_TRUE(std::string(error.what()).starts_with(path + ": ")) << error.what();
    }
  }
}

// The page describes every key under the heading of its table.
TEST(KnownMachines, TheirFormatIsDescribedKeyByKey) {
  const std::string page = text_of(EBBTIDE_HARDWARE_PAGE);
  for (const std::string& key : machine_keys())
    EXPECT_NE(page.find("| `" + key + "` |"), std::string::npos) << key;
}

}  // namespace
}  // namespace ebbtide::hardware
