#include "tests/doctor/made_up_system.hpp"

#include <fstream>

namespace ebbtide::test {

namespace fs = std::filesystem;
using doctor::Finding;
using doctor::Verdict;

MadeUpSystem::MadeUpSystem() {
  write("proc/cpuinfo",
        "processor : 0\nvendor_id : GenuineIntel\nmodel name : Some CPU\n"
        "flags : fpu avx avx2 fma avx512f avx512_bf16\n\nprocessor : 1\n");
  write("proc/meminfo",
        "MemTotal: 16777216 kB\nMemAvailable: 15728640 kB\nHugePages_Total: 0\n"
        "HugePages_Free: 0\nHugepagesize: 2048 kB\n");
  write("proc/self/status", "Name: x\nCapEff: 0000000000000000\nSeccomp: 0\n");
  write("proc/self/cgroup", "0::/\n");
  write("proc/self/mountinfo",
        "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "30 27 259:1 / /mnt/nvme rw,noatime shared:1 - xfs /dev/nvme0n1p1 rw\n");
  write("proc/sys/kernel/osrelease", "6.1.0-13-amd64\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  numa_map.nodes = {{.index = 0, .memory_bytes = std::uint64_t{16} << 30, .usable_cpus = 2}};
  directory_probe = {.path = "/mnt/nvme/swap",
                     .free_bytes = std::uint64_t{500} << 30,
                     .total_bytes = std::uint64_t{1000} << 30,
                     .is_direct = true,
                     .alignment = 512};
}

void MadeUpSystem::write(const std::string& file, const std::string& text) const {
  const fs::path path = root_.path() / file;
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

void MadeUpSystem::link(const std::string& from, const std::string& to) const {
  const fs::path path = root_.path() / from;
  fs::create_directories(path.parent_path());
  fs::create_directories(root_.path() / to);
  fs::create_symlink(root_.path() / to, path);
}

Finding only(const doctor::Findings& findings) {
  EXPECT_EQ(findings.size(), 1);
  return findings.empty() ? Finding{} : findings.front();
}

void expect_finding(const Finding& finding, Verdict verdict,
                    const std::vector<std::string>& parts) {
  const std::string all =
      finding.subject + "\n" + finding.found + "\n" + finding.meaning + "\n" + finding.remedy;
  EXPECT_EQ(name(finding.verdict), name(verdict)) << all;
  for (const std::string& part : parts)
    EXPECT_NE(all.find(part), std::string::npos) << part << " in " << all;
  const bool is_bad = verdict == Verdict::kInTheWay || verdict == Verdict::kCouldBeBetter;
  EXPECT_FALSE(is_bad && finding.remedy.empty()) << "how to mend it: " << all;
  EXPECT_FALSE(finding.check.empty() || finding.found.empty() || finding.meaning.empty()) << all;
}

}  // namespace ebbtide::test
