#include "src/model/llama_gradients.hpp"

namespace ebbtide::model {

Gradients::Gradients(Step& step, std::size_t parameters, GradientStart start, NormPartials norms)
    : step_(step),
      norms_(norms),
      started_(parameters, start == GradientStart::kAdd && !step.dims.ranks.many()),
      shard_started_(parameters, start == GradientStart::kAdd),
      whole_(parameters) {}

ValueId Gradients::sum_of(std::size_t parameter) {
  if (!step_.dims.ranks.many()) return step_.values.parameter(parameter, State::kGradient);
  std::optional<ValueId>& whole = whole_[parameter];
  if (!whole) whole = step_.values.whole(parameter, State::kGradient);
  return *whole;
}

Gradients::Product Gradients::product(std::size_t parameter) {
  const ValueId value = sum_of(parameter);
  if (started_[parameter]) return {update(value), kernels::Accumulate::kAdd};
  started_[parameter] = true;
  return {write(value), kernels::Accumulate::kOverwrite};
}

Use Gradients::sum(std::size_t parameter) {
  const ValueId value = sum_of(parameter);
  if (!started_[parameter]) step_.ops.zero(write(value));
  started_[parameter] = true;
  return update(value);
}

void Gradients::complete(std::span<const std::size_t> parameters) {
  if (!step_.dims.ranks.many()) return add_squares(parameters);
  reduce(parameters);
  add_squares(on_their_way_);
  on_their_way_.assign(parameters.begin(), parameters.end());
}

void Gradients::add_squares(std::span<const std::size_t> parameters) {
  if (norms_ == NormPartials::kNone) return;
  for (const std::size_t p : parameters)
    step_.ops.sum_of_squares(read(step_.values.parameter(p, State::kGradient)),
                             write(step_.values.parameter(p, State::kSquareSum)));
}

void Gradients::pause(std::size_t parameter) {
  if (step_.dims.ranks.many()) reduce({&parameter, 1});
}

// Those of one call have all been reduced before or none has.
void Gradients::reduce(std::span<const std::size_t> parameters) {
  std::vector<Reduced> reduced;
  const ShardStart start = shard_started_[parameters[0]] ? ShardStart::kAdd : ShardStart::kZero;
  for (const std::size_t p : parameters) {
    reduced.push_back({p, *whole_[p]});
    started_[p] = false;
    shard_started_[p] = true;
    whole_[p].reset();
  }
  reduce_scatter(step_, reduced, start);
}

void Gradients::finish() {
  if (!step_.dims.ranks.many() || norms_ == NormPartials::kNone) return;
  add_squares(on_their_way_);
  std::vector<ValueId> sums;
  for (std::size_t p = 0; p < started_.size(); ++p)
    sums.push_back(step_.values.parameter(p, State::kSquareSum));
  all_reduce(step_, sums);
}

}  // namespace ebbtide::model
