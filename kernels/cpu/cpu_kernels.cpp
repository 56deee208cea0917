#include <sched.h>

#include <algorithm>
#include <memory>

#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/team.hpp"
#include "kernels/kernels.hpp"

namespace ebbtide::kernels {
namespace {

class CpuKernels final : public Kernels {
 public:
  explicit CpuKernels(const CpuKernelsOptions& options) : team_(options.threads) {
    if (options.products == Products::kFastest && cpu::NativeProducts::is_fast(DType::kF32)) {
      natives_ = std::make_unique<cpu::NativeProducts>();
    }
  }

  void run(const Matmul& op, void*) override { cpu::run(op, team_, natives_.get()); }
  void run(const RmsNormForward& op, void*) override { cpu::run(op, team_); }
  void run(const RmsNormBackward& op, void*) override { cpu::run(op, team_); }
  void run(const RopeTable& op, void*) override { cpu::run(op, team_); }
  void run(const Rope& op, void*) override { cpu::run(op, team_); }
  void run(const AttentionForward& op, void*) override { cpu::run(op, team_); }
  void run(const AttentionDelta& op, void*) override { cpu::run(op, team_); }
  void run(const AttentionBackward& op, void*) override { cpu::run(op, team_); }
  void run(const SwigluForward& op, void*) override { cpu::run(op, team_); }
  void run(const SwigluBackward& op, void*) override { cpu::run(op, team_); }
  void run(const EmbeddingForward& op, void*) override { cpu::run(op, team_); }
  void run(const EmbeddingBackward& op, void*) override { cpu::run(op, team_); }
  void run(const CrossEntropy& op, void*) override { cpu::run(op, team_); }
  void run(const Cast& op, void*) override { cpu::run(op, team_); }
  void run(const Add& op, void*) override { cpu::run(op, team_); }
  void run(const BiasBackward& op, void*) override { cpu::run(op, team_); }
  void run(const SumOfSquares& op, void*) override { cpu::run(op, team_); }
  void run(const AdamW& op, void*) override { cpu::run(op, team_); }

 private:
  cpu::Team team_;
  std::unique_ptr<cpu::NativeProducts> natives_;
};

}  // namespace

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

std::unique_ptr<Kernels> make_cpu_kernels(const CpuKernelsOptions& options) {
  return std::make_unique<CpuKernels>(options);
}

}  // namespace ebbtide::kernels
