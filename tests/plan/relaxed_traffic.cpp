#include <algorithm>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <vector>

#include "tests/plan/relaxed_traffic.hpp"

namespace ebbtide::plan_test {
namespace {

// Bytes of a unit in the linear program, which likes numbers near one.
constexpr double kUnit = 1 << 20;

// Columns: of each stay the part that is kept, of each store the part that is made, and the bytes
// that are kept at each **stretch**, steps at which the same stays are open. Capacity bounds the
// last of these, so that each stay has an entry in two rows instead of one in every step of it:
//   kept[i] = kept[i - 1] + sum of those that begin - sum of those that end
//   store[j] >= 1 - part of each of its stays
class Relaxation {
 public:
  Relaxation(const DeviceStays& open, const Program& program, std::uint64_t device_bytes)
      : open_(open), program_(program) {
    const std::uint64_t room = device_bytes - std::min(device_bytes, open.home_bytes);
    find_stretches();
    bound_stretches(static_cast<double>(room));
    for (std::uint32_t i = 0; i < open.stays.size(); ++i) add_stay(i);
    for (std::uint32_t i = 0; i < room_.size(); ++i) add_stretch(i);
  }

  std::optional<double> solve() {
    ClpSimplex lp;
    lp.setLogLevel(0);
    const CoinPackedMatrix matrix(false, rows_.data(), columns_.data(), entries_.data(),
                                  static_cast<int>(entries_.size()));
    std::vector<double> least(column_count(), 0), most(column_count(), 1), cost(column_count(), 0);
    double always = static_cast<double>(open_.unavoidable_bytes) / kUnit;
    for (std::size_t i = 0; i < open_.stays.size(); ++i) {
      if (!open_.stays[i].optional) least[i] = 1;
      const double load = static_cast<double>(program_.value(open_.stays[i].value).size_bytes);
      always += load / kUnit;
      cost[i] = -load / kUnit;
    }
    for (std::size_t j = 0; j < open_.stores.size(); ++j)
      cost[open_.stays.size() + j] = static_cast<double>(open_.stores[j]) / kUnit;
    for (std::size_t i = 0; i < room_.size(); ++i) {
      if (room_[i] < 0) return std::nullopt;
      most[stretch_column(i)] = room_[i] / kUnit;
    }
    lp.loadProblem(matrix, least.data(), most.data(), cost.data(), row_least_.data(),
                   row_most_.data());
    lp.initialSolve();
    if (!lp.isProvenOptimal()) return std::nullopt;
    return (always + lp.objectiveValue()) * kUnit;
  }

 private:
  std::size_t column_count() const {
    return open_.stays.size() + open_.stores.size() + room_.size();
  }
  std::size_t stretch_column(std::size_t stretch) const {
    return open_.stays.size() + open_.stores.size() + stretch;
  }

  // A stay is open from the step after its first use until the step before its last.
  void find_stretches() {
    const std::size_t steps = open_.operand_bytes.size();
    std::vector<bool> begins(steps + 1, false);
    begins[0] = true;
    for (const Stay& stay : open_.stays) begins[stay.from + 1] = begins[stay.to] = true;
    for (std::size_t step = 0; step < steps; ++step) {
      if (begins[step]) room_.push_back(0);
      stretch_of_step_.push_back(static_cast<int>(room_.size()) - 1);
    }
  }

  void bound_stretches(double room_bytes) {
    std::fill(room_.begin(), room_.end(), room_bytes);
    for (std::size_t step = 0; step < open_.operand_bytes.size(); ++step) {
      double& room = room_[static_cast<std::size_t>(stretch_of_step_[step])];
      room = std::min(room, room_bytes - static_cast<double>(open_.operand_bytes[step]));
    }
    row_least_.assign(room_.size(), 0);
    row_most_.assign(room_.size(), 0);
  }

  void add(int row, std::size_t column, double entry) {
    rows_.push_back(row);
    columns_.push_back(static_cast<int>(column));
    entries_.push_back(entry);
  }

  void add_stay(std::uint32_t id) {
    const Stay& stay = open_.stays[id];
    const double bytes =
        static_cast<double>(extent(program_.value(stay.value).size_bytes, Tier::kDevice));
    add(stretch_of_step_[stay.from + 1], id, -bytes / kUnit);
    add(stretch_of_step_[stay.to], id, bytes / kUnit);
    if (stay.store == Stay::kNoStore) return;
    const int row = static_cast<int>(row_least_.size());
    add(row, id, 1);
    add(row, open_.stays.size() + stay.store, 1);
    row_least_.push_back(1);
    row_most_.push_back(COIN_DBL_MAX);
  }

  void add_stretch(std::uint32_t stretch) {
    add(static_cast<int>(stretch), stretch_column(stretch), 1);
    if (stretch > 0) add(static_cast<int>(stretch), stretch_column(stretch - 1), -1);
  }

  const DeviceStays& open_;
  const Program& program_;
  std::vector<int> stretch_of_step_;
  std::vector<double> room_;  // bytes beside the operands, by stretch
  std::vector<int> rows_, columns_;
  std::vector<double> entries_;
  std::vector<double> row_least_, row_most_;
};

}  // namespace

bool can_relax() {
  return true;
}

std::optional<double> relaxed_traffic(const DeviceStays& open, const Program& program,
                                      std::uint64_t device_bytes) {
  return Relaxation(open, program, device_bytes).solve();
}

}  // namespace ebbtide::plan_test
