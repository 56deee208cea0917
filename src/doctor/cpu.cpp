// The CPU: its instructions, and how much of its time this process gets.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/doctor/checks.hpp"
#include "src/doctor/system_files.hpp"
#include "tiering/tiers/control_groups.hpp"

namespace ebbtide::doctor {
namespace {

class Instructions {
 public:
  explicit Instructions(const std::filesystem::path& cpuinfo)
      : words_(words_of(value_of(cpuinfo, "flags").value_or(""))),
        is_amd_(value_of(cpuinfo, "vendor_id") == "AuthenticAMD"),
        model_(value_of(cpuinfo, "model name").value_or("a CPU that gives no name")) {}

  bool known() const { return !words_.empty(); }
  bool has(const std::string& name) const {
    return std::ranges::find(words_, name) != words_.end();
  }
  const std::string& model() const { return model_; }

  // Those that decide speed, of this CPU.
  std::string text() const {
    std::string text;
    for (const char* name : {"avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16"})
      if (has(name)) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
    return text.empty() ? "none of avx2, avx512f, avx512_bf16, amx_bf16" : text;
  }

  // Where oneDNN multiplies bf16 near its peak (kernels/cpu/native_product.cpp).
  bool is_fast_in_bf16() const { return has("amx_bf16") || (has("avx512_bf16") && is_amd_); }

 private:
  std::vector<std::string> words_;
  bool is_amd_;
  std::string model_;
};

std::string speed_text(const Instructions& cpu) {
  const std::string fp32 = cpu.has("avx512f") ? "fp32 products run on AVX-512"
                           : cpu.has("avx2")  ? "fp32 products run on AVX2, half as wide as AVX-512"
                                              : "products run on narrow vectors, several times "
                                                "slower than with AVX2";
  return fp32 + (cpu.is_fast_in_bf16()
                     ? "; bf16 products run faster than fp32"
                     : "; bf16 is widened to fp32 for products: --dtype bf16 halves memory and "
                       "traffic, not compute time");
}

// Whether the build leaves vectors of this CPU unused.
bool is_built_narrower(const Instructions& cpu, std::string_view compiled_for) {
  if (compiled_for == "avx512f") return false;
  return cpu.has("avx512f") || (cpu.has("avx2") && compiled_for.empty());
}

}  // namespace

Findings check_cpu(const System& system) {
  const Instructions cpu(system.root() / "proc/cpuinfo");
  Finding finding{"cpu", "CPU instructions", Verdict::kGood,
                  fmt::format("{}: {}", cpu.model(), cpu.text()), speed_text(cpu)};
  if (!cpu.known()) {
    finding.verdict = Verdict::kNotHere;
    finding.found = "/proc/cpuinfo lists no instruction sets";
    finding.meaning = "kernels choose by themselves";
    return {finding};
  }
  if (is_built_narrower(cpu, system.compiled_for())) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.found +=
        fmt::format("; this build was compiled for {}",
                    system.compiled_for().empty() ? "less than avx2" : system.compiled_for());
    finding.remedy = "meson configure build -Dcpu_arch=native && ninja -C build";
  } else if (!cpu.has("avx2")) {
    finding.verdict = Verdict::kCouldBeBetter;
    finding.remedy =
        "a virtual machine may hide them: give it the host's CPU model (QEMU: -cpu host)";
  }
  return {finding};
}

Findings check_cpu_time(const System& system) {
  const int cpus = system.usable_cpus();
  const auto quota = tiers::cpu_quota(system.root());
  Finding finding{"cpu_time", "CPU time", Verdict::kGood,
                  fmt::format("{} CPUs may be used, without a quota", cpus),
                  "as many threads compute unless --threads says otherwise"};
  if (!quota) return {finding};
  finding.found = fmt::format("{} CPUs may be used; {} allows the time of {:.3g}", cpus,
                              quota->limited_by, quota->cpus);
  if (quota->cpus >= cpus) return {finding};
  const int threads = std::max(1, static_cast<int>(std::floor(quota->cpus)));
  finding.verdict = Verdict::kCouldBeBetter;
  finding.meaning = "threads past the quota are halted in mid-step, and the others wait for them";
  finding.remedy =
      fmt::format("--threads {}, or raise the quota (Docker: --cpus {}; Kubernetes: limits.cpu)",
                  threads, cpus);
  return {finding};
}

}  // namespace ebbtide::doctor
