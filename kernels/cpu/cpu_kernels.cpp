#include <memory>

#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/team.hpp"
#include "kernels/kernels.hpp"

namespace ebbtide::kernels {
namespace {

class CpuKernels final : public Kernels {
 public:
  explicit CpuKernels(int threads) : team_(threads) {
    if (cpu::NativeProducts::has_bf16()) {
      native_bf16_ = std::make_unique<cpu::NativeProducts>(DType::kBf16);
    }
  }

  void run(const Matmul& op, void*) override { cpu::run(op, team_, native_bf16_.get()); }
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
  std::unique_ptr<cpu::NativeProducts> native_bf16_;
};

}  // namespace

std::unique_ptr<Kernels> make_cpu_kernels(const CpuKernelsOptions& options) {
  return std::make_unique<CpuKernels>(options.threads);
}

}  // namespace ebbtide::kernels
