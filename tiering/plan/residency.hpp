// Decides for one tier which value is where in it at every step: residency and addresses together.
//
// Walks the steps once. A value that is missing at a step gets the window of neighbouring blocks
// that is cheapest to lose: the cost of bringing each tenant back, over the time until it is next
// used (furthest next use, weighted), times a penalty for tenants that were used so recently that
// the load would have to wait. On the device tenants can also be slid together: then those leave
// that are cheapest to lose wherever they are, if that saves the link more seconds than it costs
// the device, or if there is no window.
//
// A tenant that is asked to leave after a use does so if it can be back in time; its load then has
// a place on the link, and room for it is looked for as of that place.
//
// Adds to the graph the transfers between this tier and the next one down, and every edge that this
// tier's bytes call for. Not thread-safe; one object a tier and plan.
//
// Invariants
//  1. Of a value at least one copy is valid from its first write on: a tenant whose version nobody
//     below has is sent down before its block is given away, unless that version is never read.
//  2. What a step needs is pinned: making room for one operand never evicts another, though on the
//     device it may move one, and a lower tier without room begins the step again with none of
//     them there. So addresses count only once all operands have theirs.
//  3. Whoever overwrites bytes gets an edge from every node that touched them before.
//
// residency.cpp follows the steps; residency_room.cpp finds room.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "ebbtide/error.hpp"
#include "tiering/plan/address_map.hpp"
#include "tiering/plan/graph.hpp"
#include "tiering/plan/tier_steps.hpp"

namespace ebbtide::planning {

// Thrown inside the planner; make_plan turns it into an Error with the smallest budget that fits.
struct OutOfRoom {
  Tier tier = Tier::kDevice;
  StepId step = 0;
  ValueId value = 0;
};

struct ResidencyRates {
  Rate up;                      // from the tier below
  Rate down;                    // to the tier below
  Rate far_up;                  // from the lowest tier, by way of those between
  Rate far_down;                // to the lowest tier
  double prefetch_seconds = 0;  // a tenant used within this before a step counts as busy
  double move_s_per_byte = 0;   // inside the tier
};

class Residency {
 public:
  // `budget_bytes` counts the homes at the start of the tier.
  Residency(Graph& graph, Tier tier, const TierSteps& steps, std::uint64_t budget_bytes,
            const ResidencyRates& rates, const PlanOptions& options);

  // Throws OutOfRoom.
  void run();

  // Address of each use of the steps; kNoAddress where the step acts below.
  const std::vector<std::uint64_t>& addresses() const { return addresses_; }
  // Highest number of bytes held at once and highest address, homes counted.
  std::uint64_t peak_bytes() const { return home_bytes_ + map_.peak_used_bytes(); }
  std::uint64_t span_bytes() const { return std::max(home_bytes_, map_.highest_end()); }

  static constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};

 private:
  // What comes after a use of a value in this tier.
  struct Next {
    StepId step : 30;
    bool discards : 1;      // the next use here overwrites it
    bool wanted_below : 1;  // this version is read, or at home, in a tier below
  };
  static constexpr StepId kNever = (1U << 30) - 1;

  struct State {
    BlockId block = kNone;
    Next next{kNever, false, false};
    StepId below_ready = 0;     // the copy below is there from this position on
    StepId load_from = kNever;  // its load was given a place on the lane from this step on
    bool valid = false;         // the block holds the current version
    bool valid_below = false;
    bool has_fixed_block = false;
  };

  // A step as the search for a window sees it.
  struct Moment {
    double seconds = 0;
    double issue_s = 0;   // when its loads are issued
    StepId pin_from = 0;  // what was used since may still be busy
    double per_prefetch_second = 0;
  };

  // What it takes to make room.
  struct Room {
    double lost_s = 0;    // seconds of the link, by Block::lose_s of who leaves
    double stores_s = 0;  // of these, for sending down what has no copy below
    double ready_s = 0;   // when the room is there
  };

  void place_homes();
  void link_uses();
  void link_uses_of(StepId step, std::vector<Next>& next);
  void act(StepId step);
  void act_below(StepId step);
  void finish();

  void place_operands(StepId step);
  void evict_all();
  void ensure(StepId step, std::uint32_t use);
  void touch(StepId step, std::uint32_t use);
  void after_use(StepId step, std::uint32_t use);

  void bring_up(StepId step, ValueId value);
  void send_down(StepId position, ValueId value);
  void place_at(StepId position, Transfer& transfer) const;
  void drop(ValueId value);
  void evict(BlockId id);

  void allocate(StepId step, ValueId value);
  void keep_limit(StepId step, ValueId value);
  // Of those that share the limit; kNone if none may leave.
  BlockId cheapest_of_limit(StepId step, ValueId value, std::uint8_t limit) const;
  Window make_room(StepId step, const Moment& now, ValueId value, std::uint64_t size);
  std::optional<Window> cheapest_window(StepId step, const Moment& now, std::uint64_t size);
  bool moving_pays(StepId step, const Moment& now, ValueId value, std::uint64_t size,
                   const Window& window);
  bool choose_leaving(StepId step, const Moment& now, std::uint64_t size);
  double ready_by_moving(const Moment& now, std::uint64_t size);
  void add_block(const Block& block, Room& room) const;
  Window slide_together(StepId step, std::uint64_t size);
  // `issue` is the step from which what is brought for `step` may be on its way.
  Moment moment(StepId step, StepId issue) const;
  StepId issue_step(StepId step, ValueId value) const;
  double cost_of_losing(const Moment& now, const Block& block) const;
  bool may_evict(StepId step, const Block& block) const;
  void wait_for(const Touches& touches, NodeId node);
  void add_reader(Touches& touches, NodeId node);
  double seconds_to_lose(const State& state, std::uint64_t bytes) const;

  bool stays_in_tier(const Value& value) const;
  bool leaves_at_once(const Use& use) const;
  bool goes_far(ValueId value) const;  // by the host arena to NVMe
  const Rate& rate_down(ValueId value) const;
  bool can_hide_leaving(StepId step, State& state);
  Tier home_tier(ValueId value) const;
  bool wanted_below_at_end(ValueId value) const;

  Graph& graph_;
  const Program& program_;
  const Tier tier_;
  const TierSteps& steps_;
  const ResidencyRates rates_;
  const PlanOptions& options_;
  const std::uint64_t home_bytes_;
  AddressMap map_;
  StepId preparing_ = kNever;  // the step whose operands get their places
  std::vector<State> states_;
  std::vector<Next> next_of_use_;
  std::vector<std::uint64_t> addresses_;
  double loads_begin_s_ = std::numeric_limits<double>::infinity();  // of those that left so far
  double down_free_s_ = 0;     // when the lane to the tier below is expected to be idle
  std::vector<double> costs_;  // scratch of the search for a window
  // Scratch of the choice of who leaves, and what it came to.
  std::vector<std::pair<double, BlockId>> by_cost_;
  std::vector<BlockId> leaving_;
  std::vector<std::uint64_t> limited_bytes_;  // by resident limit
};

}  // namespace ebbtide::planning
