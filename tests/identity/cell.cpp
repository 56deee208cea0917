#include "tests/identity/cell.hpp"

#include <fmt/format.h>

#include <fstream>
#include <random>
#include <set>
#include <tuple>
#include <utility>

namespace ebbtide::identity {
namespace {

using Choices = std::array<std::uint8_t, kSettings>;
using Pair = std::tuple<std::size_t, std::size_t, std::uint8_t, std::uint8_t>;

constexpr std::array kDtypes{DType::kF32, DType::kBf16};
constexpr std::array kPrefetch{0, 1, 4};
constexpr std::array<std::uint64_t, 3> kBuckets{0, std::uint64_t{1} << 20, std::uint64_t{64} << 20};
constexpr std::array kGroups{1, 2, 4};
constexpr std::array kThreads{1, 2, 4};
constexpr std::array kChunks{125, 144};  // of 1000 tokens
constexpr std::array kAccumulation{1, 3};
constexpr std::uint64_t kRoom = std::uint64_t{256} << 20;
constexpr std::size_t kSeqLen = 1000;

std::set<Pair> pairs_of(const Choices& choices) {
  std::set<Pair> pairs;
  for (std::size_t a = 0; a < kSettings; ++a)
    for (std::size_t b = a + 1; b < kSettings; ++b) pairs.insert({a, b, choices[a], choices[b]});
  return pairs;
}

std::size_t key_of(const Cell& cell) {
  return cell.dtype * 4U + cell.chunk * 2U + cell.accumulation;
}

}  // namespace

Choices choices_of(const Cell& cell) {
  return {static_cast<std::uint8_t>(cell.mode),
          cell.dtype,
          cell.prefetch,
          cell.bucket,
          cell.group,
          cell.threads,
          cell.chunk,
          cell.accumulation};
}

Cell make_cell(const Choices& c) {
  return {static_cast<Mode>(c[0]), c[1], c[2], c[3], c[4], c[5], c[6], c[7]};
}

std::vector<Cell> product() {
  std::vector<Cell> cells;
  Choices choices{};
  for (bool more = true; more;) {
    cells.push_back(make_cell(choices));
    more = false;
    for (std::size_t i = 0; i < kSettings && !more; ++i) {
      more = ++choices[i] < kChoices[i];
      if (!more) choices[i] = 0;
    }
  }
  return cells;
}

std::vector<Cell> shuffled_product() {
  std::vector<Cell> cells = product();
  std::mt19937 random(1);
  for (std::size_t left = cells.size(); left > 1; --left)
    std::swap(cells[left - 1], cells[random() % left]);
  return cells;
}

// Greedy: of some random cells, the one that brings most pairs that have not met.
std::vector<Cell> covering() {
  std::set<Pair> missing;
  for (const Cell& cell : product()) missing.merge(pairs_of(choices_of(cell)));
  std::mt19937 random(1);
  std::vector<Cell> cells;
  while (!missing.empty()) {
    Choices best{};
    std::size_t most = 0;
    for (int attempt = 0; attempt < 200; ++attempt) {
      Choices choices{};
      for (std::size_t i = 0; i < kSettings; ++i)
        choices[i] = static_cast<std::uint8_t>(random() % kChoices[i]);
      std::size_t gain = 0;
      for (const Pair& pair : pairs_of(choices)) gain += missing.count(pair);
      if (gain <= most) continue;
      most = gain;
      best = choices;
    }
    for (const Pair& pair : pairs_of(best)) missing.erase(pair);
    if (most > 0) cells.push_back(make_cell(best));
  }
  return cells;
}

std::string describe(const Cell& cell) {
  constexpr std::array<const char*, kModes> modes{
      "keep", "host", "nvme", "host and nvme", "recompute", "1/4", "1/2", "3/4", "tight device"};
  return fmt::format(
      "{}, {}, prefetch {}, bucket {}, group {}, {} threads, chunk {}, accumulation {}",
      modes[static_cast<std::size_t>(cell.mode)], name(kDtypes[cell.dtype]),
      kPrefetch[cell.prefetch], kBuckets[cell.bucket], kGroups[cell.group], kThreads[cell.threads],
      kChunks[cell.chunk], kAccumulation[cell.accumulation]);
}

Matrix::Matrix(const std::filesystem::path& directory) : directory_(directory) {
  model::ModelConfig config = train::small_config(model::ModelConfig::Embeddings::kUntied);
  config.hidden = 128;
  config.head_dim = 32;
  config.ffn = 352;
  std::ofstream(directory / "config.json") << model::write_config(config, DType::kF32);
}

namespace {

void set_mode(train::TrainOptions& options, Mode mode) {
  train::PlanningOptions& planning = options.planning;
  planning.activations = model::ActivationMode::kOffload;
  planning.activation_reach = Reach::kHost;
  switch (mode) {
    case Mode::kKeep:
      planning.activations = model::ActivationMode::kKeep;
      break;
    case Mode::kHost:
      break;
    case Mode::kNvme:
      planning.activation_reach = Reach::kNvme;
      break;
    case Mode::kHostAndNvme:
      planning.activation_reach = Reach::kAny;
      break;
    case Mode::kRecompute:
      planning.activations = model::ActivationMode::kRecompute;
      break;
    case Mode::kQuarter:
      planning.saved_fraction = 0.25;
      break;
    case Mode::kHalf:
      planning.saved_fraction = 0.5;
      break;
    case Mode::kThreeQuarters:
      planning.saved_fraction = 0.75;
      break;
    case Mode::kTightDevice:
      planning.activations = model::ActivationMode::kAuto;
      planning.saved_fraction = 1.0;
      planning.activation_reach = Reach::kAny;
      options.memory.parameter_tier = options.memory.gradient_tier = Tier::kHost;
      options.memory.device_bytes = std::uint64_t{5} << 20;
      break;
  }
}

}  // namespace

train::TrainOptions Matrix::options(const Cell& cell) const {
  train::TrainOptions options = train::small_options(directory_, train::Where::kDevice);
  options.run.seq_len = kSeqLen;
  options.run.steps = 2;
  options.run.dtype = kDtypes[cell.dtype];
  options.run.threads = kThreads[cell.threads];
  options.run.grad_accumulation = kAccumulation[cell.accumulation];
  options.memory.device_bytes = options.memory.host_bytes = kRoom;
  options.memory.optimizer_tier = Tier::kHost;
  options.memory.nvme_paths = {directory_};
  options.memory.nvme_bytes = kRoom;
  train::PlanningOptions& planning = options.planning;
  planning.chunk_tokens = kChunks[cell.chunk];
  planning.attention_group = kGroups[cell.group];
  planning.prefetch_chunk_steps = kPrefetch[cell.prefetch];
  planning.bucket_bytes = kBuckets[cell.bucket];
  set_mode(options, cell.mode);
  return options;
}

const train::Recorder& Matrix::resident(const Cell& cell) {
  std::unique_ptr<train::Recorder>& kept = resident_[key_of(cell)];
  if (!kept) {
    Cell reference{.dtype = cell.dtype, .chunk = cell.chunk, .accumulation = cell.accumulation};
    kept = std::make_unique<train::Recorder>(
        train::run(options(reference), std::make_unique<train::MadeSequences>(kSeqLen)));
  }
  return *kept;
}

// Between what the host needs for its own and what it would hold if nothing went further.
std::uint64_t Matrix::host_bytes_to_spill(const Cell& cell) {
  std::uint64_t& peak = host_peak_[key_of(cell)];
  if (peak == 0) {
    Cell on_host = cell;
    on_host.mode = Mode::kHost;
    peak = run(on_host).summary.touched_bytes[index(Tier::kHost)];
  }
  const std::uint64_t own = resident(cell).summary.touched_bytes[index(Tier::kHost)];
  return own + (peak - own) / 2;
}

std::uint64_t Matrix::fingerprint_behind_slow_link(const Cell& cell) {
  Cell planned = cell;
  planned.threads = 0;  // no part of a plan
  const auto [known, is_new] = fingerprints_.try_emplace(choices_of(planned));
  if (!is_new) return known->second;
  train::TrainOptions how = options(planned);
  how.mode = train::RunMode::kDryRun;
  how.transfer.link_bytes_per_s = 1e7;
  const train::Recorder plan = train::run(how, std::make_unique<train::MadeSequences>(kSeqLen));
  return known->second = plan.facts.plan_fingerprint;
}

train::Recorder Matrix::run(const Cell& cell) {
  train::TrainOptions how = options(cell);
  if (cell.mode == Mode::kHostAndNvme) how.memory.host_bytes = host_bytes_to_spill(cell);
  return train::run(how, std::make_unique<train::MadeSequences>(kSeqLen));
}

}  // namespace ebbtide::identity
