#include "tests/plan/device_stays.hpp"

namespace ebbtide::plan_test {
namespace {

constexpr std::uint32_t kNever = ~0U;

// Walks the program once; what a version needs below is known only when it ends, so stays point to
// their version until then.
class Walk {
 public:
  explicit Walk(const Program& program) : program_(program), states_(program.value_count()) {
    made_.home_bytes = program.home_bytes()[index(Tier::kDevice)];
    for (ValueId value = 0; value < states_.size(); ++value) {
      const Home* home = program.home(value);
      begin_version(value, home != nullptr && home->tier != Tier::kDevice);
      states_[value].on_device = at_home(value);
    }
  }

  DeviceStays run() {
    for (OpId op = 0; op < program_.op_count(); ++op)
      program_.operand_tier(op) == Tier::kDevice ? act_on_device(op) : act_on_host(op);
    finish();
    return std::move(made_);
  }

 private:
  struct Version {
    ValueId value = 0;
    bool below = false;  // made there, or travels down whatever stays
    std::uint32_t store = Stay::kNoStore;
  };
  struct State {
    std::uint32_t version = 0;
    std::uint32_t last_step = kNever;  // last device op of this version
    bool on_device = false;            // at home there
  };

  bool at_home(ValueId value) const {
    const Home* home = program_.home(value);
    return home != nullptr && home->tier == Tier::kDevice;
  }
  std::uint64_t bytes(ValueId value) const { return program_.value(value).size_bytes; }

  void begin_version(ValueId value, bool below) {
    states_[value].version = static_cast<std::uint32_t>(versions_.size());
    states_[value].last_step = kNever;
    versions_.push_back({.value = value, .below = below});
  }

  void act_on_device(OpId op) {
    const auto step = static_cast<std::uint32_t>(made_.operand_bytes.size());
    made_.operand_bytes.push_back(0);
    for (const Use& use : program_.uses(op)) {
      State& state = states_[use.value];
      if (!at_home(use.value))
        made_.operand_bytes.back() += extent(bytes(use.value), Tier::kDevice);
      if (use.reads()) read_on_device(step, use.value);
      if (use.writes()) begin_version(use.value, false);
      state.on_device = at_home(use.value);
      state.last_step = step;
    }
  }

  void read_on_device(std::uint32_t step, ValueId value) {
    const State& state = states_[value];
    if (state.on_device) return;
    if (state.last_step == kNever) {
      made_.unavoidable_bytes += bytes(value);
    } else if (state.last_step + 1 < step) {
      const bool optional = program_.value(value).reach != Reach::kDevice;
      made_.stays.push_back({state.last_step, step, value, state.version, optional});
    }
  }

  void act_on_host(OpId op) {
    for (const Use& use : program_.uses(op)) {
      if (use.reads()) need_below(use.value);
      if (!use.writes()) continue;
      begin_version(use.value, true);
      states_[use.value].on_device = false;
    }
  }

  void need_below(ValueId value) {
    Version& version = versions_[states_[value].version];
    if (!version.below) made_.unavoidable_bytes += bytes(value);
    version.below = true;
  }

  void finish() {
    for (ValueId value = 0; value < states_.size(); ++value) {
      if (program_.home(value) == nullptr) continue;
      if (!at_home(value))
        need_below(value);
      else if (!states_[value].on_device)
        made_.unavoidable_bytes += bytes(value);
    }
    for (Stay& stay : made_.stays) stay.store = store_of(versions_[stay.store]);
  }

  std::uint32_t store_of(Version& version) {
    if (version.below) return Stay::kNoStore;
    if (version.store == Stay::kNoStore) {
      version.store = static_cast<std::uint32_t>(made_.stores.size());
      made_.stores.push_back(bytes(version.value));
    }
    return version.store;
  }

  const Program& program_;
  std::vector<State> states_;
  std::vector<Version> versions_;
  DeviceStays made_;
};

}  // namespace

DeviceStays device_stays(const Program& program) {
  return Walk(program).run();
}

}  // namespace ebbtide::plan_test
