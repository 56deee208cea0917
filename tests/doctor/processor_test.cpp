// CPU, GPU and the links between them, on made-up machines.
#include <dlfcn.h>

#include "src/doctor/cuda_probe.hpp"
#include "src/doctor/numa_map.hpp"
#include "src/doctor/pci.hpp"
#include "tests/doctor/made_up_system.hpp"

namespace ebbtide::test {
namespace {

using doctor::CudaProbe;
using doctor::Verdict;

constexpr const char* kCard = "sys/bus/pci/devices/0000:01:00.0/";

void add_card(const MadeUpSystem& system, const std::string& speed, const std::string& width) {
  const std::string card = kCard;
  system.write(card + "class", "0x030000\n");
  system.write(card + "vendor", "0x10de\n");
  system.write(card + "current_link_speed", speed + " GT/s PCIe\n");
  system.write(card + "current_link_width", width + "\n");
  system.write(card + "max_link_speed", "16.0 GT/s PCIe\n");
  system.write(card + "max_link_width", "16\n");
}

void add_driver(const MadeUpSystem& system) {
  system.write("proc/driver/nvidia/version",
               "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19\n");
  system.write("dev/nvidiactl", "");
}

TEST(DoctorCpu, FindsWideVectorsThatTheBuildUses) {
  MadeUpSystem system;
  expect_finding(only(check_cpu(system)), Verdict::kGood,
                 {"Some CPU", "avx512f", "AVX-512", "bf16 is widened"});
  system.write("proc/cpuinfo", "vendor_id : AuthenticAMD\nflags : avx2 fma avx512f avx512_bf16\n");
  expect_finding(only(check_cpu(system)), Verdict::kGood, {"bf16 products run faster"});
}

TEST(DoctorCpu, FindsABuildThatLeavesVectorsUnused) {
  MadeUpSystem system;
  system.compiled = "avx2";
  expect_finding(only(check_cpu(system)), Verdict::kCouldBeBetter,
                 {"compiled for avx2", "-Dcpu_arch=native"});
  system.write("proc/cpuinfo", "flags : avx avx2 fma\n");
  expect_finding(only(check_cpu(system)), Verdict::kGood, {"AVX2"});
}

TEST(DoctorCpu, FindsAVirtualMachineThatHidesThem) {
  MadeUpSystem system;
  system.write("proc/cpuinfo", "flags : fpu sse2\n");
  expect_finding(only(check_cpu(system)), Verdict::kCouldBeBetter, {"none of avx2", "-cpu host"});
  system.write("proc/cpuinfo", "Features : asimd\n");
  expect_finding(only(check_cpu(system)), Verdict::kNotHere, {"no instruction sets"});
}

TEST(DoctorCpuTime, FindsAQuotaBelowTheThreads) {
  MadeUpSystem system;
  expect_finding(only(check_cpu_time(system)), Verdict::kGood, {"2 CPUs", "without a quota"});
  system.write("proc/self/cgroup", "0::/box\n");
  system.write("sys/fs/cgroup/box/cpu.max", "150000 100000\n");
  expect_finding(only(check_cpu_time(system)), Verdict::kCouldBeBetter,
                 {"/box", "1.5", "--threads 1"});
  system.write("sys/fs/cgroup/box/cpu.max", "max 100000\n");
  expect_finding(only(check_cpu_time(system)), Verdict::kGood, {"without a quota"});
  system.write("sys/fs/cgroup/box/cpu.max", "400000 100000\n");
  expect_finding(only(check_cpu_time(system)), Verdict::kGood, {"the time of 4"});
}

TEST(DoctorGpu, IsNotHereOnABareMachine) {
  const MadeUpSystem system;
  expect_finding(only(check_gpu(system)), Verdict::kNotHere, {"no NVIDIA GPU"});
}

TEST(DoctorGpu, FindsACardWithoutADriver) {
  const MadeUpSystem system;
  add_card(system, "16.0", "16");
  expect_finding(only(check_gpu(system)), Verdict::kCouldBeBetter,
                 {"0000:01:00.0", "no driver", "nvidia-driver"});
}

TEST(DoctorGpu, FindsWhatOfTheDriverIsMissing) {
  MadeUpSystem system;
  add_driver(system);
  system.cuda_probe = {.why_not = "libcuda.so.1: cannot open shared object file"};
  expect_finding(only(check_gpu(system)), Verdict::kCouldBeBetter,
                 {"535.129.03", "libcuda", "--gpus all"});
  system.cuda_probe = {.library = CudaProbe::Library::kFailed,
                       .why_not = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"};
  expect_finding(only(check_gpu(system)), Verdict::kCouldBeBetter,
                 {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "reboot"});
  system.cuda_probe = {.library = CudaProbe::Library::kWorks};
  expect_finding(only(check_gpu(system)), Verdict::kCouldBeBetter, {"CUDA_VISIBLE_DEVICES"});
  std::filesystem::remove(system.root() / "dev/nvidiactl");
  expect_finding(only(check_gpu(system)), Verdict::kCouldBeBetter, {"no /dev/nvidiactl"});
}

TEST(DoctorGpu, NamesTheCardsThatWork) {
  MadeUpSystem system;
  add_driver(system);
  system.cuda_probe = {.library = CudaProbe::Library::kWorks,
                       .driver_version = 12040,
                       .devices = {{"RTX 4090", std::uint64_t{24} << 30}}};
  expect_finding(only(check_gpu(system)), Verdict::kGood,
                 {"RTX 4090, 24.0 GiB", "535.129.03", "CUDA 12.4", "computes on the CPU"});
}

TEST(CudaProbe, SaysWhyALibraryCannotBeUsed) {
  const CudaProbe missing = doctor::probe_cuda("libnothing-of-this-name.so.1");
  EXPECT_EQ(missing.library, CudaProbe::Library::kMissing);
  EXPECT_NE(missing.why_not.find("libnothing-of-this-name"), std::string::npos);
  const CudaProbe other = doctor::probe_cuda("libm.so.6");
  EXPECT_EQ(other.library, CudaProbe::Library::kFailed);
  EXPECT_NE(other.why_not.find("cuInit"), std::string::npos);
}

TEST(DoctorPcie, FindsADriveInTheWrongSlot) {
  const MadeUpSystem system;
  expect_finding(only(check_pcie(system)), Verdict::kNotHere, {"no NVMe drive"});
  const std::string drive = "sys/bus/pci/devices/0000:02:00.0/";
  system.write(drive + "class", "0x010802\n");
  system.write(drive + "nvme/nvme0/model", "x\n");
  system.write(drive + "current_link_speed", "8.0 GT/s PCIe\n");
  system.write(drive + "current_link_width", "4\n");
  system.write(drive + "max_link_speed", "8.0 GT/s PCIe\n");
  system.write(drive + "max_link_width", "4\n");
  expect_finding(only(check_pcie(system)), Verdict::kGood, {"nvme0", "PCIe 3.0 x4, 3.9 GB/s"});
  system.write(drive + "max_link_speed", "16.0 GT/s PCIe\n");
  expect_finding(only(check_pcie(system)), Verdict::kCouldBeBetter,
                 {"PCIe 4.0 x4, 7.9 GB/s", "lspci -vv -s 0000:02:00.0"});
  system.write(drive + "current_link_speed", "Unknown\n");
  expect_finding(only(check_pcie(system)), Verdict::kNotHere, {"virtual machine"});
}

TEST(DoctorPcie, ForgivesACardThatIdlesButNotOneThatLacksLanes) {
  const MadeUpSystem system;
  add_card(system, "2.5", "16");
  expect_finding(only(check_pcie(system)), Verdict::kGood, {"PCIe 1.0 x16", "while it idles"});
  add_card(system, "16.0", "4");
  expect_finding(only(check_pcie(system)), Verdict::kCouldBeBetter, {"x4", "a slot with 16 lanes"});
}

TEST(DoctorNuma, FindsAProcessThatSpansNodes) {
  MadeUpSystem system;
  expect_finding(only(check_numa(system)), Verdict::kGood, {"one node of 16.0 GiB"});
  system.numa_map.nodes.push_back({.index = 1, .memory_bytes = 1 << 30, .usable_cpus = 1});
  expect_finding(only(check_numa(system)), Verdict::kCouldBeBetter,
                 {"node 1", "--cpunodebind=0 --membind=0"});
  add_card(system, "16.0", "16");
  system.write(std::string(kCard) + "numa_node", "1\n");
  expect_finding(only(check_numa(system)), Verdict::kCouldBeBetter,
                 {"--cpunodebind=1 --membind=1"});
  system.numa_map = {};
  expect_finding(only(check_numa(system)), Verdict::kNotHere, {"hwloc"});
}

TEST(DoctorNuma, FindsADeviceThatIsFar) {
  MadeUpSystem system;
  system.numa_map.nodes.push_back({.index = 1, .memory_bytes = 1 << 30, .usable_cpus = 0});
  system.numa_map.distances = {{10, 21}, {21, 10}};
  add_card(system, "16.0", "16");
  system.write(std::string(kCard) + "numa_node", "0\n");
  expect_finding(only(check_numa(system)), Verdict::kGood, {"runs on one node"});
  system.write(std::string(kCard) + "numa_node", "1\n");
  const doctor::Findings findings = check_numa(system);
  ASSERT_EQ(findings.size(), 2);
  expect_finding(findings[1], Verdict::kCouldBeBetter,
                 {"0000:01:00.0", "distance 21, 10 within", "--cpunodebind=1"});
}

TEST(NumaMap, IsWhatHwlocSees) {
  hwloc_topology_t topology = nullptr;
  ASSERT_EQ(hwloc_topology_init(&topology), 0);
  ASSERT_EQ(hwloc_topology_set_synthetic(topology, "numa:2(memory=1073741824) core:2 pu:1"), 0);
  ASSERT_EQ(hwloc_topology_load(topology), 0);
  const hwloc_bitmap_t usable = hwloc_bitmap_alloc();
  hwloc_bitmap_set_range(usable, 1, 3);
  const doctor::NumaMap map = doctor::numa_map(topology, usable);
  hwloc_bitmap_free(usable);
  hwloc_topology_destroy(topology);
  ASSERT_EQ(map.nodes.size(), 2);
  EXPECT_EQ(map.nodes[0].usable_cpus, 1);
  EXPECT_EQ(map.nodes[1].usable_cpus, 2);
  EXPECT_EQ(map.nodes[1].index, 1);
  EXPECT_EQ(map.nodes[1].memory_bytes, 1 << 30);
}

}  // namespace
}  // namespace ebbtide::test
