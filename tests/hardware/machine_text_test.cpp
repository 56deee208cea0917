#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <string>

#include "ebbtide/error.hpp"
#include "src/hardware/known_machines.hpp"
#include "src/hardware/machine_file.hpp"
#include "tests/hardware/example_machine.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::hardware {
namespace {

using ebbtide::test::TemporaryDirectory;
using testing::kExample;

Machine example() {
  return parse_machine(kExample, "test.toml");
}

TEST(MachineText, ReadsBackAsTheSameMachine) {
  EXPECT_EQ(parse_machine(machine_text(example()), "written"), example());
  for (const MachineFile& file : known_machine_files()) {
    const Machine machine = load_machine(file.name);
    EXPECT_EQ(parse_machine(machine_text(machine), "written"), machine) << file.name;
  }
}

TEST(MachineText, KeepsEveryBitOfWhatWasMeasured) {
  Machine machine = example();
  machine.link.alone_bytes_per_s = 26e9 / 3;
  machine.link.both_ways_bytes_per_s = 23e9 / 3;
  machine.link.all_cards_bytes_per_s = std::nextafter(7e9, 0);
  machine.nvme.latency_s = 1e-4 / 7;
  machine.device.matmul.peak_fraction = 2.0 / 3;
  machine.device.attention.peak_fraction = 1;
  machine.device.memory_bytes = 16'737'230'849;
  EXPECT_EQ(parse_machine(machine_text(machine), "written"), machine);
}

TEST(MachineText, LeavesOutWhatTheMachineHasNot) {
  Machine machine = example();
  machine.network.reset();
  machine.peer = {PeerPath::kThroughHost, 0, 0};
  machine.nvme.endurance_bytes = 0;
  const std::string text = machine_text(machine);
  EXPECT_EQ(text.find("network"), std::string::npos);
  EXPECT_EQ(text.find("endurance"), std::string::npos);
  EXPECT_EQ(parse_machine(text, "written"), machine);
}

TEST(MachineText, KeepsANameWithQuotesAndControlCharacters) {
  Machine machine = example();
  machine.name = "a \"quoted\\\" name\n\twith\x01 marks # and ü";
  EXPECT_EQ(parse_machine(machine_text(machine), "written").name, machine.name);
}

TEST(MachineText, HasSourcesBesideTheirKeys) {
  const std::string text = machine_text(
      example(), {{"link.alone", "measured, # 64 MiB"}, {"device.peak.bf16", "data sheet"}});
  EXPECT_NE(text.find("alone = \"25 GB/s\"  # measured, # 64 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("bf16 = \"100 TFLOP/s\"  # data sheet\n"), std::string::npos) << text;
  EXPECT_EQ(parse_machine(text, "written"), example());
}

TEST(MachineText, RefusesASourceThatWouldNotStandBesideItsKey) {
  EXPECT_THROW(machine_text(example(), {{"link.alnoe", "measured"}}), ContractViolation);
  EXPECT_THROW(machine_text(example(), {{"link.alone", "two\nlines"}}), ContractViolation);
}

TEST(MachineText, IsWhatAFileHolds) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.write("mine.toml", "what was there before");
  write_machine_file(path, example());
  EXPECT_EQ(read_machine_file(path), example());
  EXPECT_EQ(load_machine(path.string()), example());
}

TEST(MachineText, AFileThatCannotBeWrittenIsAnErrorWithItsPath) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "missing" / "mine.toml";
  try {
    write_machine_file(path, example());
    FAIL() << "wrote into a directory that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), std::error_code(ENOENT, std::generic_category()));
    EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace ebbtide::hardware
