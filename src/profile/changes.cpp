#include "src/profile/changes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/report/units.hpp"

namespace ebbtide::profile {
namespace {

using report::Cause;
using train::TrainOptions;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

// Collects the changes against one cause.
class Changes {
 public:
  Changes(Cause cause, const TrainOptions& options, const train::RunFacts& facts)
      : cause_(cause), options_(options), facts_(facts) {}

  void add_prefetch() {
    const std::int64_t now = options_.planning.prefetch_chunk_steps.value_or(0);
    for (const std::int64_t steps : {1, 2, 3, 4, 8, 16, 32}) {
      if (steps <= now) continue;
      TrainOptions changed = options_;
      changed.planning.prefetch_chunk_steps = steps;
      add("--prefetch-distance", fmt::format("{}", steps),
          fmt::format("fetch {} chunk-step{} ahead", steps, steps == 1 ? "" : "s"),
          std::move(changed));
    }
    if (!options_.planning.prefetch_chunk_steps) return;
    TrainOptions changed = options_;
    changed.planning.prefetch_chunk_steps.reset();
    add("--prefetch-distance", "auto", "fetch as soon as there is room", std::move(changed));
  }

  void add_bucket() {
    const std::uint64_t now = options_.planning.bucket_bytes.value_or(0);
    for (std::uint64_t bytes = std::uint64_t{64} << 10; bytes <= 64 * kMebibyte; bytes *= 4) {
      if (bytes <= now) continue;
      TrainOptions changed = options_;
      changed.planning.bucket_bytes = bytes;
      add("--transfer-bucket-size", size_text(bytes), "join small transfers", std::move(changed));
    }
    if (!options_.planning.bucket_bytes) return;
    TrainOptions changed = options_;
    changed.planning.bucket_bytes.reset();
    add("--transfer-bucket-size", "auto", "join small transfers", std::move(changed));
  }

  // A budget that is not given is all there is.
  void add_memory(Tier tier) {
    train::MemoryOptions memory = options_.memory;
    std::optional<std::uint64_t>& bytes = tier == Tier::kDevice ? memory.device_bytes
                                          : tier == Tier::kHost ? memory.host_bytes
                                                                : memory.nvme_bytes;
    if (!bytes) return;
    const std::uint64_t now = *bytes;
    for (const double times : {1.125, 1.25, 1.5, 2.0, 4.0}) {
      const auto wanted = static_cast<std::uint64_t>(times * static_cast<double>(now));
      bytes = align_up(std::max(wanted, now + 1), kMebibyte);
      TrainOptions changed = options_;
      changed.memory = memory;
      add(fmt::format("--{}-memory", name(tier)), size_text(*bytes),
          fmt::format("give {} more {} memory", report::bytes_text(*bytes - now), name(tier)),
          std::move(changed));
    }
  }

  void add_less_traffic() {
    if (facts_.activations.mode != model::ActivationMode::kKeep) add_fraction();
    const std::int64_t group = facts_.shape.attention_group;
    for (const std::int64_t times : {2, 4, 8}) {
      if (times * group > facts_.shape.chunks()) break;
      TrainOptions changed = options_;
      changed.planning.attention_group = times * group;
      add("--attention-group", fmt::format("{}", times * group),
          "read keys and values for more query chunks at once", std::move(changed));
    }
  }

  // One more directory like those there are, on a drive of its own.
  void add_stripe() {
    const auto paths = static_cast<double>(options_.memory.nvme_paths.size());
    if (paths == 0) return;
    const double faster = (paths + 1) / paths;
    add("--nvme-path", "DIR", "stripe over one more drive", options_,
        [faster](HardwareModel& model) {
          for (double* rate :
               {&model.nvme_read.bytes_per_s, &model.nvme_write.bytes_per_s,
                &model.shared.nvme_read_bytes_per_s, &model.shared.nvme_write_bytes_per_s})
            *rate *= faster;
        });
  }

  void add_optimizer_tier() {
    const model::StateTier& now = facts_.placement.optimizer;
    if (now.tier != Tier::kNvme && now.nvme_fraction == 0) return;
    TrainOptions changed = options_;
    changed.memory.optimizer_tier = Tier::kHost;
    add("--optimizer-tier", "host", "keep the optimizer's state off the drives",
        std::move(changed));
  }

  // As if ops took the less time the more threads there are.
  void add_threads(std::int64_t usable) {
    if (facts_.threads >= usable) return;
    const double faster = static_cast<double>(usable) / static_cast<double>(facts_.threads);
    TrainOptions changed = options_;
    changed.run.threads = usable;
    add("--threads", fmt::format("{}", usable), "compute on all CPUs, if ops scale with them",
        std::move(changed), [faster](HardwareModel& model) {
          model.host_flops_per_s *= faster;
          model.host_memory_bytes_per_s *= faster;
          model.device_flops_per_s *= faster;
          model.device_memory_bytes_per_s *= faster;
          for (WorkRate& rate : model.class_rates) rate.per_s *= faster;
        });
  }

  std::vector<Change> take() { return std::move(changes_); }

 private:
  void add_fraction() {
    const model::SavedFraction& saved = facts_.activations.saved_fraction;
    const double now = std::max({saved.norms, saved.heads, saved.mlp});
    for (const double fraction : {0.75, 0.5, 0.25, 0.0}) {
      if (fraction >= now) continue;
      TrainOptions changed = options_;
      changed.planning.saved_fraction = fraction;
      add("--offload-fraction", fmt::format("{}", fraction), "recompute more, move less",
          std::move(changed));
    }
  }

  static std::string size_text(std::uint64_t bytes) {
    return bytes % kMebibyte == 0 ? fmt::format("{}MiB", bytes / kMebibyte)
                                  : fmt::format("{}KiB", bytes >> 10);
  }

  void add(const std::string& flag, const std::string& value, const std::string& why,
           TrainOptions options, std::function<void(HardwareModel&)> machine = {}) {
    changes_.push_back({.flag = flag,
                        .flags = flag + " " + value,
                        .why = why,
                        .cause = cause_,
                        .options = std::move(options),
                        .machine = std::move(machine)});
  }

  const Cause cause_;
  const TrainOptions& options_;
  const train::RunFacts& facts_;
  std::vector<Change> changes_;
};

}  // namespace

std::vector<Change> changes_against(Cause cause, const TrainOptions& options,
                                    const train::RunFacts& facts, std::int64_t usable_threads) {
  Changes changes(cause, options, facts);
  switch (cause) {
    case Cause::kLateIssue:
      changes.add_prefetch();
      break;
    case Cause::kSmallTransfers:
      changes.add_bucket();
      break;
    case Cause::kDeviceRoom:
      changes.add_memory(Tier::kDevice);
      changes.add_prefetch();
      break;
    case Cause::kHostRoom:
      changes.add_memory(Tier::kHost);
      break;
    case Cause::kNvmeRoom:
      changes.add_memory(Tier::kNvme);
      break;
    case Cause::kLinkRate:
      changes.add_less_traffic();
      changes.add_memory(Tier::kDevice);
      break;
    case Cause::kDiskRate:
      changes.add_memory(Tier::kHost);
      changes.add_optimizer_tier();
      changes.add_less_traffic();
      changes.add_stripe();
      break;
    case Cause::kHostOptimizer:
      changes.add_optimizer_tier();
      changes.add_threads(usable_threads);
      break;
    case Cause::kCollective:
    case Cause::kData:
    case Cause::kDispatch:
      break;
  }
  return changes.take();
}

}  // namespace ebbtide::profile
