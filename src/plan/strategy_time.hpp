// How much the usual strategies compute, in closed form, and how long that takes at best. Lower
// bounds, as the bills of strategies.hpp are: copies, collectives and pipeline bubbles, where they
// do not hide, come on top.
//
// Model flops are those of prediction.hpp: 2 P s + 2 L h s^2 forward, twice that backward, causal.
// What is recomputed comes on top; what a fused attention makes again inside its backward does not,
// so that an efficiency fitted on times has it in.
#pragma once

#include <cstdint>

#include "ebbtide/hardware.hpp"
#include "src/model/config.hpp"

namespace ebbtide::plan {

enum class Recompute : std::uint8_t {
  kNone,
  kAttention,  // selective: scores and what follows of them (Korthikanti et al. 2022)
  kFull,       // the whole forward
};

struct StepWork {
  double matmul_flops = 0;  // products with weights
  double attention_flops = 0;
};

// Of one sequence: forward, recomputation and backward.
StepWork sequence_work(const model::ModelConfig& config, double tokens, Recompute recompute);

// What one device sustains of each, flops a second.
struct ComputeSpeed {
  double matmul_flops_per_s = 0;
  double attention_flops_per_s = 0;
};

// Large products and attention, as far as they are known apart.
ComputeSpeed compute_speed(const HardwareModel& rates);

// Seconds of `work` on `ranks` devices that all compute all the time.
double compute_seconds(const StepWork& work, const ComputeSpeed& speed, double ranks);

}  // namespace ebbtide::plan
