#include "src/cli/train_flags.hpp"

#include <fmt/format.h>

#include "ebbtide/error.hpp"
#include "src/cli/flags.hpp"
#include "src/cli/hardware_flag.hpp"
#include "src/cli/profile_flag.hpp"
#include "src/train/budgets.hpp"

namespace ebbtide::cli {
namespace {

using train::TrainOptions;

constexpr Range kAtLeastOne{.least = 1, .most = INT64_MAX};
constexpr Range kDeviceBytes{.least = 1,
                             .most = static_cast<std::int64_t>(train::kLargestDeviceBytes)};
constexpr Range kOrOff{.least = 0, .most = INT64_MAX};
// 2^40 tokens, sequences or steps: products of two stay below 2^63 with any model's sizes.
constexpr std::int64_t kMostThings = std::int64_t{1} << 40;
constexpr Range kThings{.least = 1, .most = kMostThings};
// Of a step. Sequences of 8K tokens would be 8 G tokens then, a thousand times what large runs
// take.
constexpr std::int64_t kMostSequences = std::int64_t{1} << 20;
constexpr Range kSequences{.least = 1, .most = kMostSequences};
constexpr Range kThingsOrOff{.least = 0, .most = kMostThings};
constexpr NumberRange kFraction{.least = 0, .most = 1};
constexpr NumberRange kBeta{.least = 0, .most = 0.9999999};
constexpr NumberRange kPositive{.least = 0, .most = 1e6};

void add_run(Flags& flags, TrainOptions& options) {
  flags.text(
      {"--model", "NAME|DIR",
       "a built-in shape, or a directory with config.json and optionally safetensors", "demo"},
      options.model);
  flags.paths({"--data", "PATH...", "training text (bytes are tokens) or .bin token files",
               "the project's own text"},
              options.data);
  flags.choice(
      {"--token-type", "header|uint16|uint32", "tokens of .bin files without a header", "header"},
      options.headerless_type,
      {{"header", train::TokenType::kFromHeader},
       {"uint16", train::TokenType::kUint16},
       {"uint32", train::TokenType::kUint32}});
  train::RunShape& run = options.run;
  flags.count({"--seq-len", "N", "tokens of a sequence", "8K"}, run.seq_len, kThings);
  flags.count({"--batch-size", "N", "sequences a batch", "1"}, run.batch_size, kSequences);
  flags.count({"--grad-accumulation", "N", "batches a step", "1"}, run.grad_accumulation,
              kSequences);
  flags.count({"--steps", "N", "steps in all, those of a resumed run counted; 0: none", "20"},
              run.steps, kThingsOrOff);
  flags.choice({"--dtype", "fp32|bf16", "of weights and activations", "fp32"}, run.dtype,
               {{"fp32", DType::kF32}, {"bf16", DType::kBf16}});
  flags.count({"--threads", "N", "threads that compute", "every CPU this process may use"},
              run.threads, {.least = 1, .most = 4096});
  flags.seed({"--seed", "N", "of initial weights and data order", "1"}, run.seed);
}

void add_evaluation(Flags& flags, TrainOptions& options) {
  flags.count({"--eval-every", "N", "steps between evaluations; 0: off", "off"},
              options.evaluation.every, kThingsOrOff);
  flags.paths({"--eval-data", "PATH...", "held-out text or token files", "none"},
              options.evaluation.data);
}

void add_optimizer(Flags& flags, train::OptimizerOptions& optimizer) {
  flags.number({"--learning-rate", "X", "highest learning rate", "3e-4"}, optimizer.learning_rate,
               kPositive);
  flags.number_or_auto({"--min-learning-rate", "X|auto", "learning rate at the last step",
                        "a tenth of --learning-rate"},
                       optimizer.min_learning_rate, kPositive);
  flags.count({"--warmup-steps", "N", "steps of linear warm-up; 0: none", "0"},
              optimizer.warmup_steps, kThingsOrOff);
  flags.choice({"--lr-schedule", "constant|linear|cosine", "how the learning rate falls", "cosine"},
               optimizer.decay,
               {{"constant", train::Decay::kConstant},
                {"linear", train::Decay::kLinear},
                {"cosine", train::Decay::kCosine}});
  flags.number({"--weight-decay", "X", "of matrices and the embedding; 0: none", "0.1"},
               optimizer.weight_decay, kPositive);
  flags.number({"--beta1", "X", "AdamW decay of the mean", "0.9"}, optimizer.beta1, kBeta);
  flags.number({"--beta2", "X", "AdamW decay of the square", "0.95"}, optimizer.beta2, kBeta);
  flags.number({"--adam-epsilon", "X", "AdamW epsilon", "1e-8"}, optimizer.epsilon, kPositive);
  flags.number({"--grad-clip", "X", "largest gradient norm; 0: no clipping", "1"},
               optimizer.grad_clip, kPositive);
}

const std::vector<std::pair<std::string, std::optional<Tier>>>& tiers() {
  static const std::vector<std::pair<std::string, std::optional<Tier>>> choices{
      {"auto", std::nullopt},
      {"device", Tier::kDevice},
      {"host", Tier::kHost},
      {"nvme", Tier::kNvme}};
  return choices;
}

void add_memory(Flags& flags, TrainOptions& options, const BudgetTexts& budgets) {
  train::MemoryOptions& memory = options.memory;
  flags.only({"--device", "cpu|cuda|cuda:N", "where to compute", "cpu"}, "cpu",
             "the CUDA device is not built");
  flags.size({"--device-memory", "SIZE", budgets.device, budgets.device_default},
             memory.device_bytes, kDeviceBytes);
  flags.size({"--host-memory", "SIZE", budgets.host, budgets.host_default}, memory.host_bytes,
             kOrOff);
  flags.size({"--nvme-memory", "SIZE", budgets.nvme, budgets.nvme_default}, memory.nvme_bytes,
             kOrOff);
  flags.paths({"--nvme-path", "DIR...", "directories of swap files, striped; repeatable", "none"},
              memory.nvme_paths);
  flags.choice({"--parameter-tier", "auto|device|host|nvme", "where weights stay", "auto"},
               memory.parameter_tier, tiers());
  flags.choice({"--gradient-tier", "auto|device|host|nvme", "where gradients stay", "auto"},
               memory.gradient_tier, tiers());
  flags.choice({"--optimizer-tier", "auto|device|host|nvme", "where optimizer state stays", "auto"},
               memory.optimizer_tier, tiers());
  flags.size({"--max-live-parameters", "SIZE", "device bytes for live parameters", "auto"},
             memory.max_live_parameter_bytes, kAtLeastOne);
}

void add_planning(Flags& flags, train::PlanningOptions& planning) {
  flags.count_or_auto({"--chunk-tokens", "N|auto", "tokens a chunk", "auto"}, planning.chunk_tokens,
                      kThings);
  flags.count_or_auto(
      {"--attention-group", "N|auto", "query chunks that share one pass over the keys", "auto"},
      planning.attention_group, {.least = 1, .most = 4096});
  flags.choice({"--activations", "auto|keep|offload|recompute", "activation policy", "auto"},
               planning.activations,
               {{"auto", model::ActivationMode::kAuto},
                {"keep", model::ActivationMode::kKeep},
                {"offload", model::ActivationMode::kOffload},
                {"recompute", model::ActivationMode::kRecompute}});
  flags.number_or_auto(
      {"--offload-fraction", "X|auto", "fraction of chunks saved, the rest is recomputed", "auto"},
      planning.saved_fraction, kFraction);
  flags.choice({"--activation-tier", "auto|host|nvme", "how far activations go", "auto"},
               planning.activation_reach,
               {{"auto", Reach::kAny}, {"host", Reach::kHost}, {"nvme", Reach::kNvme}});
  flags.count_or_auto({"--prefetch-distance", "N|auto",
                       "chunk-steps ahead that a value is fetched; 0: when needed", "auto"},
                      planning.prefetch_chunk_steps, {.least = 0, .most = 1 << 20});
  flags.size({"--transfer-bucket-size", "SIZE|auto",
              "largest joined transfer in bytes; 0: every value travels alone", "auto"},
             planning.bucket_bytes, kOrOff);
}

void add_transfer(Flags& flags, train::TransferOptions& transfer) {
  flags.choice(
      {"--io-engine", "auto|uring|threads", "how swap files are read and written", "auto"},
      transfer.io_engine,
      {{"auto", IoEngine::kAuto}, {"uring", IoEngine::kUring}, {"threads", IoEngine::kThreads}});
  flags.size({"--io-block-size", "SIZE", "largest transfer given to the kernel, bytes", "1MiB"},
             transfer.io_block_bytes, {.least = 4096, .most = 1 << 30});
  flags.count_or_auto({"--io-queue-depth", "N", "transfers in flight a direction", "16"},
                      transfer.io_queue_depth, {.least = 1, .most = 4096});
  flags.enable({"--verify-offload", "", "checksum every spilled block", "off"},
               transfer.offload_check, OffloadCheck::kChecksum);
  flags.enable(
      {"--poison-freed", "", "fill blocks that a value has left with NaN; for tests", "off"},
      transfer.freed_blocks, FreedBlocks::kPoison);
  flags.rate({"--link-bandwidth", "SIZE/s", "pace copies of the cpu device like a link", "none"},
             transfer.link_bytes_per_s);
}

void add_outputs(Flags& flags, TrainOptions& options, TrainExtras& extras) {
  flags.path({"--log-json", "FILE", "one JSON object a step", "none"}, extras.log_json);
  flags.path({"--report", "FILE.html",
              "page that shows a step, measured beside predicted, written at the end", "none"},
             extras.report);
  flags.path({"--trace", "FILE",
              "Chrome trace of some steps from the second on, for ui.perfetto.dev or "
              "chrome://tracing",
              "none"},
             extras.trace);
  flags.count({"--trace-steps", "N",
               "steps in the trace, whole ones; none is begun once it has a million tasks", "3"},
              extras.trace_steps, kThings);
  flags.enable({"--checksum", "", "hash all weights after each step", "off"}, options.checksum,
               train::WeightChecksum::kXxh3);
  flags.enable({"--dry-run", "", "plan and print the memory bill, then end", "off"}, options.mode,
               train::RunMode::kDryRun);
  train::CheckpointOptions& checkpoint = options.checkpoint;
  flags.path({"--save", "DIR", "write checkpoints there, at least one at the end", "none"},
             checkpoint.save);
  flags.count({"--save-every", "N", "steps between checkpoints; 0: only at the end", "0"},
              checkpoint.save_every, kThingsOrOff);
  flags.count({"--keep", "N", "newest checkpoints that stay; 0: all", "0"}, checkpoint.keep,
              kThingsOrOff);
  flags.path({"--resume", "DIR", "go on from a checkpoint, bit by bit the same", "none"},
             checkpoint.resume);
}

void add_not_built(Flags& flags) {
  const std::string ranks = "this version trains on one rank";
  flags.only({"--sequence-parallel", "N", "ranks that share a sequence", "1"}, "1", ranks);
  flags.only({"--data-parallel", "N", "ranks with sequences of their own", "1"}, "1", ranks);
  flags.not_built({"--allgather-bucket-size", "SIZE", "parameter gathering", ""}, ranks);
  flags.not_built({"--reduce-bucket-size", "SIZE", "gradient reduction", ""}, ranks);
  flags.not_built({"--overlap-comm", "on|off", "collectives beside compute", ""}, ranks);
  flags.not_built({"--prefetch-bucket-size", "SIZE", "parameter prefetch unit", ""},
                  "parameters are fetched whole; --transfer-bucket-size joins transfers");
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Errc::kBadUsage, message);
}

}  // namespace

void add_run_flags(CLI::App& app, TrainOptions& options, const BudgetTexts& budgets) {
  Flags flags(app);
  add_run(flags, options);
  add_evaluation(flags, options);
  add_optimizer(flags, options.optimizer);
  add_memory(flags, options, budgets);
  add_planning(flags, options.planning);
  add_transfer(flags, options.transfer);
}

void add_flags_not_built(CLI::App& app) {
  Flags flags(app);
  add_not_built(flags);
}

void add_local_run_flags(CLI::App& app, TrainOptions& options, LocalRunExtras& extras) {
  add_run_flags(
      app, options,
      {.device = "hard budget of device bytes",
       .device_default = "half of what the machine and its container allow, less a margin",
       .host = "hard budget of host arena bytes; 0: none",
       .host_default = "what --device-memory leaves, less a margin",
       .nvme = "hard budget of swap file bytes; 0: none",
       .nvme_default = "what --nvme-path has free, less a margin; 0 without it"});
  Flags flags(app);
  flags.text({"--hardware", "NAME|FILE",
              "machine whose speeds plans are made for; no number depends on it",
              "a generic two-core CPU"},
             extras.hardware);
  add_profile_flag(flags, extras.profile);
}

void add_local_run_flags_not_built(CLI::App& app) {
  add_flags_not_built(app);
  Flags flags(app);
  flags.not_built({"--ranks", "N", "ranks to plan for", ""}, "this version trains on one rank");
}

void settle_local_run(CLI::App& app, TrainOptions& options, LocalRunExtras& extras) {
  if (!extras.profile.empty()) extras.applied = apply_profile(app, extras.profile, options);
  check_together(options);
  if (!extras.hardware.empty())
    options.hardware = hardware_named(extras.hardware, options.run.dtype);
}

void refuse_outputs(CLI::App& app, const std::string& why) {
  Flags flags(app);
  for (const char* flag : {"--log-json", "--trace", "--trace-steps", "--report", "--checksum",
                           "--save", "--save-every", "--keep", "--resume", "--dry-run"})
    if (app.get_option_no_throw(flag) == nullptr) flags.of_another(flag, why);
}

void refuse_steps(CLI::App& app, const std::string& why) {
  Flags flags(app);
  for (const char* flag : {"--steps", "--eval-every", "--eval-data"}) {
    app.remove_option(app.get_option(flag));
    flags.of_another(flag, why);
  }
}

void add_train_flags(CLI::App& app, TrainOptions& options, TrainExtras& extras) {
  add_local_run_flags(app, options, extras);
  Flags flags(app);
  add_outputs(flags, options, extras);
  add_local_run_flags_not_built(app);
}

void check_run_together(const TrainOptions& options) {
  const std::uint64_t block_bytes = options.transfer.io_block_bytes.value_or(0);
  if (block_bytes % kPageAlignment != 0)
    refuse(fmt::format("--io-block-size '{}': must be a multiple of {} bytes", block_bytes,
                       kPageAlignment));
  const train::OptimizerOptions& optimizer = options.optimizer;
  if (optimizer.min_learning_rate && *optimizer.min_learning_rate > optimizer.learning_rate)
    refuse(fmt::format("--min-learning-rate {} is above --learning-rate {}",
                       *optimizer.min_learning_rate, optimizer.learning_rate));
  if (options.run.micro_steps() > kMostSequences)
    refuse(
        fmt::format("--batch-size {} times --grad-accumulation {}: a step has at most {} "
                    "sequences",
                    options.run.batch_size, options.run.grad_accumulation, kMostSequences));
}

void check_together(const TrainOptions& options) {
  const train::MemoryOptions& memory = options.memory;
  if (memory.nvme_paths.empty() && memory.nvme_bytes.value_or(0) > 0)
    refuse("--nvme-memory needs --nvme-path");
  if (memory.nvme_paths.empty() && options.planning.activation_reach == Reach::kNvme)
    refuse("--activation-tier nvme needs --nvme-path");
  for (const auto& [flag, tier] : {std::pair("--parameter-tier", memory.parameter_tier),
                                   std::pair("--gradient-tier", memory.gradient_tier),
                                   std::pair("--optimizer-tier", memory.optimizer_tier)}) {
    if (tier == Tier::kNvme && memory.nvme_paths.empty())
      refuse(fmt::format("{} nvme needs --nvme-path", flag));
  }
  if (options.checkpoint.save.empty() && options.checkpoint.save_every > 0)
    refuse("--save-every needs --save");
  if (options.checkpoint.save.empty() && options.checkpoint.keep > 0) refuse("--keep needs --save");
  if (options.evaluation.every > 0 && options.evaluation.data.empty())
    refuse("--eval-every needs --eval-data");
  if (options.evaluation.every == 0 && !options.evaluation.data.empty())
    refuse("--eval-data needs --eval-every");
  check_run_together(options);
}

}  // namespace ebbtide::cli
