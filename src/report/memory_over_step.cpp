#include "src/report/memory_over_step.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ebbtide/error.hpp"
#include "src/report/homes.hpp"
#include "src/report/occupancy.hpp"

namespace ebbtide::report {
namespace {

// What one tier holds, moved on from change to change.
class Tank {
 public:
  Tank(double step_seconds, std::size_t stretches)
      : step_seconds_(step_seconds), stretches_(stretches) {}

  // For the whole step.
  void fill(const BytesByName& homes) {
    for (const auto& [category, kinds] : homes) {
      for (const auto& [kind, bytes] : kinds) held_[at(category)] += bytes;
    }
    held_bytes_ = std::accumulate(held_.begin(), held_.end(), std::uint64_t{0});
  }
  void change(double at_s, const std::string& category, std::int64_t bytes) {
    go_to(at_s);
    held_[at(category)] += static_cast<std::uint64_t>(bytes);  // wraps back
    held_bytes_ += static_cast<std::uint64_t>(bytes);
    if (held_bytes_ > fullest_bytes_) keep();
  }
  TierMemory finish() && {
    go_to(step_seconds_);
    close();
    std::erase_if(memory_.categories, [](const CategoryBytes& category) {
      return std::ranges::all_of(category.bytes, [](std::uint64_t bytes) { return bytes == 0; });
    });
    sort();
    return std::move(memory_);
  }

 private:
  std::size_t at(const std::string& category) {
    const auto known = std::ranges::find(memory_.categories, category, &CategoryBytes::category);
    if (known != memory_.categories.end())
      return static_cast<std::size_t>(known - memory_.categories.begin());
    memory_.categories.push_back({category, std::vector<std::uint64_t>(stretches_, 0)});
    held_.push_back(0);
    fullest_.push_back(0);
    return held_.size() - 1;
  }
  // Ends the stretches before the moment.
  void go_to(double at_s) {
    const double part = step_seconds_ > 0 ? at_s / step_seconds_ : 0;
    const auto stretch = static_cast<std::size_t>(std::clamp(
        part * static_cast<double>(stretches_), 0.0, static_cast<double>(stretches_ - 1)));
    while (stretch_ < stretch) {
      close();
      ++stretch_;
    }
  }
  void close() {
    if (fullest_bytes_ < held_bytes_) keep();
    for (std::size_t i = 0; i < fullest_.size(); ++i)
      memory_.categories[i].bytes[stretch_] = fullest_[i];
    keep();  // the next stretch begins with what is held now
  }
  void keep() {
    fullest_ = held_;
    fullest_bytes_ = held_bytes_;
  }
  void sort() {
    std::vector<std::uint64_t> sums(stretches_, 0);
    for (const CategoryBytes& category : memory_.categories)
      std::transform(sums.begin(), sums.end(), category.bytes.begin(), sums.begin(), std::plus<>());
    const auto peak = static_cast<std::size_t>(std::ranges::max_element(sums) - sums.begin());
    std::ranges::stable_sort(memory_.categories,
                             [peak](const CategoryBytes& a, const CategoryBytes& b) {
                               return a.bytes[peak] > b.bytes[peak];
                             });
  }

  double step_seconds_;
  std::size_t stretches_;
  TierMemory memory_;
  std::vector<std::uint64_t> held_;     // by category
  std::vector<std::uint64_t> fullest_;  // in this stretch
  std::uint64_t held_bytes_ = 0;
  std::uint64_t fullest_bytes_ = 0;
  std::size_t stretch_ = 0;
};

PerTier<BytesByName> homes_of(const StepRecord& record) {
  std::vector<const Program*> programs;
  for (const ProgramRun& run : record.runs) programs.push_back(run.program);
  return homes_by_name(programs);
}

}  // namespace

std::uint64_t TierMemory::peak_bytes() const {
  std::uint64_t peak = 0;
  for (std::size_t at = 0; !categories.empty() && at < categories.front().bytes.size(); ++at) {
    std::uint64_t sum = 0;
    for (const CategoryBytes& category : categories) sum += category.bytes[at];
    peak = std::max(peak, sum);
  }
  return peak;
}

PerTier<TierMemory> memory_over_step(const StepRecord& record, std::size_t stretches) {
  EBBTIDE_CHECK(stretches > 0, "a chart of no stretch");
  const Tank empty(record.step_seconds, stretches);
  PerTier<Tank> tanks{empty, empty, empty};
  const PerTier<BytesByName> homes = homes_of(record);
  for (std::size_t tier = 0; tier < kTierCount; ++tier) tanks[tier].fill(homes[tier]);
  for (const ProgramRun& run : record.runs) {
    const PerTier<std::vector<HeldChange>> changes =
        held_changes(*run.program, *run.plan, run.timeline);
    for (std::size_t tier = 0; tier < kTierCount; ++tier) {
      for (const HeldChange& change : changes[tier])
        tanks[tier].change(run.start_s + change.at_s, run.program->kind(change.kind).category,
                           change.bytes);
    }
  }
  return {std::move(tanks[0]).finish(), std::move(tanks[1]).finish(), std::move(tanks[2]).finish()};
}

}  // namespace ebbtide::report
