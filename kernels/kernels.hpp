// The kernels that a step is made of, behind one interface for the CPU and for CUDA.
//
// Letters: C tokens of a chunk, H hidden, Q query heads, G key/value heads (Q a multiple of G),
// D head dimension, F feed-forward width, V vocabulary, N any length. Tensors are row-major and
// contiguous; `stream` is the device's native stream, null on the CPU.
//
// Invariants
//  1. Deterministic: the same operands give the same bits, whatever the number of threads.
//  2. Products accumulate in fp32. Sums over tokens go in fixed blocks of at most kTokenBlock,
//     added in order.
//  3. No kernel keeps state between calls, allocates, or reads outside its operands.
//  4. A tensor that is written is written in full; one that is accumulated into is fp32.
//  5. Indexing is 64-bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "ebbtide/types.hpp"

namespace ebbtide::kernels {

inline constexpr std::int64_t kTokenBlock = 512;

struct Tensor {
  void* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};
struct ConstTensor {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  ConstTensor() = default;
  ConstTensor(const void* data_, DType dtype_, std::int64_t rows_, std::int64_t cols_)
      : data(data_), dtype(dtype_), rows(rows_), cols(cols_) {}
  ConstTensor(const Tensor& t)  // NOLINT: a view of a view
      : data(t.data), dtype(t.dtype), rows(t.rows), cols(t.cols) {}
};

enum class Layout : std::uint8_t { kAsStored, kTransposed };
enum class Accumulate : std::uint8_t { kOverwrite, kAdd };

// out (M, N) = op(a) (M, K) . op(b) (K, N) [+ bias (1, N)] [+ residual (M, N)], or out += ...
// a and b have one dtype, fp32 or bf16; out is that dtype or fp32; kAdd requires fp32 out and
// neither bias nor residual. bias and residual have a null `data` when absent and a's dtype.
// When a is transposed, K counts tokens: it is summed in blocks of at most kTokenBlock, in
// order.
struct Matmul {
  ConstTensor a;
  Layout a_layout = Layout::kAsStored;
  ConstTensor b;
  Layout b_layout = Layout::kAsStored;
  Tensor out;
  Accumulate accumulate = Accumulate::kOverwrite;
  ConstTensor bias;
  ConstTensor residual;
};

// y = x / sqrt(mean(x^2) + epsilon) * weight, by row (Zhang and Sennrich 2019, eq. 4).
struct RmsNormForward {
  ConstTensor x;       // (N, H)
  ConstTensor weight;  // (1, H), x's dtype
  Tensor y;            // (N, H), x's dtype
  float epsilon = 1e-5F;
};
// dx = gradient through the norm [+ residual]; dweight += over rows. Recomputes 1/rms from x.
struct RmsNormBackward {
  ConstTensor x;         // (N, H)
  ConstTensor weight;    // (1, H)
  ConstTensor dy;        // (N, H), x's dtype
  ConstTensor residual;  // (N, H), x's dtype, or null: added to dx
  Tensor dx;             // (N, H), x's dtype; may be the same memory as residual or dy
  Tensor dweight;        // (1, H) fp32, accumulated into
  float epsilon = 1e-5F;
};

// Scaling of RoPE frequencies as Llama 3 does it; factor 1 means none.
struct RopeScaling {
  double factor = 1.0;
  double low_frequency_factor = 1.0;
  double high_frequency_factor = 4.0;
  double original_context = 8192;
};
// Rows are positions first_position + r; columns [0, D/2) cosines, [D/2, D) sines. The angle is
// formed in double.
struct RopeTable {
  Tensor table;  // (C, D) fp32
  std::int64_t first_position = 0;
  double theta = 10000.0;
  RopeScaling scaling;
};
enum class Rotation : std::uint8_t { kForward, kBackward };
// Rotates pairs (i, i + D/2) of every head in place (Su et al. 2021, eq. 34; half-split layout of
// Hugging Face checkpoints). kBackward is the transpose.
struct Rope {
  Tensor x;           // (C, heads * D)
  ConstTensor table;  // (C, D) fp32
  std::int64_t head_dim = 0;
  Rotation rotation = Rotation::kForward;
};

enum class Causality : std::uint8_t { kFull, kDiagonal };  // kDiagonal: key i sees queries >= i
enum class PairOrder : std::uint8_t { kFirst, kLater };    // kFirst: the state has no content yet

// Which query heads read a KV head: query head i reads (first + i) / size. Size 0: all KV heads are
// read by equally many.
struct KvGroup {
  std::int64_t size = 0;
  std::int64_t first = 0;
};

// One pair (query chunk, key chunk) of causal attention by online softmax (Dao 2023, alg. 1):
// merges the pair into the running output and log-sum-exp. The scores are scaled by 1/sqrt(D).
struct AttentionForward {
  ConstTensor q;  // (C, Q * D)
  ConstTensor k;  // (Ck, G * D)
  ConstTensor v;  // (Ck, G * D)
  Tensor out;     // (C, Q * D) fp32, normalised over the keys seen so far
  Tensor lse;     // (C, Q) fp32
  std::int64_t head_dim = 0;
  Causality causality = Causality::kFull;
  PairOrder order = PairOrder::kLater;
  KvGroup kv_group;
};
// delta (C, Q) fp32 = rowsum over D of dout * out (Dao 2023, sec. 3.2).
struct AttentionDelta {
  ConstTensor out;   // (C, Q * D)
  ConstTensor dout;  // (C, Q * D), out's dtype
  Tensor delta;      // (C, Q) fp32
  std::int64_t head_dim = 0;
};
// Gradients of one pair; adds to dq, dk and dv. For order kFirst of one of them its content is
// overwritten.
struct AttentionBackward {
  ConstTensor q;      // (C, Q * D)
  ConstTensor k;      // (Ck, G * D)
  ConstTensor v;      // (Ck, G * D)
  ConstTensor dout;   // (C, Q * D), q's dtype
  ConstTensor lse;    // (C, Q) fp32
  ConstTensor delta;  // (C, Q) fp32
  Tensor dq;          // (C, Q * D) fp32
  Tensor dk;          // (Ck, G * D) fp32
  Tensor dv;          // (Ck, G * D) fp32
  std::int64_t head_dim = 0;
  Causality causality = Causality::kFull;
  PairOrder dq_order = PairOrder::kLater;
  PairOrder dkv_order = PairOrder::kLater;
  KvGroup kv_group;
};

// act = silu(gate) * up (Shazeer 2020, eq. 6).
struct SwigluForward {
  ConstTensor gate;  // (C, F)
  ConstTensor up;    // (C, F)
  Tensor act;        // (C, F)
};
struct SwigluBackward {
  ConstTensor gate;  // (C, F)
  ConstTensor up;    // (C, F)
  ConstTensor dact;  // (C, F)
  Tensor dgate;      // (C, F)
  Tensor dup;        // (C, F)
};

// x (C, H) = rows of table. Ids are checked when data is loaded, not here.
struct EmbeddingForward {
  const std::uint32_t* ids = nullptr;  // (C)
  ConstTensor table;                   // (V, H)
  Tensor x;                            // (C, H), table's dtype
};
struct EmbeddingBackward {
  const std::uint32_t* ids = nullptr;  // (C)
  ConstTensor dx;                      // (C, H)
  Tensor dtable;                       // (V, H) fp32, accumulated into in token order
};

inline constexpr std::uint32_t kIgnoredTarget = ~0U;
// Turns logits into their gradient in place and adds the tile's loss: for row r with target t,
// loss += lse - logit_t and dlogit = (softmax - onehot_t) * scale. Rows whose target is
// kIgnoredTarget give no loss and zero gradient. The rows' losses are added in order, in double.
struct CrossEntropy {
  Tensor logits;                           // (C, V) fp32; holds the gradient afterwards
  Tensor dlogits;                          // (C, V), fp32 (may be logits itself) or bf16
  const std::uint32_t* targets = nullptr;  // (C)
  double* loss_sum = nullptr;              // accumulated into
  float scale = 1;
};

// y = x with another dtype, or a copy.
struct Cast {
  ConstTensor x;
  Tensor y;
};
// y = a + b, all of one dtype; y may be the memory of a or b.
struct Add {
  ConstTensor a;
  ConstTensor b;
  Tensor y;
};
// dbias (1, N) fp32 += column sums of dy (C, N).
struct BiasBackward {
  ConstTensor dy;
  Tensor dbias;
};
// *sum = sum of x^2 in double, in fixed blocks whose sums are added in order.
struct SumOfSquares {
  const float* x = nullptr;
  std::int64_t count = 0;
  double* sum = nullptr;
};

// size_bytes of zeros.
struct Zero {
  void* data = nullptr;
  std::uint64_t size_bytes = 0;
};

// AdamW (Loshchilov and Hutter 2019, alg. 2) on `count` elements. gradient_scale multiplies each
// gradient first (clipping). step counts from 1. weight is written in weight_dtype, rounded from
// master; for fp32 weights it may be the master itself.
struct AdamW {
  float* master = nullptr;
  float* m = nullptr;
  float* v = nullptr;
  const float* gradient = nullptr;
  void* weight = nullptr;
  DType weight_dtype = DType::kF32;
  std::int64_t count = 0;
  std::int64_t step = 1;
  float learning_rate = 0;
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float epsilon = 1e-8F;
  float weight_decay = 0;
  float gradient_scale = 1;
};

class Kernels {
 public:
  virtual ~Kernels() = default;
  virtual void run(const Matmul&, void* stream) = 0;
  virtual void run(const RmsNormForward&, void* stream) = 0;
  virtual void run(const RmsNormBackward&, void* stream) = 0;
  virtual void run(const RopeTable&, void* stream) = 0;
  virtual void run(const Rope&, void* stream) = 0;
  virtual void run(const AttentionForward&, void* stream) = 0;
  virtual void run(const AttentionDelta&, void* stream) = 0;
  virtual void run(const AttentionBackward&, void* stream) = 0;
  virtual void run(const SwigluForward&, void* stream) = 0;
  virtual void run(const SwigluBackward&, void* stream) = 0;
  virtual void run(const EmbeddingForward&, void* stream) = 0;
  virtual void run(const EmbeddingBackward&, void* stream) = 0;
  virtual void run(const CrossEntropy&, void* stream) = 0;
  virtual void run(const Cast&, void* stream) = 0;
  virtual void run(const Add&, void* stream) = 0;
  virtual void run(const BiasBackward&, void* stream) = 0;
  virtual void run(const SumOfSquares&, void* stream) = 0;
  virtual void run(const AdamW&, void* stream) = 0;
  // Memory that the host reaches; a device with memory of its own overrides it.
  virtual void run(const Zero& op, void* /*stream*/) { std::memset(op.data, 0, op.size_bytes); }
};

// What multiplies matrices: oneDNN where it is fast on this CPU, or our own micro-kernel anyway.
// They round differently.
enum class Products : std::uint8_t { kFastest, kOwn };

// CPUs that this process may use; 1 where the system does not say.
int usable_cpus();

struct CpuKernelsOptions {
  int threads = 1;  // of the compute team, the calling thread counted
  Products products = Products::kFastest;
};
// Allocates the team's scratch memory; calls allocate nothing. One caller at a time: the compute
// lane and the host-compute lane each have their own.
std::unique_ptr<Kernels> make_cpu_kernels(const CpuKernelsOptions& options);

}  // namespace ebbtide::kernels
