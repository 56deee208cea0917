// The order of groups for many ranks: all layers' groups in one row, with the next group's work
// before attention written before this group's attention, and this group's work after attention
// behind the next one's. So an all-to-all has a group's attention to hide behind, and the weights
// of a layer, gathered two groups ahead, more than that. Internal to the model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace ebbtide::model {

// Place i of the row is group i % groups, in the pass's order, of layer i / groups, in the same.
struct PipelineSteps {
  std::function<void(std::int64_t layer)> gather;  // once a layer, before the rest of it
  std::function<void(std::int64_t layer, std::int64_t group)> before;
  std::function<void(std::int64_t layer, std::int64_t group)> attention;
  // Of a group, layer after layer in order: what `before` of the next layer needs.
  std::function<void(std::int64_t layer, std::int64_t group)> after;
};

class Pipeline {
 public:
  Pipeline(std::int64_t layers, std::int64_t groups, PipelineSteps steps)
      : groups_(groups), count_(layers * groups), steps_(std::move(steps)) {}

  void run() {
    gather_to(0);
    before(0);
    for (std::int64_t i = 0; i < count_; ++i) {
      gather_to(i + 2);
      const bool can_overlap = i + 1 - groups_ < i;  // the next needs nothing of this one
      if (can_overlap && i + 1 < count_) before(i + 1);
      steps_.attention(i / groups_, i % groups_);
      after_to(can_overlap ? i - 1 : i);
      if (!can_overlap && i + 1 < count_) before(i + 1);
    }
    after_to(count_ - 1);
  }

 private:
  // The layers of all places up to this one.
  void gather_to(std::int64_t place) {
    place = std::min(place, count_ - 1);
    for (; gathered_ <= place / groups_; ++gathered_) steps_.gather(gathered_);
  }
  void before(std::int64_t place) {
    after_to(place - groups_);
    steps_.before(place / groups_, place % groups_);
  }
  void after_to(std::int64_t place) {
    for (; done_ <= place; ++done_) steps_.after(done_ / groups_, done_ % groups_);
  }

  const std::int64_t groups_;
  const std::int64_t count_;
  const PipelineSteps steps_;
  std::int64_t gathered_ = 0;
  std::int64_t done_ = 0;
};

}  // namespace ebbtide::model
