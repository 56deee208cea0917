// What the usual strategies take of device and host, in closed form: the memory bill of one rank
// and of the whole run, beside which Ebbtide's own is read. Each is a lower bound: fragmentation,
// the kernels' scratch and the gradients of activations are left out. One sequence is in flight a
// data-parallel rank; where a strategy splits a sequence, all ranks share it.
//
// Sources
//  states       ZeRO (Rajbhandari et al. 2020, figure 1): 2 + 2 + 12 bytes a parameter in mixed
//               precision with AdamW; stages 1, 2 and 3 divide 12, then 2, then 2 by the ranks
//  recompute    Korthikanti et al. 2022: full keeps layer inputs; selective keeps all but scores
//  tensor       Korthikanti et al. 2022, equations 2 and 4
//  pipeline     Korthikanti et al. 2022, equation 5: the first of p stages keeps p micro-batches of
//               a p-th of the layers
//  offload      MEMO (Zhao et al., SIGMOD 2025): two buffers of a whole layer on the device, all
//               layers but the last two on the host; ALST (Bekman et al. 2025, arXiv 2506.13996v1):
//               layer inputs on the host, loss and MLP a tile at a time, which counts as nothing;
//               ZeRO-Infinity (Rajbhandari et al. 2021): the state there
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ebbtide/plan.hpp"
#include "src/plan/layer_tensors.hpp"
#include "src/plan/strategy_time.hpp"

namespace ebbtide::plan {

enum class Part : std::uint8_t {
  kWeights,
  kGradients,
  kOptimizer,    // master and moments
  kActivations,  // saved, by tensor
  kLogits,
  kBuffers,  // what is worked in, or passes through
};
inline constexpr std::size_t kPartCount = 6;
std::string_view name(Part part);

// Of one rank.
struct Amount {
  Part part = Part::kWeights;
  std::string name;
  double device_bytes = 0;
  double host_bytes = 0;
};

struct StrategyBill {
  std::string name;
  std::vector<Amount> amounts;
  Recompute recompute = Recompute::kNone;

  double device_bytes() const;
  double host_bytes() const;
  double device_bytes(Part part) const;
  bool fits(const Budgets& budgets) const;  // NVMe is not used
};

struct StrategyCase {
  const model::ModelConfig& config;
  double tokens = 0;  // of a sequence
  DType dtype = DType::kBf16;
  double ranks = 1;
};

// Everything kept, nothing divided: one rank's bill under plain data parallelism, and the whole
// model's.
StrategyBill whole_model(const StrategyCase& of);
StrategyBill rounding_buffers(const StrategyCase& of);
StrategyBill offloaded_layer_inputs(const StrategyCase& of);
// Tensor and sequence parallel over `ranks`, which also divide the state, with full recomputation.
StrategyBill recomputed_tensor_parallel(const StrategyCase& of);
// State and layer inputs on the host, loss and MLP in tiles: all that ALST has.
StrategyBill tiled_on_host(const StrategyCase& of);

// All strategies, in the order in which a table shows them.
std::vector<StrategyBill> strategies(const StrategyCase& of);

}  // namespace ebbtide::plan
