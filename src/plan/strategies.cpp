#include "src/plan/strategies.hpp"

#include <algorithm>
#include <utility>

namespace ebbtide::plan {
namespace {

// How many ranks divide each part of the state.
struct StateShare {
  double weights = 1;
  double gradients = 1;
  double optimizer = 1;
};

// Whether tensors of a layer are split by tensor parallelism over `ranks`.
enum class Layout : std::uint8_t { kWhole, kTensorParallel, kSequenceParallel };

// Whether the MLP of a layer is worked on for all tokens at once.
enum class Mlp : std::uint8_t { kWhole, kTiled };

double share_of(const LayerTensor& tensor, Layout layout, double ranks) {
  if (layout == Layout::kWhole) return 1;
  if (layout == Layout::kTensorParallel && tensor.split == Split::kReplicated) return 1;
  return 1 / ranks;
}

class BillMaker {
 public:
  BillMaker(const StrategyCase& of, std::string name) : of_(of), bill_{.name = std::move(name)} {}

  BillMaker& states(const StateShare& share) {
    return states_of(parameter_counts(of_.config).all, share);
  }
  BillMaker& states_of(double parameters, const StateShare& share) {
    const bool mixed = of_.dtype != DType::kF32;
    const auto weight = static_cast<double>(dtype_bytes(of_.dtype));
    const double state = mixed ? 12 : 8;  // without a master of its own in fp32
    add(Part::kWeights, "weights", parameters * weight / share.weights);
    add(Part::kGradients, "gradients", parameters * weight / share.gradients);
    add(Part::kOptimizer, mixed ? "master and moments" : "moments",
        parameters * state / share.optimizer);
    return *this;
  }
  // The state sent to the host; what is worked on is gathered.
  BillMaker& state_on_host() {
    for (Amount& amount : bill_.amounts) std::swap(amount.device_bytes, amount.host_bytes);
    return *this;
  }
  // ZeRO-3 works on whole layers: the one in use and the next, as they are gathered.
  BillMaker& gathered_layers() {
    return add(
        Part::kBuffers, "gathered weights of two layers",
        2 * parameter_counts(of_.config).layer * static_cast<double>(dtype_bytes(of_.dtype)));
  }
  BillMaker& saved(double layers, Layout layout) {
    for (const LayerTensor& tensor : tensors())
      add(Part::kActivations, tensor.name, layers * bytes(tensor, layout));
    return *this;
  }
  BillMaker& saved_inputs(Layout layout) {
    for (const LayerTensor& tensor : tensors())
      if (tensor.role == Role::kLayerInput)
        add(Part::kActivations, tensor.name, layers() * bytes(tensor, layout));
    return *this;
  }
  BillMaker& recomputed_layer(Layout layout, Mlp mlp = Mlp::kWhole) {
    double sum = 0;
    for (const LayerTensor& tensor : tensors())
      sum += mlp == Mlp::kTiled && tensor.role == Role::kMlp ? 0 : bytes(tensor, layout);
    return recomputes(Recompute::kFull).add(Part::kBuffers, "the layer recomputed", sum);
  }
  BillMaker& inputs_on_host() {
    for (const LayerTensor& tensor : tensors())
      if (tensor.role == Role::kLayerInput) host(tensor, layers(), Layout::kSequenceParallel);
    return *this;
  }
  BillMaker& scores(Part part, double layers) {
    return add(part, "attention scores", layers * score_bytes(of_.config, of_.tokens, of_.dtype));
  }
  BillMaker& logits(double share) {
    return add(Part::kLogits, "logits", logit_bytes(of_.config, of_.tokens) / share);
  }
  BillMaker& host(const LayerTensor& tensor, double layers, Layout layout) {
    bill_.amounts.push_back({Part::kActivations, tensor.name, 0, layers * bytes(tensor, layout)});
    return *this;
  }
  BillMaker& add(Part part, const std::string& name, double device_bytes) {
    bill_.amounts.push_back({part, name, device_bytes, 0});
    return *this;
  }
  std::vector<LayerTensor> tensors() const { return layer_tensors(of_.config, of_.dtype); }
  double layers() const { return static_cast<double>(of_.config.layers); }
  BillMaker& recomputes(Recompute what) {
    bill_.recompute = what;
    return *this;
  }
  StrategyBill done() { return std::move(bill_); }

 private:
  double bytes(const LayerTensor& tensor, Layout layout) const {
    return tensor.bytes_a_token * of_.tokens * share_of(tensor, layout, of_.ranks);
  }

  const StrategyCase& of_;
  StrategyBill bill_;
};

StrategyBill data_parallel(const StrategyCase& of, std::string name, const StateShare& share) {
  BillMaker bill(of, std::move(name));
  bill.states(share).saved(bill.layers(), Layout::kWhole).logits(1);
  if (share.weights > 1) bill.gathered_layers();
  return bill.done();
}

StrategyBill not_fused(const StrategyCase& of) {
  BillMaker bill(of, "data parallel, attention not fused");
  bill.states({})
      .saved(bill.layers(), Layout::kWhole)
      .scores(Part::kActivations, bill.layers())
      .logits(1);
  return bill.done();
}

StrategyBill selective_recompute(const StrategyCase& of) {
  BillMaker bill(of, "ZeRO-3, selective recompute, not fused");
  bill.states({of.ranks, of.ranks, of.ranks}).gathered_layers();
  bill.saved(bill.layers(), Layout::kWhole).scores(Part::kBuffers, 1).logits(1);
  return bill.recomputes(Recompute::kAttention).done();
}

StrategyBill full_recompute(const StrategyCase& of) {
  BillMaker bill(of, "ZeRO-3, full recompute");
  bill.states({of.ranks, of.ranks, of.ranks}).gathered_layers();
  bill.saved_inputs(Layout::kWhole).recomputed_layer(Layout::kWhole);
  bill.logits(1);
  return bill.done();
}

StrategyBill tensor_parallel(const StrategyCase& of, std::string name, Layout layout) {
  BillMaker bill(of, std::move(name));
  bill.states({of.ranks, of.ranks, of.ranks}).saved(bill.layers(), layout).logits(of.ranks);
  return bill.done();
}

// The fuller of the first stage, which has most micro-batches in flight, and the last one, which
// has the logits.
StrategyBill pipeline_parallel(const StrategyCase& of) {
  const ParameterCounts counts = parameter_counts(of.config);
  const double stages = std::min(of.ranks, static_cast<double>(of.config.layers));
  BillMaker first(of, "pipeline parallel, first stage");
  const double layers = first.layers() / stages;
  const double in_stage = layers * counts.layer;
  first.states_of(in_stage + counts.embedding, {}).saved(layers * stages, Layout::kWhole);
  BillMaker last(of, "pipeline parallel, last stage");
  last.states_of(in_stage + (counts.head > 0 ? counts.head : counts.embedding), {});
  last.saved(layers, Layout::kWhole).logits(1);
  StrategyBill of_first = first.done();
  StrategyBill of_last = last.done();
  return of_first.device_bytes() >= of_last.device_bytes() ? of_first : of_last;
}

}  // namespace

std::string_view name(Part part) {
  switch (part) {
    case Part::kWeights:
      return "weights";
    case Part::kGradients:
      return "gradients";
    case Part::kOptimizer:
      return "master, moments";
    case Part::kActivations:
      return "activations";
    case Part::kLogits:
      return "logits";
    case Part::kBuffers:
      break;
  }
  return "buffers";
}

double StrategyBill::device_bytes() const {
  double sum = 0;
  for (const Amount& amount : amounts) sum += amount.device_bytes;
  return sum;
}

double StrategyBill::host_bytes() const {
  double sum = 0;
  for (const Amount& amount : amounts) sum += amount.host_bytes;
  return sum;
}

double StrategyBill::device_bytes(Part part) const {
  double sum = 0;
  for (const Amount& amount : amounts) sum += amount.part == part ? amount.device_bytes : 0;
  return sum;
}

bool StrategyBill::fits(const Budgets& budgets) const {
  return device_bytes() <= static_cast<double>(budgets.device_bytes) &&
         host_bytes() <= static_cast<double>(budgets.host_bytes);
}

StrategyBill whole_model(const StrategyCase& of) {
  return data_parallel(of, "data parallel", {});
}

// Layer input and attention output always go to the host, and at a fraction of 1 all others too;
// the last two layers stay in the buffers, whose log-sum-exp is not counted, as in MEMO.
StrategyBill rounding_buffers(const StrategyCase& of) {
  BillMaker bill(of, "layer-wise offload, two buffers");
  bill.states({of.ranks, of.ranks, of.ranks});
  const double layer_bytes = skeletal_bytes(of.config, of.tokens, of.dtype) / bill.layers();
  bill.add(Part::kBuffers, "two rounding buffers", 2 * layer_bytes / of.ranks).logits(of.ranks);
  for (const LayerTensor& tensor : bill.tensors())
    bill.host(tensor, std::max(bill.layers() - 2, 0.0), Layout::kSequenceParallel);
  return bill.done();
}

StrategyBill offloaded_layer_inputs(const StrategyCase& of) {
  BillMaker bill(of, "ZeRO-3, recompute, inputs on the host");
  bill.states({of.ranks, of.ranks, of.ranks}).gathered_layers();
  bill.recomputed_layer(Layout::kSequenceParallel).logits(of.ranks).inputs_on_host();
  return bill.done();
}

StrategyBill recomputed_tensor_parallel(const StrategyCase& of) {
  BillMaker bill(of, "tensor, sequence parallel, recompute");
  bill.states({of.ranks, of.ranks, of.ranks}).saved_inputs(Layout::kSequenceParallel);
  bill.recomputed_layer(Layout::kSequenceParallel).logits(of.ranks);
  return bill.done();
}

StrategyBill tiled_on_host(const StrategyCase& of) {
  BillMaker bill(of, "the same, loss and MLP in tiles");
  bill.states({of.ranks, of.ranks, of.ranks}).state_on_host().gathered_layers();
  bill.recomputed_layer(Layout::kSequenceParallel, Mlp::kTiled).inputs_on_host();
  return bill.done();
}

namespace {

// ZeRO-Infinity's place of the state (Rajbhandari et al. 2021) with ALST's of the layer inputs.
StrategyBill all_on_host(const StrategyCase& of) {
  BillMaker bill(of, "ZeRO-3, state and inputs on the host");
  bill.states({of.ranks, of.ranks, of.ranks}).state_on_host().gathered_layers();
  bill.recomputed_layer(Layout::kSequenceParallel).logits(of.ranks).inputs_on_host();
  return bill.done();
}

}  // namespace

std::vector<StrategyBill> strategies(const StrategyCase& of) {
  const double ranks = of.ranks;
  return {not_fused(of),
          whole_model(of),
          data_parallel(of, "ZeRO-1", {.optimizer = ranks}),
          data_parallel(of, "ZeRO-2", {.gradients = ranks, .optimizer = ranks}),
          data_parallel(of, "ZeRO-3", {.weights = ranks, .gradients = ranks, .optimizer = ranks}),
          selective_recompute(of),
          full_recompute(of),
          tensor_parallel(of, "tensor parallel", Layout::kTensorParallel),
          tensor_parallel(of, "tensor and sequence parallel", Layout::kSequenceParallel),
          recomputed_tensor_parallel(of),
          pipeline_parallel(of),
          rounding_buffers(of),
          offloaded_layer_inputs(of),
          all_on_host(of),
          tiled_on_host(of)};
}

}  // namespace ebbtide::plan
