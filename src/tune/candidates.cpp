#include "src/tune/candidates.hpp"

#include <algorithm>
#include <utility>

#include "src/train/search.hpp"

namespace ebbtide::tune {
namespace {

// A setting predicted to be slower than the best by more is not measured.
constexpr double kWorthMeasuring = 1.15;
// Predictions nearer to each other are the same.
constexpr double kShorter = 0.998;
constexpr std::int64_t kSmallestChunk = 64;

class Walk {
 public:
  Walk(const Choices& choices, const Predict& predict, const OnPredicted& on_predicted,
       const std::function<bool()>& is_enough)
      : choices_(choices), predict_(predict), on_predicted_(on_predicted), is_enough_(is_enough) {}

  std::vector<Predicted> run(const Setting& from) {
    attempt(from);
    while (improve()) {
    }
    return std::move(predicted_);
  }

 private:
  bool improve() {
    const Setting before = best();
    vary(choices_.chunks, &train::PlanningOptions::chunk_tokens);
    vary(choices_.prefetches, &train::PlanningOptions::prefetch_chunk_steps);
    vary(choices_.buckets, &train::PlanningOptions::bucket_bytes);
    return best() != before;
  }

  template <typename Value>
  void vary(const std::vector<Value>& values, Value train::PlanningOptions::*part) {
    const Setting from = best();
    for (const Value& value : values) {
      Setting changed = from;
      changed.planning.*part = value;
      if (!is_known(changed) && !is_enough_()) attempt(changed);
    }
  }

  void attempt(const Setting& setting) {
    predicted_.push_back(predict_(setting));
    const Predicted& last = predicted_.back();
    if (on_predicted_) on_predicted_(last);
    const Predicted& so_far = predicted_[best_];
    if (last.fits() && (!so_far.fits() || last.step_seconds < kShorter * so_far.step_seconds))
      best_ = predicted_.size() - 1;
  }

  const Setting& best() const { return predicted_[best_].setting; }
  bool is_known(const Setting& setting) const {
    return std::ranges::find(predicted_, setting, &Predicted::setting) != predicted_.end();
  }

  const Choices& choices_;
  const Predict& predict_;
  const OnPredicted& on_predicted_;
  const std::function<bool()>& is_enough_;
  std::vector<Predicted> predicted_;
  std::size_t best_ = 0;
};

bool is_same(const Predicted& a, const Predicted& b) {
  return a.setting == b.setting ||
         (a.plan_fingerprint != 0 && a.plan_fingerprint == b.plan_fingerprint);
}

// Of what the search of "auto" tried and did not take, the fastest that flags can ask for.
std::optional<Predicted> passed_over(const Predicted& best, const Fixed& fixed) {
  std::optional<Predicted> found;
  for (const train::Tried& tried : best.tried) {
    if (!tried.fits || tried.candidate == best.came_to) continue;
    if (found && tried.step_seconds >= found->step_seconds) continue;
    const auto setting = asking_for(tried.candidate, best.setting, fixed);
    if (!setting || *setting == best.setting) continue;
    found = Predicted{.setting = *setting,
                      .step_seconds = tried.step_seconds,
                      .chunk_tokens = best.chunk_tokens,
                      .came_to = tried.candidate};
  }
  return found;
}

}  // namespace

Choices choices_of(const Setting& start, const Fixed& fixed, std::int64_t auto_chunk_tokens,
                   std::int64_t seq_len) {
  const train::PlanningOptions& given = start.planning;
  Choices choices;
  if (fixed.contains("chunk-tokens")) {
    choices.chunks = {given.chunk_tokens};
  } else {
    choices.chunks = {std::nullopt};
    for (const std::int64_t eighths : {4, 16, 2, 32, 1, 64}) {
      const std::int64_t tokens = auto_chunk_tokens * eighths / 8;
      if (tokens >= kSmallestChunk && tokens <= seq_len) choices.chunks.emplace_back(tokens);
    }
  }
  if (fixed.contains("prefetch-distance"))
    choices.prefetches = {given.prefetch_chunk_steps};
  else
    choices.prefetches = {std::nullopt, 1, 2, 4, 8};
  if (fixed.contains("transfer-bucket-size"))
    choices.buckets = {given.bucket_bytes};
  else
    choices.buckets = {std::nullopt, std::uint64_t{256} << 10, std::uint64_t{1} << 20,
                       std::uint64_t{4} << 20, std::uint64_t{16} << 20};
  return choices;
}

std::vector<Predicted> predict_settings(const Setting& from, const Choices& choices,
                                        const Predict& predict, const OnPredicted& on_predicted,
                                        const std::function<bool()>& is_enough) {
  return Walk(choices, predict, on_predicted, is_enough).run(from);
}

std::vector<Predicted> finalists(const std::vector<Predicted>& predicted, const Predicted& start,
                                 const Fixed& fixed, std::size_t most) {
  std::vector<Predicted> ranked;
  for (const Predicted& each : predicted)
    if (each.fits()) ranked.push_back(each);
  std::ranges::stable_sort(ranked, {}, &Predicted::step_seconds);
  std::vector<Predicted> chosen;
  const auto choose = [&](const Predicted& each) {
    const bool is_new = !is_same(each, start) && std::ranges::none_of(chosen, [&](const auto& one) {
      return is_same(each, one);
    });
    const bool is_near = each.step_seconds <= kWorthMeasuring * ranked.front().step_seconds;
    if (is_new && is_near && chosen.size() < most) chosen.push_back(each);
  };
  if (ranked.empty()) return chosen;
  choose(ranked.front());
  for (const Predicted& each : ranked) {
    const bool has_chunk =
        std::ranges::find(chosen, each.chunk_tokens, &Predicted::chunk_tokens) != chosen.end();
    if (!has_chunk && chosen.size() + 1 < most) choose(each);
  }
  if (const auto other = passed_over(ranked.front(), fixed)) choose(*other);
  for (const Predicted& each : ranked) choose(each);
  return chosen;
}

}  // namespace ebbtide::tune
