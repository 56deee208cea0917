// What a run comes to before it trains: the model's shape, the settings that a resumed run must
// share, the bill.
#include "src/train/run_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ebbtide/error.hpp"
#include "tiering/tiers/checksums.hpp"

namespace ebbtide::train {
namespace {

namespace fs = std::filesystem;

// Code, libraries, stacks, I/O rings and the kernels' scratch. Runs of the demo shape on 1 to 4
// threads held 19 to 29 MiB beside the arenas (VmHWM, glibc 2.36, oneDNN 2.6), blocks included.
constexpr std::uint64_t kProcessBytes = std::uint64_t{48} << 20;
// One block as floats, one rounded.
constexpr std::uint64_t kBlockBytes = std::uint64_t{8} << 20;

std::string shape_text(const model::ModelConfig& config) {
  return fmt::format("layers={} hidden={} heads={} kv_heads={} head_dim={} ffn={} vocab={} tied={}",
                     config.layers, config.hidden, config.heads, config.kv_heads, config.head_dim,
                     config.ffn, config.vocab, config.tied() ? 1 : 0);
}

// Of a step's blocks at most: no plan records more than it writes.
std::uint64_t checksum_bytes(std::span<const report::Planned> programs) {
  std::uint64_t pieces = 0;
  for (const report::Planned& planned : programs) {
    for (const Task& task : planned.plan->tasks[index(Lane::kNvmeWrite)]) {
      for (const Segment& segment : planned.plan->segments_of(task))
        pieces += tiers::Checksums::pieces(planned.program->value(segment.value).size_bytes);
    }
  }
  return tiers::Checksums::memory_bytes(pieces);
}

}  // namespace

model::ModelConfig load_any_config(const TrainOptions& options) {
  const std::optional<fs::path> directory = model_directory(options);
  return directory ? model::read_config(*directory / "config.json") : model::preset(options.model);
}

model::ModelConfig load_config(const TrainOptions& options) {
  model::ModelConfig config = load_any_config(options);
  if (config.use == model::ModelConfig::Use::kPlanOnly)
    throw Error(
        Errc::kNotBuilt,
        fmt::format("--model {} is for planning only; it cannot be trained", options.model));
  return config;
}

Settings settings_of(const TrainOptions& options, const RunModel& run,
                     const std::string& data_fingerprint) {
  return {{"--model", shape_text(run.config)},
          {"--data", data_fingerprint},
          {"--seq-len", fmt::format("{}", run.shape.seq_len)},
          {"--batch-size", fmt::format("{}", options.run.batch_size)},
          {"--grad-accumulation", fmt::format("{}", options.run.grad_accumulation)},
          {"--chunk-tokens", fmt::format("{}", run.shape.chunk_tokens)},
          {"--dtype", std::string(name(run.shape.dtype))},
          {"--seed", fmt::format("{}", options.run.seed)}};
}

double expected_step_seconds(StepPlans& plans, const TrainOptions& options) {
  return plans.totals(options.run.seq_len, options.run.micro_steps()).seconds;
}

RunFacts facts_of(StepPlans& plans, const TrainOptions& options, const WeightSource& weights,
                  std::int64_t threads) {
  const ProgramRecipe& recipe = plans.recipe();
  RunFacts facts{.model = options.model,
                 .weights = describe(weights, options.run.seed),
                 .shape = recipe.shape,
                 .placement = recipe.placement,
                 .activations = recipe.activations,
                 .budgets = plans.settings().budgets,
                 .hardware = plans.settings().hardware,
                 .threads = threads,
                 .expected_step_seconds = expected_step_seconds(plans, options)};
  facts.plan_fingerprint =
      fingerprint(plans.micro_step(options.run.seq_len, 0, options.run.micro_steps()).plan);
  for (const model::Parameter& parameter : model::parameters(recipe.config))
    facts.parameters += parameter.count();
  return facts;
}

report::MemoryBill bill_of(const StepPlans& plans, OffloadCheck check) {
  const std::vector<report::Planned> planned = plans.planned();
  report::MemoryBill bill = report::memory_bill(planned, plans.settings().hardware);
  bill.add_constant("blocks of weights on their way", kBlockBytes);
  if (plans.reserved_bytes()[index(Tier::kNvme)] > 0)
    bill.add_constant("buffer for homes on disk", Engine::kDiskBufferBytes);
  if (check == OffloadCheck::kChecksum) bill.add_constant("checksums", checksum_bytes(planned));
  bill.add_constant("process and kernels, at most", kProcessBytes);
  return bill;
}

}  // namespace ebbtide::train
