#include "ebbtide/error.hpp"
#include "src/model/llama_passes.hpp"

namespace ebbtide::model {

void require_trainable(const ModelConfig& config, const SharedKernels& kernels) {
  if (kernels == nullptr || config.use == ModelConfig::Use::kTrain) return;
  throw Error(Errc::kBadUsage, "model " + config.name +
                                   " is for planning only: its norms and activation have no "
                                   "kernels");
}

Program forward_backward_program(const ModelConfig& config, const ModelHomes& homes,
                                 const MicroStep& micro, SharedKernels device, OpFunction comm) {
  require_trainable(config, device);
  const StepDims dims = step_dims(config, micro.shape);
  Step step(config, homes, dims, Purpose::kTrain, micro.activations, std::move(device),
            std::move(comm));
  Gradients gradients(step, homes.parameters.size(), micro.gradients, micro.norms);
  add_forward(step, [&](std::int64_t c, ValueId output) {
    add_loss_and_gradient(step, gradients, c, output);
  });
  add_backward(step, gradients);
  return std::move(step.program);
}

Program evaluation_program(const ModelConfig& config, const ModelHomes& homes,
                           const StepShape& shape, SharedKernels device, OpFunction comm) {
  require_trainable(config, device);
  const StepDims dims = step_dims(config, shape);
  Step step(config, homes, dims, Purpose::kEvaluate, {}, std::move(device), std::move(comm));
  add_forward(step, [&](std::int64_t c, ValueId output) { add_loss(step, c, output); });
  return std::move(step.program);
}

}  // namespace ebbtide::model
