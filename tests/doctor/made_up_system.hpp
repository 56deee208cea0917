// A system made up for a test: files below a directory, answers as set. As it is made, all is well
// on it: each test breaks one thing.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "src/doctor/checks.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::test {

class MadeUpSystem final : public doctor::System {
 public:
  // 2 CPUs with AVX-512, 16 GiB of memory, one node, Linux 6.1, no limits, no GPU.
  MadeUpSystem();

  // A file below the root, with the directories above it.
  void write(const std::string& file, const std::string& text) const;
  // A link below the root to a place below the root.
  void link(const std::string& from, const std::string& to) const;

  std::filesystem::path root() const override { return root_.path(); }
  std::uint64_t limit(doctor::Resource resource) const override {
    const auto found = limits.find(resource);
    return found == limits.end() ? doctor::kUnlimited : found->second;
  }
  std::uint32_t user() const override { return 1000; }
  int ring_error() const override { return ring; }
  doctor::CudaProbe cuda() const override { return cuda_probe; }
  doctor::DirectoryProbe directory(const std::filesystem::path& /*path*/) const override {
    return directory_probe;
  }
  doctor::NumaMap numa() const override { return numa_map; }
  int usable_cpus() const override { return 2; }
  std::string_view compiled_for() const override { return compiled; }

  std::map<doctor::Resource, std::uint64_t> limits;
  int ring = 0;
  doctor::CudaProbe cuda_probe;
  doctor::DirectoryProbe directory_probe;
  doctor::NumaMap numa_map;
  std::string compiled = "avx512f";

 private:
  TemporaryDirectory root_{Medium::kMemory};
};

// The only finding of a check.
doctor::Finding only(const doctor::Findings& findings);

// It is of the verdict and holds the parts in what was found, its meaning or its remedy; one that
// is not good says how to mend it.
void expect_finding(const doctor::Finding& finding, doctor::Verdict verdict,
                    const std::vector<std::string>& parts);

}  // namespace ebbtide::test
