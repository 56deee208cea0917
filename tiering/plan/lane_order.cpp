#include "tiering/plan/lane_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <queue>
#include <utility>

#include "ebbtide/error.hpp"

namespace ebbtide::planning {
namespace {

constexpr std::array kLanes{Lane::kCompute,  Lane::kD2h,         Lane::kH2d, Lane::kNvmeWrite,
                            Lane::kNvmeRead, Lane::kHostCompute, Lane::kComm};

// A bucket takes at least this many latencies of its lane, which then cost a hundredth.
constexpr double kLatenciesABucket = 100;

struct Ready {
  std::uint32_t needed = 0;
  NodeId node = 0;
  bool operator>(const Ready& other) const {
    return needed != other.needed ? needed > other.needed : node > other.node;
  }
};
template <typename T>
using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<T>>;

struct Completion {
  double at_s = 0;
  std::uint64_t sequence = 0;
  TaskAt place;
  bool operator>(const Completion& other) const {
    return at_s != other.at_s ? at_s > other.at_s : sequence > other.sequence;
  }
};

struct LaneState {
  LeastFirst<Ready> ready;       // transfer lanes
  std::vector<NodeId> in_order;  // lanes of ops: their fixed order
  std::size_t next = 0;
  std::uint32_t in_flight = 0;
  double pipe_free_s = 0;
};

class Walk {
 public:
  Walk(const Graph& graph, const Adjacency& successors, const HardwareModel& hardware,
       const PlanOptions& options)
      : graph_(graph), successors_(successors), hardware_(hardware), options_(options) {}

  LaneOrder run() {
    prepare();
    start_all();
    while (!events_.empty()) {
      now_s_ = events_.top().at_s;
      while (!events_.empty() && events_.top().at_s == now_s_) {
        const Completion done = events_.top();
        events_.pop();
        complete(done.place);
      }
      start_all();
    }
    EBBTIDE_CHECK(finished_ == graph_.node_count(),
                  fmt::format("{} of {} nodes can run", finished_, graph_.node_count()));
    order_.seconds = now_s_;
    return std::move(order_);
  }

 private:
  LaneState& state(Lane lane) { return states_[index(lane)]; }

  void prepare() {
    const NodeId count = graph_.node_count();
    order_.place_of.resize(count);
    order_.members.reserve(count);
    missing_.assign(count, 0);
    for (const Edge& edge : graph_.edges()) ++missing_[edge.after];
    order_.width.fill(1);
    order_.width[index(Lane::kNvmeWrite)] = order_.width[index(Lane::kNvmeRead)] =
        std::max(1U, options_.nvme_width);
    fix_compute_order();
    for (NodeId node = graph_.op_count(); node < count; ++node)
      if (missing_[node] == 0) make_ready(node);
  }

  // Ops in program order, a move just before the op that it makes room for.
  void fix_compute_order() {
    std::vector<NodeId> moves;
    for (NodeId node = graph_.op_count(); node < graph_.node_count(); ++node)
      if (graph_.transfer(node).lane == Lane::kCompute) moves.push_back(node);
    std::size_t next_move = 0;
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      for (; next_move < moves.size() && graph_.transfer(moves[next_move]).position <= op;
           ++next_move)
        state(Lane::kCompute).in_order.push_back(moves[next_move]);
      state(graph_.lane(op)).in_order.push_back(op);
    }
    EBBTIDE_CHECK(next_move == moves.size(), "a move after the last op");
  }

  void make_ready(NodeId node) {
    const Lane lane = graph_.lane(node);
    if (!is_transfer(lane)) return;
    const Transfer& transfer = graph_.transfer(node);
    state(lane).ready.push(
        {transfer.needed_by != kNone ? transfer.needed_by : transfer.position, node});
  }

  void start_all() {
    for (const Lane lane : kLanes) {
      if (is_transfer(lane))
        while (state(lane).in_flight < order_.width[index(lane)] && !state(lane).ready.empty())
          start_transfer(lane);
      else if (state(lane).in_flight == 0)
        start_next_op(lane);
    }
  }

  void start_next_op(Lane lane) {
    LaneState& at = state(lane);
    if (at.next == at.in_order.size() || missing_[at.in_order[at.next]] != 0) return;
    const NodeId node = at.in_order[at.next++];
    const auto first = static_cast<std::uint32_t>(order_.members.size());
    order_.members.push_back(node);
    begin_task(lane, {first, 1}, now_s_ + seconds(node));
  }

  double seconds(NodeId node) const {
    if (graph_.is_op(node)) return hardware_.op_seconds(graph_.program(), node);
    const Transfer& move = graph_.transfer(node);
    double bytes = 0;
    for (std::uint32_t i = 0; i < move.moves; ++i)
      bytes += static_cast<double>(size_of(graph_.moves()[move.first_move + i].value));
    return hardware_.move_seconds(bytes);
  }

  std::uint64_t size_of(ValueId value) const { return graph_.program().value(value).size_bytes; }

  std::uint64_t bucket_bytes(const Rate& rate) const {
    return options_.bucket_bytes.value_or(
        static_cast<std::uint64_t>(kLatenciesABucket * rate.latency_s * rate.bytes_per_s));
  }

  void start_transfer(Lane lane) {
    LaneState& at = state(lane);
    const Rate& rate = hardware_.rate(lane);
    const std::uint64_t limit = bucket_bytes(rate);
    const auto first = static_cast<std::uint32_t>(order_.members.size());
    std::uint64_t bytes = 0;
    std::uint32_t count = 0;
    while (!at.ready.empty()) {
      const NodeId node = at.ready.top().node;
      const std::uint64_t size = size_of(graph_.transfer(node).value);
      if (count > 0 && (bytes + size > limit || count == kMaxSegments)) break;
      at.ready.pop();
      bytes += size;
      ++count;
      order_.members.push_back(node);
      if (size >= limit) break;
    }
    at.pipe_free_s =
        std::max(now_s_, at.pipe_free_s) + static_cast<double>(bytes) / rate.bytes_per_s;
    begin_task(lane, {first, count}, at.pipe_free_s + rate.latency_s);
  }

  void begin_task(Lane lane, LaneTask task, double end_s) {
    auto& tasks = order_.tasks[index(lane)];
    const TaskAt place{lane, static_cast<std::uint32_t>(tasks.size())};
    tasks.push_back(task);
    order_.started.push_back(place);
    ++state(lane).in_flight;
    events_.push({end_s, sequence_++, place});
  }

  void complete(TaskAt place) {
    --state(place.lane).in_flight;
    const LaneTask& task = order_.tasks[index(place.lane)][place.index];
    for (std::uint32_t i = 0; i < task.count; ++i) {
      const NodeId node = order_.members[task.first + i];
      order_.place_of[node] = place;
      ++finished_;
      for (const NodeId next : successors_[node])
        if (--missing_[next] == 0) make_ready(next);
    }
  }

  static constexpr std::uint32_t kMaxSegments = (1U << 20) - 1;  // Task::count

  const Graph& graph_;
  const Adjacency& successors_;
  const HardwareModel& hardware_;
  const PlanOptions& options_;
  LaneOrder order_;
  PerLane<LaneState> states_;
  LeastFirst<Completion> events_;
  std::vector<std::uint32_t> missing_;  // predecessors not done, by node
  NodeId finished_ = 0;
  std::uint64_t sequence_ = 0;
  double now_s_ = 0;
};

}  // namespace

LaneOrder order_lanes(const Graph& graph, const Adjacency& successors,
                      const HardwareModel& hardware, const PlanOptions& options) {
  return Walk(graph, successors, hardware, options).run();
}

}  // namespace ebbtide::planning
