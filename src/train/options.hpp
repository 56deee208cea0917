// What a training run is asked to do. Plain data; an empty optional means "auto", which train()
// resolves as a pure function of the other options and of the machine's limits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ebbtide/device.hpp"
#include "ebbtide/engine.hpp"
#include "ebbtide/hardware.hpp"
#include "ebbtide/types.hpp"
#include "src/model/llama.hpp"
#include "src/train/schedule.hpp"
#include "src/train/token_file.hpp"

namespace ebbtide::train {

struct RunShape {
  std::int64_t seq_len = 8192;         // tokens
  std::int64_t batch_size = 1;         // sequences a micro-step batch
  std::int64_t grad_accumulation = 1;  // batches a step
  std::int64_t steps = 20;             // in all, resumed ones counted
  DType dtype = DType::kF32;
  std::int64_t threads = 0;  // of the compute team; 0: every CPU that this process may use
  std::uint64_t seed = 1;

  std::int64_t micro_steps() const { return batch_size * grad_accumulation; }
};

struct OptimizerOptions {
  double learning_rate = 3e-4;
  std::optional<double> min_learning_rate;  // a tenth of learning_rate
  std::int64_t warmup_steps = 0;
  Decay decay = Decay::kCosine;
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double grad_clip = 1.0;  // 0: none
};

struct MemoryOptions {
  std::optional<std::uint64_t> device_bytes;
  std::optional<std::uint64_t> host_bytes;
  std::optional<std::uint64_t> nvme_bytes;
  std::vector<std::filesystem::path> nvme_paths;
  std::optional<Tier> parameter_tier;
  std::optional<Tier> gradient_tier;
  std::optional<Tier> optimizer_tier;
  std::optional<std::uint64_t> max_live_parameter_bytes;
};

struct PlanningOptions {
  std::optional<std::int64_t> chunk_tokens;
  std::optional<std::int64_t> attention_group;
  model::ActivationMode activations = model::ActivationMode::kAuto;
  std::optional<double> saved_fraction;  // --offload-fraction
  Reach activation_reach = Reach::kAny;
  std::optional<std::int64_t> prefetch_chunk_steps;
  std::optional<std::uint64_t> bucket_bytes;

  bool operator==(const PlanningOptions&) const = default;
};

struct TransferOptions {
  IoEngine io_engine = IoEngine::kAuto;
  std::optional<std::uint64_t> io_block_bytes;
  std::optional<std::int64_t> io_queue_depth;
  OffloadCheck offload_check = OffloadCheck::kNone;
  std::optional<double> link_bytes_per_s;
  FreedBlocks freed_blocks = FreedBlocks::kLeave;
  // For tests: what goes between the engine and the system, and around its device.
  const EngineSeams* seams = nullptr;
  std::function<std::unique_ptr<Device>(std::unique_ptr<Device>)> around_device{};
};

struct CheckpointOptions {
  std::filesystem::path save;    // empty: nothing is saved
  std::int64_t save_every = 0;   // steps; 0: only at the end
  std::int64_t keep = 0;         // newest checkpoints kept; 0: all
  std::filesystem::path resume;  // empty: a fresh start
};

struct EvaluationOptions {
  std::int64_t every = 0;  // steps; 0: off
  std::vector<std::filesystem::path> data;
};

enum class RunMode : std::uint8_t { kTrain, kDryRun };
enum class WeightChecksum : std::uint8_t { kNone, kXxh3 };

struct TrainOptions {
  std::string model = "demo";               // a preset, or a directory with config.json
  std::vector<std::filesystem::path> data;  // empty: the project's own text
  TokenType headerless_type = TokenType::kFromHeader;
  RunShape run;
  OptimizerOptions optimizer;
  MemoryOptions memory;
  PlanningOptions planning;
  TransferOptions transfer;
  std::optional<HardwareModel> hardware;  // what plans are timed by; none: a generic CPU
  CheckpointOptions checkpoint;
  EvaluationOptions evaluation;
  RunMode mode = RunMode::kTrain;
  WeightChecksum checksum = WeightChecksum::kNone;
};

}  // namespace ebbtide::train
