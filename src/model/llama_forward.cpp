#include <functional>

#include "src/model/llama_passes.hpp"
#include "src/model/llama_pipeline.hpp"
#include "src/model/llama_ranks.hpp"

namespace ebbtide::model {
namespace {

class Forward {
 public:
  Forward(Step& step, const ChunkDone& after_chunk) : step_(step), after_chunk_(after_chunk) {}

  void run() {
    if (step_.dims.ranks.many()) return run_pipelined();
    for (std::int64_t l = 0; l < step_.dims.layers; ++l)
      for (std::int64_t g = 0; g < step_.groups(); ++g) {
        before_group(l, g);
        pairs(l, g);
        after_group(l, g);
      }
  }

 private:
  void run_pipelined() {
    gather_embedding(step_);
    Pipeline pipeline(step_.dims.layers, step_.groups(),
                      {.gather = [&](auto l) { gather_for(l); },
                       .before = [&](auto l, auto g) { before_group(l, g); },
                       .attention = [&](auto l, auto g) { pairs(l, g); },
                       .after = [&](auto l, auto g) { after_group(l, g); }});
    pipeline.run();
  }
  // The last layer's outputs go straight into the head.
  void gather_for(std::int64_t l) {
    gather_layer(step_, l);
    if (l == step_.dims.layers - 1) gather_layer(step_, step_.dims.layers);
  }
  void before_group(std::int64_t l, std::int64_t g) {
    const Group group = step_.group(g);
    for (std::int64_t c = group.first; c <= group.last; ++c) before_attention(l, c);
  }
  void pairs(std::int64_t l, std::int64_t g) {
    const Group group = step_.group(g);
    for (std::int64_t j = 0; j <= group.last; ++j) {
      step_.program.begin_chunk_step();
      for (std::int64_t c = std::max(j, group.first); c <= group.last; ++c) pair(l, c, j);
    }
    if (!step_.exchanges()) return;
    for (std::int64_t c = group.first; c <= group.last; ++c) finish_attention(l, c);
  }
  void after_group(std::int64_t l, std::int64_t g) {
    const Group group = step_.group(g);
    for (std::int64_t c = group.first; c <= group.last; ++c) after_attention(l, c);
  }

  void finish_heads(std::int64_t l, std::int64_t c);
  void embed(std::int64_t c);
  void before_attention(std::int64_t l, std::int64_t c);
  void pair(std::int64_t l, std::int64_t c, std::int64_t j);
  void after_attention(std::int64_t l, std::int64_t c);
  void finish_attention(std::int64_t l, std::int64_t c);
  void down(std::int64_t l, std::int64_t c);

  Step& step_;
  const ChunkDone& after_chunk_;
};

void Forward::embed(std::int64_t c) {
  ChunkValues& at = step_.at(0, c);
  at.input = step_.values.make(Activation::kLayerInput, step_.always(), 0, c);
  step_.ops.embedding(
      OpName::kEmbedding,
      {read(step_.values.tokens(c)), step_.weight(step_.params.embedding()), write(at.input)},
      step_.dims.rows(c));
  // One table a chunk for the whole step: on a CPU its sines cost a tenth of a small layer's
  // products, while C D fp32 numbers are little to bring back.
  const ValueId table = step_.values.make(Activation::kRopeTable, Keeping::kTransient, -1, c);
  const std::int64_t first = c * step_.dims.chunk_tokens + step_.dims.slice(c).begin;
  step_.ops.rope_table(write(table), {first, step_.rows(c)});
  step_.rope.push_back(table);
}

void Forward::before_attention(std::int64_t l, std::int64_t c) {
  step_.program.begin_chunk_step();
  if (l == 0) embed(c);
  const Keeping norms = step_.keeping(SavedPart::kNorms, c);
  const Keeping heads = step_.keeping(SavedPart::kHeads, c);
  make_input_norm(step_, l, c, norms);
  make_q(step_, l, c, heads);
  make_k(step_, l, c, heads);
  make_v(step_, l, c, heads, step_.after(norms));
  if (step_.exchanges()) {
    std::vector<Exchanged> qkv;
    add_head_tensors(step_, l, c, kQueries | kKeysAndValues, heads, qkv);
    exchange(step_, CollectiveKind::kTokensToHeads, c, qkv);
  }
  ChunkValues& at = step_.at(l, c);
  at.attention = step_.values.make(Activation::kAttention, step_.always(), l, c);
  const bool in_place = step_.dims.dtype == DType::kF32 && !step_.exchanges();
  at.running = in_place
                   ? at.attention
                   : step_.values.make(Activation::kRunningAttention, Keeping::kTransient, l, c);
  at.lse = step_.values.make(Activation::kLse, step_.always(), l, c);
}

void Forward::pair(std::int64_t l, std::int64_t c, std::int64_t j) {
  const ChunkValues& at = step_.at(l, c);
  const ChunkValues& key = step_.at(l, j);
  const Access access = j == 0 ? Access::kWrite : Access::kUpdate;
  // q and lse are used last on the diagonal, k and v by the last chunk
  const After q_after = j == c ? step_.after(step_.keeping(SavedPart::kHeads, c)) : After::kStay;
  const After lse_after = j == c ? step_.after(step_.always()) : After::kStay;
  const bool last_query = c == step_.dims.chunks() - 1;
  const After kv_after =
      last_query ? step_.after(step_.keeping(SavedPart::kHeads, j)) : After::kStay;
  PairArgs args;
  args.q_rows = step_.chunk_rows(c);
  args.k_rows = step_.chunk_rows(j);
  args.causality = j == c ? kernels::Causality::kDiagonal : kernels::Causality::kFull;
  args.order = j == 0 ? kernels::PairOrder::kFirst : kernels::PairOrder::kLater;
  step_.ops.attention(OpName::kAttention,
                      {read(at.q, q_after), read(key.k, kv_after), read(key.v, kv_after),
                       make_use(at.running, access), make_use(at.lse, access, lse_after)},
                      args);
}

void Forward::finish_attention(std::int64_t l, std::int64_t c) {
  const ChunkValues& at = step_.at(l, c);
  if (at.running == at.attention) return;
  if (step_.exchanges()) return finish_heads(l, c);
  step_.ops.elementwise(OpName::kRoundAttention, {read(at.running), write(at.attention)},
                        {step_.rows(c), static_cast<std::int32_t>(step_.dims.q_width())});
}

// Rounded before it travels.
void Forward::finish_heads(std::int64_t l, std::int64_t c) {
  const ChunkValues& at = step_.at(l, c);
  ValueId heads = at.running;
  if (step_.dims.dtype != DType::kF32) {
    heads = step_.values.make(Activation::kHeadAttention, Keeping::kTransient, l, c);
    step_.ops.elementwise(
        OpName::kRoundAttention, {read(at.running), write(heads)},
        {step_.chunk_rows(c), static_cast<std::int32_t>(step_.dims.rank_q_width())});
  }
  const std::array back{Exchanged{heads, at.attention, HeadKind::kQuery, step_.dims.head_dim}};
  exchange(step_, CollectiveKind::kHeadsToTokens, c, back);
}

void Forward::down(std::int64_t l, std::int64_t c) {
  const ChunkValues& at = step_.at(l, c);
  const After after = step_.after(step_.keeping(SavedPart::kMlp, c));
  ValueId act = at.up;
  if (step_.mlp == Mlp::kSwiglu) {
    act = step_.values.make(Activation::kAct, Keeping::kTransient, l, c);
    step_.ops.elementwise(OpName::kSwiglu, {read(at.gate, after), read(at.up, after), write(act)},
                          {step_.rows(c), static_cast<std::int32_t>(step_.dims.ffn)});
  }
  const bool last = l == step_.dims.layers - 1;
  const ValueId output = step_.values.make(Activation::kLayerInput,
                                           last ? Keeping::kTransient : step_.always(), l + 1, c);
  LinearArgs args;
  args.rows = step_.rows(c);
  args.in = static_cast<std::int32_t>(step_.dims.ffn);
  args.out = static_cast<std::int32_t>(step_.dims.hidden);
  args.extras = kWithResidual;
  step_.ops.linear(OpName::kDown,
                   {read(act, act == at.up ? after : After::kStay), step_.weight(l, Slot::kDown),
                    write(output), read(at.mid, after)},
                   args);
  if (last)
    after_chunk_(c, output);
  else
    step_.at(l + 1, c).input = output;
}

void Forward::after_attention(std::int64_t l, std::int64_t c) {
  step_.program.begin_chunk_step();
  const Keeping norms = step_.keeping(SavedPart::kNorms, c);
  const Keeping mlp = step_.keeping(SavedPart::kMlp, c);
  if (!step_.exchanges()) finish_attention(l, c);
  make_mid(step_, l, c, mlp, step_.after(step_.always()));
  make_post_norm(step_, l, c, norms);
  make_gate_and_up(step_, l, c, mlp, step_.after(norms));
  down(l, c);
}

}  // namespace

void add_forward(Step& step, const ChunkDone& after_chunk) {
  Forward(step, after_chunk).run();
}

}  // namespace ebbtide::model
