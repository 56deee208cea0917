// The optimizer program: the norm of the step's gradient, then AdamW from the embedding and layer 0
// up, so that the next step's forward finds its first layers done first.

#include <cmath>

#include "ebbtide/error.hpp"
#include "src/model/llama_operands.hpp"
#include "src/model/llama_ops.hpp"
#include "src/model/llama_values.hpp"

namespace ebbtide::model {
namespace {

// Factor on the summed gradient: to the mean over targets, clipped to grad_clip. 1e-6 as in
// torch.nn.utils.clip_grad_norm_.
double gradient_scale(const OptimizerScalars& scalars, double norm) {
  constexpr double kTiny = 1e-6;
  const double clip =
      scalars.grad_clip > 0 ? std::min(1.0, scalars.grad_clip / (norm + kTiny)) : 1.0;
  return clip / scalars.target_count;
}

bool decays(const Parameter& parameter) {
  return parameter.role == ParameterRole::kMatrix || parameter.role == ParameterRole::kEmbedding;
}

// Without a single target there is no gradient, and nothing moves: the weights stay.
void keep_weight(const Binding& b, const kernels::AdamW& op, void* stream) {
  if (op.weight == op.master) return;
  b.kernels->run(kernels::Cast{{op.master, DType::kF32, 1, op.count},
                               {op.weight, op.weight_dtype, 1, op.count}},
                 stream);
}

void add_gradient_norm(StepOps& ops, StepValues& values, std::size_t count) {
  std::vector<Use> uses{read(values.scalars()), write(values.gradient_norm())};
  for (std::size_t p = 0; p < count; ++p)
    uses.push_back(read(values.parameter(p, State::kSquareSum)));
  ops.gradient_norm(uses, {static_cast<std::int32_t>(count)});
}

void add_adamw(StepOps& ops, StepValues& values, const Parameter& parameter, std::size_t p,
               std::int64_t elements) {
  const ValueId weight = values.parameter(p, State::kWeight);
  const ValueId master = values.parameter(p, State::kMaster);
  std::vector<Use> uses{read(values.scalars()),
                        read(values.gradient_norm()),
                        read(values.parameter(p, State::kGradient)),
                        update(values.parameter(p, State::kM)),
                        update(values.parameter(p, State::kV)),
                        update(master)};
  if (weight != master) uses.push_back(write(weight));
  using Decay = AdamWArgs::Decay;
  ops.adamw(uses, {elements, decays(parameter) ? Decay::kDecay : Decay::kNone});
}

}  // namespace

void run_gradient_norm(const Binding&, const OpContext& context) {
  const auto args = args_of<NormOfGradientsArgs>(context);
  const auto& scalars = *reinterpret_cast<const OptimizerScalars*>(context.operands[0]);
  double sum = 0;
  for (std::int32_t p = 0; p < args.parameters; ++p)
    sum += *reinterpret_cast<const double*>(context.operands[static_cast<std::size_t>(p) + 2]);
  const double norm = scalars.target_count > 0 ? std::sqrt(sum) / scalars.target_count : 0.0;
  *reinterpret_cast<double*>(context.operands[1]) = norm;
}

void run_adamw(const Binding& b, const OpContext& context) {
  const auto args = args_of<AdamWArgs>(context);
  Operands next(b, context);
  const auto& scalars = *next.next_as<const OptimizerScalars>();
  const double norm = *next.next_as<const double>();
  kernels::AdamW op;
  op.gradient = next.next_as<const float>();
  op.m = next.next_as<float>();
  op.v = next.next_as<float>();
  op.master = next.next_as<float>();
  op.weight_dtype = b.dims.dtype;
  op.weight = op.weight_dtype == DType::kF32 ? op.master : next.next();
  op.count = args.count;
  if (scalars.target_count <= 0) return keep_weight(b, op, context.stream);
  op.step = scalars.step;
  op.learning_rate = scalars.learning_rate;
  op.beta1 = scalars.beta1;
  op.beta2 = scalars.beta2;
  op.epsilon = scalars.epsilon;
  op.weight_decay = args.decay == AdamWArgs::Decay::kDecay ? scalars.weight_decay : 0.0F;
  op.gradient_scale = static_cast<float>(gradient_scale(scalars, norm));
  b.kernels->run(op, context.stream);
}

Program optimizer_program(const ModelConfig& config, const ModelHomes& homes, DType dtype,
                          SharedKernels host) {
  const std::vector<Parameter> all = parameters(config);
  StepShape shape;  // an optimizer step knows no tokens
  shape.seq_len = 1;
  shape.chunk_tokens = 1;
  shape.dtype = dtype;
  const StepDims dims = step_dims(config, shape);
  require_trainable(config, host);
  Program program;
  program.set_home_bytes(homes.layout.bytes());
  StepOps ops(program, dims, std::move(host));
  StepValues values(program, config, homes, dims, Reach::kAny);
  program.begin_chunk_step();
  add_gradient_norm(ops, values, all.size());
  for (std::size_t p = 0; p < all.size(); ++p) {
    program.begin_chunk_step();
    add_adamw(ops, values, all[p], p, shard_elements(all[p].count(), homes.ranks));
  }
  return program;
}

}  // namespace ebbtide::model
