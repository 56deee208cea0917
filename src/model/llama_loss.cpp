#include "src/model/llama_passes.hpp"
#include "src/model/llama_ranks.hpp"

namespace ebbtide::model {
namespace {

ValueId final_norm(Step& step, std::int64_t c, ValueId output) {
  const ValueId y = step.values.make(Activation::kFinalNorm, Keeping::kTransient, -1, c);
  NormArgs args;
  args.tokens = step.rows(c);
  args.width = static_cast<std::int32_t>(step.dims.hidden);
  const std::array uses{read(output), step.weight(step.params.final_norm()), write(y)};
  step.ops.norm(OpName::kFinalNorm, uses, args);
  return y;
}

// Operands that the loss has with and without gradients.
std::vector<Use> loss_uses(Step& step, std::int64_t c, ValueId y) {
  const ValueId logits = step.values.make(Activation::kLogits, Keeping::kTransient, -1, c);
  const ValueId loss = step.values.loss();
  return {read(y), step.weight(step.params.head()), read(step.values.targets(c)),
          c == 0 ? write(loss) : update(loss), write(logits)};
}

HeadArgs head_args(const Step& step, std::int64_t c) {
  HeadArgs args;
  args.rows = step.rows(c);
  args.loss = c == 0 ? HeadArgs::LossStart::kZero : HeadArgs::LossStart::kAdd;
  return args;
}

void final_norm_gradient(Step& step, Gradients& gradients, std::int64_t c, ValueId output,
                         ValueId dy) {
  const ValueId dx = step.values.make(Activation::kDOutput, step.always(), -1, c);
  const std::size_t norm = step.params.final_norm();
  NormArgs args;
  args.tokens = step.rows(c);
  args.width = static_cast<std::int32_t>(step.dims.hidden);
  const Use dweight = gradients.sum(norm);
  const std::array uses{read(output), step.weight(norm), read(dy),
                        write(dx, step.after(step.always())), dweight};
  step.ops.norm(OpName::kFinalNormGradient, uses, args);
  step.d_output.push_back(dx);
}

void add_loss_of_others(Step& step, std::int64_t c) {
  const std::array loss{step.values.loss()};
  if (step.dims.ranks.many() && c + 1 == step.dims.chunks()) all_reduce(step, loss);
}

}  // namespace

void add_loss(Step& step, std::int64_t c, ValueId output) {
  const ValueId y = final_norm(step, c, output);
  step.ops.head_loss(OpName::kHeadLoss, loss_uses(step, c, y), head_args(step, c));
  add_loss_of_others(step, c);
}

void add_loss_and_gradient(Step& step, Gradients& gradients, std::int64_t c, ValueId output) {
  const ValueId y = final_norm(step, c, output);
  const ValueId dy = step.values.make(Activation::kDFinalNorm, Keeping::kTransient, -1, c);
  const Gradients::Product head = gradients.product(step.params.head());
  std::vector<Use> uses = loss_uses(step, c, y);
  uses.insert(uses.end(), {write(dy), head.use});
  if (step.dims.dtype != DType::kF32)
    uses.push_back(write(step.values.make(Activation::kDLogits, Keeping::kTransient, -1, c)));
  HeadArgs args = head_args(step, c);
  args.head_gradient = head.accumulate;
  step.ops.head_loss(OpName::kHeadLossGradient, uses, args);
  final_norm_gradient(step, gradients, c, output, dy);
  add_loss_of_others(step, c);
  if (c + 1 < step.dims.chunks()) return;
  const std::array both{step.params.final_norm(), step.params.head()};
  const bool tied = step.params.head() == step.params.embedding();
  gradients.complete(std::span(both).first(tied ? 1 : 2));
  if (tied) gradients.pause(step.params.head());
}

}  // namespace ebbtide::model
