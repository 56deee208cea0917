// Adds the ops of a Llama step to a Program: operands in the order that llama_bindings.hpp states,
// arguments, and what each op costs.
//
// Costs: a multiply-add counts two; causal pairs on the diagonal count only the scores that are
// computed; bytes are those of the operands, read once and written once.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "src/model/collectives.hpp"
#include "src/model/llama_bindings.hpp"

namespace ebbtide::model {

enum class OpName : std::uint8_t {
  kEmbedding,
  kRopeTable,
  kInputNorm,
  kQ,
  kK,
  kV,
  kQNorm,
  kKNorm,
  kAttention,
  kRoundAttention,
  kO,
  kPostNorm,
  kGate,
  kUp,
  kSwiglu,
  kGelu,
  kDown,
  kFinalNorm,
  kHeadLoss,
  kHeadLossGradient,
  kFinalNormGradient,
  kDownWeightGradient,
  kDownGradient,
  kSwigluGradient,
  kGeluGradient,
  kGateWeightGradient,
  kUpWeightGradient,
  kGateGradient,
  kUpGradient,
  kPostNormGradient,
  kOWeightGradient,
  kOGradient,
  kAttentionDelta,
  kAttentionGradient,
  kQHeadGradient,
  kKHeadGradient,
  kVHeadGradient,
  kQWeightGradient,
  kKWeightGradient,
  kVWeightGradient,
  kQBiasGradient,
  kKBiasGradient,
  kVBiasGradient,
  kQGradient,
  kKGradient,
  kVGradient,
  kInputNormGradient,
  kEmbeddingGradient,
  kZero,
  kSumOfSquares,
  kGradientNorm,
  kAdamW,
  kAllGather,
  kReduceScatter,
  kTokensToHeads,
  kHeadsToTokens,
  kAllReduce,
};
inline constexpr std::size_t kOpNameCount = static_cast<std::size_t>(OpName::kAllReduce) + 1;

class StepOps {
 public:
  // Null kernels and an empty `comm`: ops without callbacks.
  StepOps(Program& program, const StepDims& dims, SharedKernels kernels, OpFunction comm = {});

  // A product with a weight: forward or either gradient, by the op's name.
  void linear(OpName op, std::initializer_list<Use> uses, const LinearArgs& args);
  void linear(OpName op, std::span<const Use> uses, const LinearArgs& args);
  void norm(OpName op, std::span<const Use> uses, const NormArgs& args);
  void attention(OpName op, std::initializer_list<Use> uses, const PairArgs& args);
  // Ops whose work is a few operations on each element.
  void elementwise(OpName op, std::initializer_list<Use> uses, const RowsArgs& args);
  void embedding(OpName op, std::initializer_list<Use> uses, std::int64_t rows);
  void rope_table(Use table, const RopeTableArgs& args);
  void head_loss(OpName op, std::span<const Use> uses, const HeadArgs& args);
  void zero(Use x);
  void sum_of_squares(Use x, Use sum);
  void gradient_norm(std::span<const Use> uses, const NormOfGradientsArgs& args);
  void adamw(std::span<const Use> uses, const AdamWArgs& args);
  void collective(std::span<const Use> uses, const CollectiveArgs& args);

 private:
  template <typename Args>
  void add(OpName op, std::span<const Use> uses, const Args& args, double flops);
  double operand_bytes(std::span<const Use> uses) const;
  KernelId kernel(OpName op);

  Program& program_;
  std::shared_ptr<const Binding> binding_;
  OpFunction comm_;
  std::array<std::int32_t, kOpNameCount> kernels_{};
};

}  // namespace ebbtide::model
