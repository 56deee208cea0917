// What options leave to "auto" as far as no plan has to be made to know it: shape, activation
// policies to try, the planner's options. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "ebbtide/hardware.hpp"
#include "ebbtide/plan.hpp"
#include "src/model/llama.hpp"
#include "src/train/options.hpp"

namespace ebbtide::train {

// A limit on resident bytes that was not given.
inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// Chunk and group as asked, or as pure functions of model, length, dtype and ranks.
model::StepShape resolve_shape(const model::ModelConfig& config, const TrainOptions& options,
                               const model::RankShape& ranks = {});

// Policies in the order in which they are tried: as given, or keep what fits, then offload, then
// recompute more and more.
std::vector<model::ActivationPolicy> policies_to_try(const PlanningOptions& options);

// Those with which a search begins under a placement: weights and gradients stay on the device by
// "auto" only when all activations do too.
std::vector<model::ActivationPolicy> policies_to_start_with(const TrainOptions& options,
                                                            const model::StatePlacement& placement);

// What a search may change a policy to: as given, or keep what fits and offload, with more and more
// of each part of a layer recomputed.
std::vector<model::ActivationPolicy> policies_to_change_to(const PlanningOptions& options);

// Attention groups to try: as given, or powers of two.
std::vector<std::int64_t> groups_to_try(const model::StepShape& shape,
                                        const PlanningOptions& options);

// Loads are issued at least two 99th percentiles of the drives' latency ahead.
PlanOptions plan_options(const TrainOptions& options, const HardwareModel& hardware);

// The machine behind a link that --link-bandwidth slows.
HardwareModel paced(HardwareModel hardware, const TransferOptions& transfer);
// Of an evaluation, which is planned as long as training; 0 where there is none.
std::int64_t evaluated_tokens(const TrainOptions& options);

// What a run's plans are timed by: the machine that is given or else a common one, paced.
HardwareModel rates_of(const TrainOptions& options);

}  // namespace ebbtide::train
