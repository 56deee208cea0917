// Which settings may be faster, by prediction: chunk, prefetch distance and bucket here, the rest
// by the search that "auto" is, which every prediction makes. Pure but for `predict`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/train/candidate.hpp"
#include "src/tune/setting.hpp"

namespace ebbtide::tune {

struct Predicted {
  Setting setting;
  std::string why_not{};    // empty: it fits
  double step_seconds = 0;  // simulated
  std::int64_t chunk_tokens = 0;
  std::uint64_t plan_fingerprint = 0;  // of the first micro-step; 0: not known
  // What its "auto" tried, and the one of them that it came to.
  std::vector<train::Tried> tried{};
  train::Candidate came_to{};

  bool fits() const { return why_not.empty(); }
};
using Predict = std::function<Predicted(const Setting&)>;
using OnPredicted = std::function<void(const Predicted&)>;

// Values to try; "auto" is always among them and stands for itself.
struct Choices {
  std::vector<std::optional<std::int64_t>> chunks;
  std::vector<std::optional<std::int64_t>> prefetches;  // chunk-steps
  std::vector<std::optional<std::uint64_t>> buckets;    // bytes
};
// Chunks from an eighth to eight times of what "auto" comes to, as far as the sequence has as many
// tokens and tiles are not smaller than products like them. A flag that is fixed has its value.
Choices choices_of(const Setting& start, const Fixed& fixed, std::int64_t auto_chunk_tokens,
                   std::int64_t seq_len);

// From everything free on "auto", one thing changed at a time as long as that makes it faster.
// Returns all that was predicted, in that order; ends early once `is_enough`.
std::vector<Predicted> predict_settings(const Setting& from, const Choices& choices,
                                        const Predict& predict, const OnPredicted& on_predicted,
                                        const std::function<bool()>& is_enough);

// Those worth a measurement, the most promising first: the fastest by prediction, then the fastest
// with other chunks and what "auto" passed over by little, since a model of the machine errs. Never
// the start, nor two with one plan.
std::vector<Predicted> finalists(const std::vector<Predicted>& predicted, const Predicted& start,
                                 const Fixed& fixed, std::size_t most);

}  // namespace ebbtide::tune
