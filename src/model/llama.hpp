// The training step of a Llama-family model as Programs over chunks of tokens.
//
// One sequence is one micro-step: forward and backward of seq_len tokens, whose gradients are sums
// over its targets (not means). The optimizer is a program of its own, on the host: it divides by
// the number of targets of the whole step, clips and updates. Letters as in kernels.hpp; chunk c
// holds tokens [c C, min((c + 1) C, seq_len)).
//
// With many ranks (StepShape::ranks) the programs are those of one of them: C counts the tokens of
// all slices of a chunk, homes hold the rank's slice of tokens and shard of state, and ops on the
// comm lane join the ranks (collectives.hpp). One rank has none of these.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ebbtide/program.hpp"
#include "kernels/kernels.hpp"
#include "src/model/config.hpp"
#include "src/model/ranks.hpp"

namespace ebbtide::model {

enum class ParameterRole : std::uint8_t { kMatrix, kNormWeight, kBias, kEmbedding };

struct Parameter {
  std::string name;         // the Hugging Face name
  std::int32_t layer = -1;  // -1: not of a layer
  std::int64_t rows = 0;    // matrices are (out, in); vectors have one row
  std::int64_t cols = 0;
  ParameterRole role = ParameterRole::kMatrix;

  std::int64_t count() const { return rows * cols; }
};
// All parameters, embedding first, then layer by layer, final norm, head (absent when tied).
std::vector<Parameter> parameters(const ModelConfig& config);

// Where one kind of state stays: on `tier`, but for those parameters whose part is on NVMe.
struct StateTier {
  Tier tier = Tier::kDevice;
  double nvme_fraction = 0;  // of the bytes, at most; in [0, 1)

  // NOLINTNEXTLINE(google-explicit-constructor): all of it
  constexpr StateTier(Tier all) : tier(all) {}
  constexpr StateTier(Tier most, double on_nvme) : tier(most), nvme_fraction(on_nvme) {}
  bool operator==(const StateTier&) const = default;
};
// "host"; "host, 12.5 % nvme".
std::string describe(const StateTier& state);

// Where the values that live across steps stay. Of many ranks, each has its shard of them.
struct StatePlacement {
  StateTier parameters = Tier::kDevice;
  StateTier gradients = Tier::kDevice;
  StateTier optimizer = Tier::kHost;

  // Whether no kind of state is divided between tiers.
  bool is_whole() const {
    return parameters.nvme_fraction + gradients.nvme_fraction + optimizer.nvme_fraction == 0;
  }
  bool operator==(const StatePlacement&) const = default;
};

struct StepShape {
  std::int64_t seq_len = 0;
  std::int64_t chunk_tokens = 0;
  std::int64_t attention_group = 1;  // query chunks that share one pass over the keys
  DType dtype = DType::kF32;         // of weights and activations: kF32 or kBf16
  RankShape ranks;

  std::int64_t chunks() const { return (seq_len + chunk_tokens - 1) / chunk_tokens; }
};

enum class ActivationMode : std::uint8_t { kAuto, kKeep, kOffload, kRecompute };

// What may be recomputed of a layer, by what that costs: norm outputs one pass over memory, heads
// (q, k, v) and MLP (mid-layer residual, gate, up) products.
enum class SavedPart : std::uint8_t { kNorms, kHeads, kMlp };

// Fraction of chunks for which each part is saved; for the others it is recomputed.
struct SavedFraction {
  double norms = 1;
  double heads = 1;
  double mlp = 1;

  constexpr SavedFraction(double norms_, double heads_, double mlp_)
      : norms(norms_), heads(heads_), mlp(mlp_) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a fraction of everything
  constexpr SavedFraction(double all) : SavedFraction(all, all, all) {}
  constexpr double of(SavedPart part) const {
    return part == SavedPart::kNorms ? norms : part == SavedPart::kHeads ? heads : mlp;
  }
  constexpr bool even() const { return norms == heads && heads == mlp; }
  bool operator==(const SavedFraction&) const = default;
};

struct ActivationPolicy {
  ActivationMode mode = ActivationMode::kAuto;
  // Layer input, attention output and lse are always saved.
  SavedFraction saved_fraction = 1.0;
  Reach reach = Reach::kAny;  // how far saved activations go

  bool operator==(const ActivationPolicy&) const = default;
};

struct ParameterHomes {
  Home weight;    // in the step's dtype; for fp32 it is also the master
  Home master;    // fp32; the weight itself for fp32
  Home gradient;  // fp32
  Home m;         // fp32
  Home v;         // fp32
};

// What the training loop writes before the optimizer program runs.
struct OptimizerScalars {
  double target_count = 0;  // of the whole step
  double grad_clip = 0;     // 0: no clipping
  std::int64_t step = 1;    // from 1
  float learning_rate = 0;
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float epsilon = 1e-8F;
  float weight_decay = 0;  // for matrices and the embedding; norms and biases have none
};

struct ModelHomes {
  HomeLayout layout;
  RankShape ranks;
  std::vector<ParameterHomes> parameters;  // in the order of parameters()
  std::vector<Home> sums_of_squares;       // one double a parameter, of its summed gradient
  std::vector<Home> tokens;   // by chunk, uint32, on the host; of the longest sequence:
                              // the rank's slices
  std::vector<Home> targets;  // by chunk, uint32, kIgnoredTarget for none
  Home loss;                  // double on the host: sum over targets of a micro-step,
                              // over all ranks
  Home scalars;               // OptimizerScalars, on the host
  Home gradient_norm;         // double on the host: of the mean gradient, unclipped
};
ModelHomes lay_out_homes(const ModelConfig& config, const StepShape& longest,
                         const StatePlacement& placement);

enum class GradientStart : std::uint8_t { kZero, kAdd };  // kAdd: a later micro-step
enum class NormPartials : std::uint8_t { kNone, kMake };  // kMake: the last micro-step

struct MicroStep {
  StepShape shape;
  ActivationPolicy activations;
  GradientStart gradients = GradientStart::kZero;
  NormPartials norms = NormPartials::kMake;
};

using SharedKernels = std::shared_ptr<kernels::Kernels>;  // may be null: a program only to plan

// `comm` runs the collectives of many ranks; it may be empty in a program only to plan. Throws
// Error(kBadUsage) for more ranks of a sequence than a chunk has tokens or the model heads.
Program forward_backward_program(const ModelConfig& config, const ModelHomes& homes,
                                 const MicroStep& step, SharedKernels device, OpFunction comm = {});
// Loss alone.
Program evaluation_program(const ModelConfig& config, const ModelHomes& homes,
                           const StepShape& shape, SharedKernels device, OpFunction comm = {});
Program optimizer_program(const ModelConfig& config, const ModelHomes& homes, DType dtype,
                          SharedKernels host);

// Chunk size for `--chunk-tokens auto`: a pure function of these.
std::int64_t auto_chunk_tokens(const ModelConfig& config, std::int64_t seq_len, DType dtype,
                               const RankShape& ranks = {});
std::int64_t auto_attention_group(const ModelConfig& config, const StepShape& shape);

}  // namespace ebbtide::model
