// How long does the verifier take, and how much memory, on the plan of one step of llama2-7b?
// The limit: planning and verifying 1M tokens within 5 s and 512 MiB; of it 1.5 s and 150 MiB are
// the verifier's. Usage: verify_bench [tokens] [chunk] [device GiB]
#include <fmt/format.h>
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "ebbtide/plan.hpp"
#include "src/model/llama.hpp"

namespace {

// Of this process alone, so that what else the machine does counts little.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
// A line of /proc/self/status: "VmHWM" is the peak, "VmRSS" what is resident now.
double resident_mib(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string text; std::getline(status, text);)
    if (text.starts_with(line)) return std::atof(text.c_str() + line.size() + 1) / 1024;
  return 0;
}
void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

}  // namespace

int main(int count, char** words) {
  using namespace ebbtide;
  const auto word = [&](int i, std::int64_t otherwise) {
    return count > i ? std::atoll(words[i]) : otherwise;
  };
  const model::ModelConfig config = model::preset("llama2-7b");
  const model::StepShape shape{.seq_len = word(1, 1 << 20),
                               .chunk_tokens = word(2, 8192),
                               .attention_group = 1,
                               .dtype = DType::kBf16};
  const model::ModelHomes homes =
      model::lay_out_homes(config, shape, {Tier::kHost, Tier::kHost, Tier::kHost});
  const model::ActivationPolicy policy{.mode = model::ActivationMode::kOffload,
                                       .reach = Reach::kAny};
  const Program program = model::forward_backward_program(
      config, homes, {.shape = shape, .activations = policy}, nullptr);
  const Budgets budgets{static_cast<std::uint64_t>(word(3, 24)) << 30, std::uint64_t{512} << 30,
                        std::uint64_t{8} << 40};
  const double begin_s = cpu_seconds();
  const Plan plan = make_plan(program, budgets, generic_cpu_hardware(), {});
  const double planned_s = cpu_seconds();
  const double planned_mib = resident_mib("VmHWM");
  malloc_trim(0);
  reset_peak();
  const double before_mib = resident_mib("VmRSS");
  std::size_t tasks = 0;
  for (const auto& lane : plan.tasks) tasks += lane.size();
  fmt::print("{} ops, {} values, {} uses, {} tasks, {} waits\n", program.op_count(),
             program.value_count(), program.use_count(), tasks, plan.waits.size());
  fmt::print("plan   {:.2f} s, peak {:.0f} MiB with a program of {} MiB and a plan of {} MiB\n",
             planned_s - begin_s, planned_mib, program.memory_bytes() >> 20,
             plan.memory_bytes() >> 20);
  std::vector<double> times;
  for (int run = 0; run < 5; ++run) {
    const double start_s = cpu_seconds();
    const Verdict verdict = verify(program, plan);
    times.push_back(cpu_seconds() - start_s);
    if (!verdict.ok()) {
      fmt::print("{}: {}\n", name(verdict.fault), verdict.message);
      return 1;
    }
  }
  std::ranges::sort(times);
  fmt::print("verify {:.2f} s ({:.2f} to {:.2f}), {:.0f} % of 1.5 s; {:.0f} MiB, of 150\n",
             times[2], times[0], times[4], times[2] / 1.5 * 100,
             resident_mib("VmHWM") - before_mib);
  return 0;
}
