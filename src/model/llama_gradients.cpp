#include "src/model/llama_gradients.hpp"

namespace ebbtide::model {

Gradients::Gradients(Step& step, std::size_t parameters, GradientStart start, NormPartials norms)
    : step_(step), norms_(norms), started_(parameters, start == GradientStart::kAdd) {}

Gradients::Product Gradients::product(std::size_t parameter) {
  const ValueId value = step_.values.parameter(parameter, State::kGradient);
  if (started_[parameter]) return {update(value), kernels::Accumulate::kAdd};
  started_[parameter] = true;
  return {write(value), kernels::Accumulate::kOverwrite};
}

Use Gradients::sum(std::size_t parameter) {
  const ValueId value = step_.values.parameter(parameter, State::kGradient);
  if (!started_[parameter]) step_.ops.zero(write(value));
  started_[parameter] = true;
  return update(value);
}

void Gradients::complete(std::size_t parameter) {
  if (norms_ == NormPartials::kNone) return;
  step_.ops.sum_of_squares(read(step_.values.parameter(parameter, State::kGradient)),
                           write(step_.values.parameter(parameter, State::kSquareSum)));
}

}  // namespace ebbtide::model
