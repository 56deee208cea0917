#include "tests/plan_command/published_predictions.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "src/hardware/known_machines.hpp"
#include "src/hardware/rank_view.hpp"

namespace ebbtide::test {
namespace {

using model::ActivationMode;

constexpr double kGigabyte = 1e9;
constexpr std::int64_t kLayersThatStay = 2;

double buffer_bytes(const plan::StrategyBill& bill) {
  const auto found = std::ranges::find(bill.amounts, "two rounding buffers", &plan::Amount::name);
  if (found == bill.amounts.end()) throw std::runtime_error("no rounding buffers");
  return found->device_bytes;
}

std::string machine_name(const PublishedCase& of) {
  const std::string& card = of.text("gpu");
  if (card == "A800") return "a800x8";
  if (card == "A100" || card == "Ampere") return "a100-80x8";
  if (card == "H100") return of.gpus() == 1 ? "h100" : "h100x8";
  if (card == "H200") return "h200";
  throw std::runtime_error("no machine with " + card);
}

double host_bytes_a_gpu(const PublishedCase& of) {
  const double on_node = std::min(of.gpus(), 8.0);
  return of.number("host_mem_gb_per_node") * kGibibyte / on_node;
}

// A rank's step under a policy, and its speeds.
class RankStep {
 public:
  RankStep(const PublishedCase& of, std::int64_t chunk_tokens, double saved)
      : config_(model_of(of)),
        rates_(hardware::hardware_of(machine_of(of), DType::kBf16,
                                     static_cast<std::uint64_t>(of.gpus()))),
        program_(program(of, chunk_tokens, saved)) {}

  // Bytes a layer of all layers that do not stay, of what is always saved or of the rest.
  enum class Saved : std::uint8_t { kAlways, kFraction };
  double saved_bytes(Saved which) const {
    static const std::set<std::string> always{"layer input", "attention output", "log-sum-exp"};
    double sum = 0;
    for (ValueId id = 0; id < program_.value_count(); ++id) {
      const Value& value = program_.value(id);
      const ValueKind& kind = program_.kind(value.kind);
      if (kind.category != "saved activations" || !moves(value)) continue;
      if (always.contains(kind.name) == (which == Saved::kAlways))
        sum += static_cast<double>(value.size_bytes);
    }
    return sum / static_cast<double>(moving_layers());
  }
  double leaving_bytes() const {
    double sum = 0;
    for (OpId op = 0; op < program_.op_count(); ++op)
      for (const Use& use : program_.uses(op)) {
        const Value& value = program_.value(use.value);
        if (use.leaves && moves(value)) sum += static_cast<double>(value.size_bytes);
      }
    return sum;
  }
  // Of forward. Requires a program that recomputes nothing.
  double layer_seconds() const {
    static const std::set<std::string> of_layer{
        "input norm",      "q projection",  "k projection",           "v projection",
        "attention",       "gelu",          "round attention output", "output projection",
        "gate projection", "up projection", "post-attention norm",    "down projection"};
    double sum = 0;
    for (OpId op = 0; op < program_.op_count(); ++op)
      if (of_layer.contains(program_.kernel(program_.op(op).kernel).name))
        sum += rates_.op_seconds(program_, op);
    return sum / static_cast<double>(config_.layers);
  }
  std::int64_t moving_layers() const { return config_.layers - kLayersThatStay; }
  // Whether it is of a layer whose activations go to the host.
  bool moves(const Value& value) const { return value.at[0] >= 0 && value.at[0] < moving_layers(); }
  double d2h_bytes_per_s() const { return rates_.d2h.bytes_per_s; }

 private:
  Program program(const PublishedCase& of, std::int64_t chunk_tokens, double saved) const {
    model::MicroStep step;
    step.shape = {.seq_len = static_cast<std::int64_t>(of.tokens()),
                  .chunk_tokens = chunk_tokens,
                  .dtype = DType::kBf16,
                  .ranks = model::deal_ranks(static_cast<std::int64_t>(of.gpus()), config_.heads)};
    step.activations = {ActivationMode::kOffload, saved, Reach::kHost};
    const model::ModelHomes homes = model::lay_out_homes(config_, step.shape, {});
    return model::forward_backward_program(config_, homes, step, nullptr);
  }

  model::ModelConfig config_;
  HardwareModel rates_;
  Program program_;
};

}  // namespace

double predicted_bytes(const PublishedCase& of) {
  const model::ModelConfig config = model_of(of);
  const std::string& metric = of.text("metric");
  if (metric == "activation_total") return plan::skeletal_bytes(config, of.tokens(), DType::kBf16);
  if (metric == "ckpt_total") return plan::layer_input_bytes(config, of.tokens(), DType::kBf16);
  const plan::StrategyCase rank = strategy_case_of(of, config, of.gpus());
  if (metric == "buffer_peak_per_gpu") return buffer_bytes(rounding_buffers(rank));
  if (metric == "host_per_node" || metric == "host_needed")
    return offloaded_layer_inputs(rank).host_bytes() * std::min(of.gpus(), 8.0);
  throw std::runtime_error("no bytes are predicted of " + metric);
}

hardware::Machine machine_of(const PublishedCase& of) {
  hardware::Machine machine = hardware::load_machine(machine_name(of));
  if (!of.text("host_mem_gb_per_node").empty())
    machine.host.memory_bytes =
        static_cast<std::uint64_t>(of.number("host_mem_gb_per_node") * kGigabyte);
  return machine;
}

plan::Request request_of(const PublishedCase& of) {
  plan::Request request;
  request.options.model = preset_of(of);
  request.options.run.dtype = DType::kBf16;
  request.options.run.seq_len = static_cast<std::int64_t>(of.tokens());
  request.options.memory.nvme_bytes = 0;
  request.machine = machine_of(of);
  request.ranks = static_cast<std::uint64_t>(of.gpus());
  return request;
}

plan::Request recomputing_request_of(const PublishedCase& of) {
  plan::Request request = request_of(of);
  request.options.planning.activations = ActivationMode::kRecompute;
  request.options.memory.parameter_tier = Tier::kHost;
  request.options.memory.optimizer_tier = Tier::kHost;
  return request;
}

double card_bytes(const PublishedCase& of) {
  const plan::Request request = request_of(of);
  const plan::Target target = plan::target_of(*request.machine, request.options, request.ranks);
  return static_cast<double>(target.budgets.device_bytes);
}

plan::StrategyCase strategy_case_of(const PublishedCase& of, const model::ModelConfig& config,
                                    double ranks) {
  return {.config = config, .tokens = of.tokens(), .dtype = DType::kBf16, .ranks = ranks};
}

double TokenFraction::value() const {
  return std::clamp(std::min(by_host, by_link), 0.0, 1.0);
}

TokenFraction token_fraction(const PublishedCase& of) {
  constexpr std::int64_t kAnyChunk = 65536;
  const RankStep step(of, kAnyChunk, 1);
  const double always = step.saved_bytes(RankStep::Saved::kAlways);
  const double others = step.saved_bytes(RankStep::Saved::kFraction);
  const double of_host = host_bytes_a_gpu(of) / static_cast<double>(step.moving_layers());
  const double of_link = step.layer_seconds() * step.d2h_bytes_per_s();
  return {(of_host - always) / others, (of_link - always) / others};
}

double leaving_bytes(const PublishedCase& of, std::int64_t chunk_tokens, double saved) {
  return RankStep(of, chunk_tokens, saved).leaving_bytes();
}

namespace {

// Of a card, at its peak.
plan::ComputeSpeed peak_of(const PublishedCase& of) {
  const double peak = hardware::peak_flops_per_s(machine_of(of).device, DType::kBf16);
  return {peak, peak};
}

struct Seconds {
  double matmul = 0;
  double attention = 0;
};

// At the cards' peak.
Seconds seconds_at_peak(const PublishedCase& of) {
  const plan::StepWork work =
      plan::sequence_work(model_of(of), of.tokens(), plan::Recompute::kFull);
  const double ranks = of.gpus() / of.number("sequences");
  return {plan::compute_seconds({work.matmul_flops, 0}, peak_of(of), ranks),
          plan::compute_seconds({0, work.attention_flops}, peak_of(of), ranks)};
}

}  // namespace

// Two linear equations in 1 / efficiency, by Cramer's rule.
ComputeEfficiency fitted(const PublishedCase& a, const PublishedCase& b) {
  const Seconds of_a = seconds_at_peak(a);
  const Seconds of_b = seconds_at_peak(b);
  const double in_a = a.number("value");
  const double in_b = b.number("value");
  const double determinant = of_a.matmul * of_b.attention - of_a.attention * of_b.matmul;
  return {.matmul = determinant / (in_a * of_b.attention - of_a.attention * in_b),
          .attention = determinant / (of_a.matmul * in_b - in_a * of_b.matmul)};
}

ComputeEfficiency fitted_efficiency() {
  return fitted(published(kFittedRows[0]), published(kFittedRows[1]));
}

double predicted_seconds(const PublishedCase& of, const ComputeEfficiency& efficiency) {
  const Seconds at_peak = seconds_at_peak(of);
  return at_peak.matmul / efficiency.matmul + at_peak.attention / efficiency.attention;
}

}  // namespace ebbtide::test
