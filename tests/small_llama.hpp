// The shape that tests of plans, of training and of the command train share.
#pragma once

#include <cstdint>

#include "src/model/config.hpp"

namespace ebbtide::test {

// 2 layers, H 64, Q 4, G 2, D 16, F 96.
inline model::ModelConfig small_llama(std::int64_t vocab = 256) {
  model::ModelConfig config;
  config.name = "small";
  config.layers = 2;
  config.hidden = 64;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 16;
  config.ffn = 96;
  config.vocab = vocab;
  return config;
}

}  // namespace ebbtide::test
