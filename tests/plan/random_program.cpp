#include "tests/plan/random_program.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ebbtide::plan_test {
namespace {

class Author {
 public:
  Author(std::uint64_t seed, const RandomShape& shape) : dice_(seed), shape_(shape) {
    kind_ = program_.add_kind({.name = "value", .category = "values", .resident_limit = {}});
    kernels_[0] = program_.add_kernel({.name = "mix", .place = Place::kDevice, .run = {}});
    kernels_[1] = program_.add_kernel({.name = "mix on host", .place = Place::kHost, .run = {}});
    kernels_[2] = program_.add_kernel({.name = "mix of ranks", .place = Place::kComm, .run = {}});
  }

  Program write() {
    add_homes();
    const std::uint64_t ops = dice_.between(shape_.ops_min, shape_.ops_max);
    for (std::uint64_t i = 0; i < ops; ++i) {
      if (dice_.chance(0.25)) program_.begin_chunk_step();
      i % 6 == 5 ? add_collecting_op() : add_op();
    }
    program_.set_home_bytes(layout_.bytes());
    return std::move(program_);
  }

 private:
  void add_homes() {
    const std::uint64_t count = dice_.between(2, 8);
    for (std::uint64_t i = 0; i < count; ++i) {
      const Home home = layout_.add(size_bytes(), static_cast<Tier>(dice_.between(0, 2)));
      if (dice_.chance(0.2)) continue;  // another program's
      add_value({.kind = kind_, .reach = reach_with_home(home.tier)}, &home);
    }
    const Home sink = layout_.add(dice_.between(8, 64), Tier::kHost);
    sink_ = add_value({.kind = kind_}, &sink);
  }

  ValueId add_value(Value value, const Home* home) {
    value.at = {static_cast<std::int32_t>(program_.value_count()), -1};
    const ValueId id =
        home == nullptr ? program_.add_value(value) : program_.add_value(value, *home);
    defined_.push_back(id);
    return id;
  }

  // Sizes spread evenly over the powers of two.
  std::uint64_t size_bytes() {
    const double least = std::log2(static_cast<double>(shape_.size_min_bytes));
    const double most = std::log2(static_cast<double>(shape_.size_max_bytes));
    const double bits = least + (most - least) * static_cast<double>(dice_.between(0, 1000)) / 1000;
    return static_cast<std::uint64_t>(std::exp2(bits));
  }

  Reach reach_with_home(Tier tier) {
    if (dice_.chance(0.6) || tier == Tier::kNvme) return Reach::kAny;
    return tier == Tier::kDevice && dice_.chance(0.5) ? Reach::kDevice : Reach::kHost;
  }

  Reach reach(Place place) {
    constexpr Reach kinds[] = {Reach::kHost, Reach::kNvme, Reach::kDevice};
    if (dice_.chance(0.5)) return Reach::kAny;
    return kinds[dice_.between(0, place == Place::kHost ? 1 : 2)];
  }

  Place any_place(double host_chance) {
    if (dice_.chance(host_chance)) return Place::kHost;
    const bool comm = shape_.comm_chance > 0 && dice_.chance(shape_.comm_chance);
    return comm ? Place::kComm : Place::kDevice;
  }

  After after() { return dice_.chance(shape_.leave_chance) ? After::kLeave : After::kStay; }

  void add_op() {
    const Place place = any_place(0.15);
    std::vector<Use> uses;
    for (std::uint64_t i = dice_.between(0, 4); i > 0; --i) use_defined(place, uses);
    if (uses.empty() || dice_.chance(0.7)) {
      const ValueId fresh =
          add_value({.size_bytes = size_bytes(), .kind = kind_, .reach = reach(place)}, nullptr);
      uses.push_back(make_use(fresh, Access::kWrite, after()));
    }
    finish_op(place, uses);
  }

  // Uses a value that is there: mostly a late one, sometimes any; rarely writes over it.
  void use_defined(Place place, std::vector<Use>& uses) {
    const std::size_t recent = std::min<std::size_t>(defined_.size(), 6);
    const ValueId value = dice_.chance(0.6) ? defined_[defined_.size() - dice_.between(1, recent)]
                                            : defined_[dice_.between(0, defined_.size() - 1)];
    if (place == Place::kHost && program_.value(value).reach == Reach::kDevice) return;
    if (std::ranges::any_of(uses, [&](Use use) { return use.value == value; })) return;
    const Access access = dice_.chance(0.65)  ? Access::kRead
                          : dice_.chance(0.8) ? Access::kUpdate
                                              : Access::kWrite;
    uses.push_back(make_use(value, access, after()));
  }

  // Carries what a few values hold into a home, so that a wrong byte shows at the end.
  void add_collecting_op() {
    const Place place = any_place(0.3);
    std::vector<Use> uses{make_use(sink_, Access::kUpdate, after())};
    for (int i = 0; i < 3; ++i) use_defined(place, uses);
    finish_op(place, uses);
  }

  void finish_op(Place place, const std::vector<Use>& uses) {
    double bytes = 0;
    for (const Use use : uses) bytes += static_cast<double>(program_.value(use.value).size_bytes);
    // some collectives take long, so that others' work has to wait for them and go on beside them
    const double factor = static_cast<double>(dice_.between(1, 400));
    const OpCost cost{bytes * factor, bytes, bytes * factor / 16};
    program_.add_op(kernels_[static_cast<std::size_t>(place)], uses, {}, cost);
  }

  Dice dice_;
  RandomShape shape_;
  Program program_;
  HomeLayout layout_;
  KindId kind_ = 0;
  KernelId kernels_[3]{};  // by place
  ValueId sink_ = 0;
  std::vector<ValueId> defined_;
};

}  // namespace

Program random_program(std::uint64_t seed, const RandomShape& shape) {
  return Author(seed, shape).write();
}

}  // namespace ebbtide::plan_test
