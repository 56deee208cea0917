// The values of a Llama step: activations by (layer, chunk), and parameters with their gradients
// and optimizer state at their homes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "src/model/llama_dims.hpp"

namespace ebbtide::model {

// Shapes for a chunk of C tokens; t is the step's dtype. A leading D names a gradient. Of many
// ranks C are the tokens of the rank's slice, but C' those of the whole chunk and Q', G' the rank's
// heads: that is how attention sees it.
enum class Activation : std::uint8_t {
  kRopeTable,         // (C, D) fp32
  kLayerInput,        // (C, H) t; that of layer `layers` is the last layer's output
  kInputNorm,         // (C, H) t
  kRawQ,              // (C, Q D) t, before its head norm
  kRawK,              // (C, G D) t
  kQ,                 // (C', Q' D) t, rotated
  kK,                 // (C', G' D) t, rotated
  kV,                 // (C', G' D) t
  kRunningAttention,  // (C', Q' D) fp32, over the keys seen so far
  kAttention,         // (C, Q D) t
  kLse,               // (C', Q') fp32
  kMid,               // (C, H) t, the residual between attention and MLP
  kPostNorm,          // (C, H) t
  kGate,              // (C, F) t
  kUp,                // (C, F) t
  kAct,               // (C, F) t
  kFinalNorm,         // (C, H) t
  kLogits,            // (tile, V) fp32
  kDLogits,           // (tile, V) t
  kDFinalNorm,        // (C, H) t
  kDOutput,           // (C, H) t, of the last layer's output: made in forward, kept for backward
  kDAct,              // (C, F) t
  kDGate,             // (C, F) t
  kDUp,               // (C, F) t
  kDPostNormPart,     // (C, H) t, without up's part
  kDPostNorm,         // (C, H) t
  kDMid,              // (C, H) t
  kDAttention,        // (C, Q D) t
  kDelta,             // (C, Q) fp32
  kDQ,                // (C', Q' D) fp32
  kDK,                // (C', G' D) fp32
  kDV,                // (C', G' D) fp32
  kDRawQ,             // (C, Q D) t
  kDRawK,             // (C, G D) t
  kDRawV,             // (C, G D) t
  kDInputNormQ,       // (C, H) t, q's part
  kDInputNormQk,      // (C, H) t, q's and k's part
  kDInputNorm,        // (C, H) t
  kDInput,            // (C, H) t
  // Of many ranks alone: the other side of an all-to-all.
  kSliceQ,          // (C, Q D) t
  kSliceK,          // (C, G D) t
  kSliceV,          // (C, G D) t
  kHeadAttention,   // (C', Q' D) t
  kHeadDAttention,  // (C', Q' D) t
  kHeadDelta,       // (C', Q') fp32
  kSliceDQ,         // (C, Q D) fp32
  kSliceDK,         // (C, G D) fp32
  kSliceDV,         // (C, G D) fp32
};
inline constexpr std::size_t kActivationCount = static_cast<std::size_t>(Activation::kSliceDV) + 1;

// Saved: held from forward to backward, and billed so.
enum class Keeping : std::uint8_t { kTransient, kSaved };

// ValueKind::resident_limit of all weights: --max-live-parameters.
inline constexpr std::uint8_t kWeightLimit = 0;

// What is kept of a parameter.
enum class State : std::uint8_t { kWeight, kGradient, kMaster, kM, kV, kSquareSum };

class StepValues {
 public:
  StepValues(Program& program, const ModelConfig& config, const ModelHomes& homes,
             const StepDims& dims, Reach saved_reach);

  ValueId make(Activation what, Keeping keeping, std::int64_t layer, std::int64_t chunk);
  // The one value of a parameter's state; made when first asked for. Of many ranks, the rank's
  // shard.
  ValueId parameter(std::size_t index, State state);
  // A new value for a parameter's whole weight or gradient, padded to N shards.
  ValueId whole(std::size_t index, State state);
  // A new value for what an all-to-all sends and receives.
  ValueId staging(std::uint64_t size_bytes, std::int64_t chunk);
  std::int64_t elements(std::size_t parameter) const { return parameters_[parameter].count(); }
  ValueId tokens(std::int64_t chunk);
  ValueId targets(std::int64_t chunk);
  ValueId loss();
  ValueId scalars();
  ValueId gradient_norm();

 private:
  static constexpr ValueId kNone = ~ValueId{0};

  KindId activation_kind(Activation what, Keeping keeping);
  KindId named_kind(std::string name, const char* category,
                    std::optional<std::uint8_t> resident_limit);
  ValueId data(std::vector<ValueId>& made, const std::vector<Home>& homes, std::int64_t chunk,
               const char* name);
  ValueId single(ValueId& made, const Home& home, DType dtype, const char* name);

  Program& program_;
  const ModelConfig& config_;
  const ModelHomes& homes_;
  StepDims dims_;
  Reach saved_reach_;
  std::vector<Parameter> parameters_;
  std::array<std::array<std::int32_t, 2>, kActivationCount> activation_kinds_{};
  std::vector<std::pair<std::string, KindId>> named_kinds_;
  std::vector<std::array<ValueId, 6>> parameter_values_;
  std::vector<ValueId> tokens_;
  std::vector<ValueId> targets_;
  ValueId loss_ = kNone;
  ValueId scalars_ = kNone;
  ValueId gradient_norm_ = kNone;
};

}  // namespace ebbtide::model
