#include "src/plan/layer_tensors.hpp"

#include <algorithm>

#include "src/model/llama.hpp"

namespace ebbtide::plan {

std::vector<LayerTensor> layer_tensors(const model::ModelConfig& config, DType dtype) {
  const auto element = static_cast<double>(dtype_bytes(dtype));
  const double hidden = element * static_cast<double>(config.hidden);
  const double q = element * static_cast<double>(config.heads * config.head_dim);
  const double kv = element * static_cast<double>(config.kv_heads * config.head_dim);
  const double ffn = element * static_cast<double>(config.ffn);
  const double lse =
      static_cast<double>(dtype_bytes(DType::kF32)) * static_cast<double>(config.heads);
  constexpr Split kAlike = Split::kReplicated;
  constexpr Split kSplit = Split::kByHeadOrColumn;
  std::vector<LayerTensor> tensors{{"layer input", hidden, kAlike, Role::kLayerInput},
                                   {"input norm", hidden, kAlike},
                                   {"q", q, kSplit},
                                   {"k", kv, kSplit},
                                   {"v", kv, kSplit},
                                   {"attention output", q, kSplit, Role::kAttentionOutput},
                                   {"log-sum-exp", lse, kSplit, Role::kLse},
                                   {"mid-layer residual", hidden, kAlike},
                                   {"post-attention norm", hidden, kAlike}};
  const bool gelu = config.use == model::ModelConfig::Use::kPlanOnly;
  if (config.qk_norm == model::ModelConfig::QkNorm::kPerHead) {
    tensors.push_back({"q before its norm", q, kSplit});
    tensors.push_back({"k before its norm", kv, kSplit});
  }
  for (const char* name :
       gelu ? std::vector{"up", "GELU output"} : std::vector{"gate", "up", "activated gate"})
    tensors.push_back({name, ffn, kSplit, Role::kMlp});
  return tensors;
}

double skeletal_bytes(const model::ModelConfig& config, double tokens, DType dtype) {
  double a_token = 0;
  for (const LayerTensor& tensor : layer_tensors(config, dtype))
    a_token += tensor.role == Role::kLse ? 0 : tensor.bytes_a_token;
  return a_token * tokens * static_cast<double>(config.layers);
}

double layer_input_bytes(const model::ModelConfig& config, double tokens, DType dtype) {
  return static_cast<double>(dtype_bytes(dtype)) * static_cast<double>(config.hidden) * tokens *
         static_cast<double>(config.layers);
}

double score_bytes(const model::ModelConfig& config, double tokens, DType dtype) {
  const double a_score = 2 * static_cast<double>(dtype_bytes(dtype)) + 1;  // the mask is a byte
  return a_score * static_cast<double>(config.heads) * tokens * tokens;
}

double logit_bytes(const model::ModelConfig& config, double tokens) {
  return static_cast<double>(dtype_bytes(DType::kF32)) * static_cast<double>(config.vocab) * tokens;
}

ParameterCounts parameter_counts(const model::ModelConfig& config) {
  ParameterCounts counts;
  for (const model::Parameter& parameter : model::parameters(config)) {
    const auto count = static_cast<double>(parameter.count());
    counts.all += count;
    if (parameter.layer == 0) counts.layer += count;
    if (parameter.role == model::ParameterRole::kEmbedding) counts.embedding += count;
    if (parameter.name == "lm_head.weight") counts.head = count;
  }
  return counts;
}

}  // namespace ebbtide::plan
