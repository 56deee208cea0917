// What one layer keeps for its backward, tensor by tensor, where attention is fused and nothing is
// dropped: the rows of every strategy's bill. Closed forms; no program is built.
//
// In 16 bits the elements of a GPT layer with ffn = 4 h add up to 16 b s h (MEMO, Zhao et al.,
// SIGMOD 2025, section 3.2), those of a Llama layer to 4 h + 2 q + 2 kv + 3 ffn a token.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ebbtide/types.hpp"
#include "src/model/config.hpp"

namespace ebbtide::plan {

// Whether tensor parallelism splits a tensor over its ranks. What stands between its two blocks is
// on each of them (Korthikanti et al. 2022, equation 2), unless the sequence is split there too.
enum class Split : std::uint8_t { kReplicated, kByHeadOrColumn };

// What it is in a layer, where strategies treat it apart.
enum class Role : std::uint8_t { kLayerInput, kAttentionOutput, kLse, kMlp, kOther };

struct LayerTensor {
  std::string name;
  double bytes_a_token = 0;
  Split split = Split::kReplicated;
  Role role = Role::kOther;
};

std::vector<LayerTensor> layer_tensors(const model::ModelConfig& config, DType dtype);

// What MEMO calls skeletal: all of these but the log-sum-exp, of all layers. Bytes.
double skeletal_bytes(const model::ModelConfig& config, double tokens, DType dtype);

// The layer inputs alone, which full recomputation starts from: 2 s h bytes a layer in 16 bits.
double layer_input_bytes(const model::ModelConfig& config, double tokens, DType dtype);

// Scores, their dropout's mask and its output of one layer where attention is not fused: 5 a s^2
// bytes in 16 bits (Korthikanti et al. 2022, section 4.1).
double score_bytes(const model::ModelConfig& config, double tokens, DType dtype);

// fp32 logits of all tokens at once: 4 s V.
double logit_bytes(const model::ModelConfig& config, double tokens);

// Parameters of the whole model, of its largest layer, and of embedding and head together.
struct ParameterCounts {
  double all = 0;
  double layer = 0;
  double embedding = 0;
  double head = 0;  // 0 where it is the embedding
};
ParameterCounts parameter_counts(const model::ModelConfig& config);

}  // namespace ebbtide::plan
