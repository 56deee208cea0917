#include "src/plan/longest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/report/units.hpp"
#include "src/train/run_facts.hpp"

namespace ebbtide::plan {
namespace {

// Where the chunk is automatic: twice the least one.
constexpr std::int64_t kGranule = 1024;
// The result is known to this part of itself.
constexpr std::int64_t kResolution = 32;

class Search {
 public:
  Search(const Request& request, const OnLength& on_length)
      : request_(request), on_length_(on_length), config_(train::load_any_config(request.options)) {
    found_.granule = request.options.planning.chunk_tokens.value_or(kGranule);
  }

  Longest run() {
    std::int64_t next = found_.granule;
    while (may_be_tried(next) && fits(next)) next *= 2;
    while (found_.too_long > 0 && gap() > found_.granule && gap() > found_.tokens / kResolution)
      fits(found_.tokens + gap() / 2 / found_.granule * found_.granule);
    return std::move(found_);
  }

 private:
  std::int64_t gap() const { return found_.too_long - found_.tokens; }
  bool may_be_tried(std::int64_t tokens) const {
    return shape_of(with_length(request_, tokens), config_).chunks() <= kMostChunks;
  }
  bool fits(std::int64_t tokens) {
    const bool fits =
        plan_run(with_length(request_, tokens), {}, train::Effort::kFirstThatFits).fits();
    (fits ? found_.tokens : found_.too_long) = tokens;
    if (on_length_) on_length_(tokens, fits);
    return fits;
  }

  const Request& request_;
  const OnLength& on_length_;
  model::ModelConfig config_;
  Longest found_;
};

std::string tokens(std::int64_t count) {
  return report::tokens_text(static_cast<double>(count));
}

}  // namespace

Request with_length(Request request, std::int64_t tokens) {
  request.options.run.seq_len = tokens;
  return request;
}

Longest longest_sequence(const Request& request, const OnLength& on_length) {
  return Search(request, on_length).run();
}

std::string text(const Longest& longest) {
  if (longest.tokens == 0)
    return fmt::format("not even a sequence of {} tokens fits\n", tokens(longest.granule));
  std::string out = fmt::format("the longest sequence that fits: {} tokens, in multiples of {}; ",
                                tokens(longest.tokens), tokens(longest.granule));
  if (longest.too_long == 0)
    return out + fmt::format(
                     "longer was not tried, since more than {} chunks take minutes to "
                     "plan: give a larger --chunk-tokens\n",
                     kMostChunks);
  return out + fmt::format("{} do not (what fits is taken to fit every shorter one)\n",
                           tokens(longest.too_long));
}

}  // namespace ebbtide::plan
