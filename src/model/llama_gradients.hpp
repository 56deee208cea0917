// The gradient sums of a micro-step's parameters: how each contribution is added, and the norm
// partial when the last one has been.
#pragma once

#include <vector>

#include "src/model/llama_step.hpp"

namespace ebbtide::model {

class Gradients {
 public:
  Gradients(Step& step, std::size_t parameters, GradientStart start, NormPartials norms);

  // For a kernel that can overwrite: it writes the first contribution and updates with the others.
  struct Product {
    Use use;
    kernels::Accumulate accumulate;
  };
  Product product(std::size_t parameter);
  // For a kernel that always adds; zeroes the sum before the first contribution.
  Use sum(std::size_t parameter);
  // No contribution follows. Makes the sum of squares if this micro-step does.
  void complete(std::size_t parameter);

 private:
  Step& step_;
  NormPartials norms_;
  std::vector<bool> started_;  // by parameter: the sum has content
};

}  // namespace ebbtide::model
