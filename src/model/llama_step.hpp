// What the parts of a Llama step share while its Program is being built: the program, its dims, and
// the values that stand between forward and backward.
#pragma once

#include <optional>
#include <vector>

#include "src/model/llama_ops.hpp"
#include "src/model/llama_values.hpp"
#include "src/model/policy.hpp"

namespace ebbtide::model {

enum class Purpose : std::uint8_t { kTrain, kEvaluate };
enum class Mlp : std::uint8_t { kSwiglu, kGelu };

// Of one chunk in one layer. A value that is not saved is replaced when backward makes it again.
struct ChunkValues {
  ValueId input = 0;  // Activation::kLayerInput
  ValueId input_norm = 0;
  ValueId raw_q = 0;
  ValueId raw_k = 0;
  ValueId q = 0;
  ValueId k = 0;
  ValueId v = 0;
  // Of many ranks, before the all-to-all that makes q, k and v.
  ValueId slice_q = 0;
  ValueId slice_k = 0;
  ValueId slice_v = 0;
  ValueId running = 0;  // is `attention` in fp32, on one rank
  ValueId attention = 0;
  ValueId lse = 0;
  ValueId mid = 0;
  ValueId post_norm = 0;
  ValueId gate = 0;
  ValueId up = 0;
};

// A group of chunks that share one pass over the keys: [first, last].
struct Group {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

class Step {
 public:
  Step(const ModelConfig& config, const ModelHomes& homes, const StepDims& dims, Purpose purpose,
       const ActivationPolicy& policy, SharedKernels kernels, OpFunction comm = {});

  // Whether values that are always saved, or those of chunk c that may be recomputed, are.
  Keeping always() const {
    return purpose == Purpose::kTrain ? Keeping::kSaved : Keeping::kTransient;
  }
  Keeping keeping(SavedPart part, std::int64_t c) const {
    return purpose == Purpose::kTrain && rule.saves(part, c) ? Keeping::kSaved
                                                             : Keeping::kTransient;
  }
  // How such a value is left at its last forward use.
  After after(Keeping keeping) const {
    return keeping == Keeping::kSaved ? rule.after() : After::kStay;
  }
  ChunkValues& at(std::int64_t layer, std::int64_t c) {
    return chunks[static_cast<std::size_t>(layer * dims.chunks() + c)];
  }
  Use weight(std::int64_t layer, Slot slot) { return weight(params.at(layer, slot)); }
  Use weight(std::size_t parameter);
  // Whether attention sees other rows and heads than the ops before and after it.
  bool exchanges() const { return dims.ranks.sequence_parallel > 1; }
  std::int32_t rows(std::int64_t c) const { return static_cast<std::int32_t>(dims.rows(c)); }
  std::int32_t chunk_rows(std::int64_t c) const {
    return static_cast<std::int32_t>(dims.chunk_rows(c));
  }
  Group group(std::int64_t g) const;
  std::int64_t groups() const;

  const StepDims dims;
  const ParameterMap params;
  const Purpose purpose;
  const Mlp mlp;
  const SavingRule rule;
  Program program;
  StepOps ops;
  StepValues values;
  std::vector<ChunkValues> chunks;               // by layer, then chunk
  std::vector<ValueId> rope;                     // by chunk
  std::vector<ValueId> d_output;                 // by chunk: gradient of what the layer put out
  std::vector<std::optional<ValueId>> gathered;  // by parameter: its whole weight, of many ranks

  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
};

// Parts that forward and recomputation share. Each makes its values of chunk c from operands that
// exist; operands that have their last forward use here leave as step.after() says. Of many ranks
// q, k and v are those of the slice.
void make_input_norm(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping);
void make_q(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping);
void make_k(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping);
// `norm`: how the norm's output is left.
void make_v(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping, After norm);
// `inputs`: how layer input and attention output are left.
void make_mid(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping, After inputs);
void make_post_norm(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping);
void make_gate_and_up(Step& step, std::int64_t layer, std::int64_t c, Keeping keeping, After norm);

}  // namespace ebbtide::model
