// What Ebbtide predicts of published cases: one function a kind of prediction.
#pragma once

#include "src/plan/planned_run.hpp"
#include "src/plan/strategies.hpp"
#include "tests/plan_command/published_cases.hpp"

namespace ebbtide::test {

// Activations, checkpoints or buffers of the case's strategy, in closed form.
double predicted_bytes(const PublishedCase& of);

// The node's memory that the csv gives, as far as it gives any, and the rest as in the file of a
// machine with such cards.
hardware::Machine machine_of(const PublishedCase& of);

// The case as we would run it, without drives.
plan::Request request_of(const PublishedCase& of);
// The same as the case's strategy does it: state and layer inputs on the host, all recomputed.
plan::Request recomputing_request_of(const PublishedCase& of);

// The part of a card that a plan may fill. Bytes.
double card_bytes(const PublishedCase& of);
// Of a rank, in closed form.
plan::StrategyCase strategy_case_of(const PublishedCase& of, const model::ModelConfig& config,
                                    double ranks);

// The fraction of tokens whose tensors are saved under MEMO's policy (Zhao et al., SIGMOD 2025),
// from a program of one rank: layer input, attention output and its log-sum-exp always go to the
// host, of the other tensors as many tokens as host and link allow; the last two layers' stay.
struct TokenFraction {
  double by_host = 0;
  double by_link = 0;

  double value() const;
};
TokenFraction token_fraction(const PublishedCase& of);

// Bytes of layers but the last two that leave the device in a step of one rank of the case, where
// `saved` of its chunks save all; of chunks of `chunk_tokens`.
double leaving_bytes(const PublishedCase& of, std::int64_t chunk_tokens, double saved);

// What a card sustains of its peak.
struct ComputeEfficiency {
  double matmul = 0;
  double attention = 0;
};
// Under which both cases, fully recomputed, take exactly as long as was published.
ComputeEfficiency fitted(const PublishedCase& a, const PublishedCase& b);
// The only two rows that anything is fitted on.
inline constexpr std::array kFittedRows{"39", "43"};
ComputeEfficiency fitted_efficiency();

// Of a step of all its sequences, fully recomputed.
double predicted_seconds(const PublishedCase& of, const ComputeEfficiency& efficiency);

}  // namespace ebbtide::test
