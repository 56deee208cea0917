// A Program is one step, written down before it runs: ops in order over values.
//
// Not thread-safe while it is being built; immutable and shareable afterwards.
//
// Invariants
//  1. Values never alias: no views, no two names for one storage.
//  2. An op's uses name distinct values. `read` needs the value's current version; `write` begins a
//     new version and sets every byte; `update` reads the current version and makes the next one.
//  3. A value without a home is undefined before its first write and dead after its last use.
//  4. A value with a home holds its last version there, at the same address, between steps.
//  5. Ops are executed as if in program order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "ebbtide/types.hpp"

namespace ebbtide {

using ValueId = std::uint32_t;
using OpId = std::uint32_t;
using KernelId = std::uint16_t;
using KindId = std::uint16_t;

// Where an op runs, and so where its operands must be.
enum class Place : std::uint8_t {
  kDevice,
  kHost,
  kComm,  // between ranks, on operands in device memory, beside what the device computes
};

// The lane of ops at a place. Ops of one lane are done in program order.
constexpr Lane op_lane(Place place) {
  switch (place) {
    case Place::kHost:
      return Lane::kHostCompute;
    case Place::kComm:
      return Lane::kComm;
    case Place::kDevice:
      break;
  }
  return Lane::kCompute;
}
constexpr Tier operand_tier(Place place) {
  return route(op_lane(place)).from;
}

enum class Access : std::uint8_t { kRead, kWrite, kUpdate };

// Whether a value stays for its next use, as far as there is room, or leaves the device at once.
enum class After : std::uint8_t { kStay, kLeave };

struct Use {
  std::uint32_t value : 29;
  std::uint32_t access_bits : 2;
  bool leaves : 1;

  Access access() const { return static_cast<Access>(access_bits); }
  bool reads() const { return access() != Access::kWrite; }
  bool writes() const { return access() != Access::kRead; }
};
static_assert(sizeof(Use) == 4);

constexpr Use make_use(ValueId value, Access access, After after = After::kStay) {
  return {value & 0x1fffffffU, static_cast<std::uint32_t>(access) & 3U, after == After::kLeave};
}
constexpr Use read(ValueId v, After after = After::kStay) {
  return make_use(v, Access::kRead, after);
}
constexpr Use write(ValueId v, After after = After::kStay) {
  return make_use(v, Access::kWrite, after);
}
constexpr Use update(ValueId v, After after = After::kStay) {
  return make_use(v, Access::kUpdate, after);
}

// How far down a value may go when it leaves the device.
enum class Reach : std::uint8_t {
  kAny,     // wherever there is room
  kDevice,  // it never leaves
  kHost,    // to the host arena, no further
  kNvme,    // through the host arena to NVMe, at once
};

// A fixed place for a value that lives across steps.
struct Home {
  Tier tier = Tier::kHost;
  std::uint64_t address = 0;  // bytes from the start of the tier's space
  std::uint64_t size_bytes = 0;
};

// Lays out homes, lowest address first, in the order in which they are added. Programs that share
// values across steps (training, evaluation, a shorter last step) share one layout.
class HomeLayout {
 public:
  Home add(std::uint64_t size_bytes, Tier tier);
  // Bytes at the start of each tier that homes take.
  const PerTier<std::uint64_t>& bytes() const { return bytes_; }

 private:
  PerTier<std::uint64_t> bytes_{};
};

// What values of one kind have in common, for bills and messages.
struct ValueKind {
  std::string name;      // "attention output"
  std::string category;  // the line of the memory bill: "saved activations", "weights", ...
  // Kinds with the same limit share PlanOptions::resident_limit_bytes[limit] of the device.
  std::optional<std::uint8_t> resident_limit;
};

struct Value {
  std::uint64_t size_bytes = 0;
  KindId kind = 0;
  DType dtype = DType::kF32;
  Reach reach = Reach::kAny;
  std::uint32_t home = kNoHome;            // index into Program::homes()
  std::array<std::int32_t, 2> at{-1, -1};  // which one of its kind: (layer, chunk), -1 for none
  static constexpr std::uint32_t kNoHome = ~0U;
};

// Work of an op, for hardware models.
struct OpCost {
  double flops = 0;         // multiply-adds count two
  double memory_bytes = 0;  // read and written in the memory where the op runs
  double sent_bytes = 0;    // from this rank to others, while it receives about as much

  bool operator==(const OpCost&) const = default;
};

// What an op's callback gets. Operand i is use i of the op; its memory is where the op runs.
struct OpContext {
  std::span<const std::byte> args;
  std::span<std::byte* const> operands;
  void* stream = nullptr;  // the device's native stream; null on the CPU
};
using OpFunction = std::function<void(const OpContext&)>;

// What an op mostly does, which decides how near to its peak a device comes.
enum class OpClass : std::uint8_t {
  kMatmul,
  kAttention,
  kElementwise,  // bound by memory
};
inline constexpr std::size_t kOpClassCount = 3;

struct Kernel {
  std::string name;
  Place place = Place::kDevice;
  OpFunction run;                   // may be empty in a program that is only planned
  std::optional<OpClass> op_class;  // of those on the device, where it is known
};

struct Op {
  std::uint32_t uses_begin = 0;
  std::uint32_t args_begin = 0;
  std::uint32_t cost = 0;  // index into Program::costs()
  KernelId kernel = 0;
  std::uint16_t use_count = 0;
};

class Program {
 public:
  KindId add_kind(ValueKind kind);
  KernelId add_kernel(Kernel kernel);
  // Requires size_bytes > 0.
  ValueId add_value(Value value);
  // A value that lives at `home` across steps; value.size_bytes is the home's.
  ValueId add_value(Value value, const Home& home);
  // Requires distinct values; args are copied.
  OpId add_op(KernelId kernel, std::span<const Use> uses, std::span<const std::byte> args,
              OpCost cost);
  template <typename Args>
  OpId add_op(KernelId kernel, std::initializer_list<Use> uses, const Args& args, OpCost cost) {
    static_assert(std::is_trivially_copyable_v<Args>);
    return add_op(kernel, std::span(uses.begin(), uses.size()), std::as_bytes(std::span(&args, 1)),
                  cost);
  }
  // The next op begins a chunk-step: the unit of the prefetch distance.
  void begin_chunk_step();
  // Bytes at the start of each tier that are homes of this or other programs of the run.
  void set_home_bytes(const PerTier<std::uint64_t>& bytes) { home_bytes_ = bytes; }

  std::size_t op_count() const { return ops_.size(); }
  std::size_t value_count() const { return values_.size(); }
  const Op& op(OpId id) const { return ops_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  const ValueKind& kind(KindId id) const { return kinds_[id]; }
  const Kernel& kernel(KernelId id) const { return kernels_[id]; }
  Place place(OpId id) const { return kernels_[ops_[id].kernel].place; }
  // Where the op's operands are while it runs.
  Tier operand_tier(OpId id) const { return ebbtide::operand_tier(place(id)); }
  std::span<const Use> uses(OpId id) const {
    return {uses_.data() + ops_[id].uses_begin, ops_[id].use_count};
  }
  std::span<const std::byte> args(OpId id) const;
  const OpCost& cost(OpId id) const { return costs_[ops_[id].cost]; }
  const Home* home(ValueId id) const {
    const std::uint32_t at = values_[id].home;
    return at == Value::kNoHome ? nullptr : &homes_[at];
  }
  std::size_t use_count() const { return uses_.size(); }
  std::size_t kind_count() const { return kinds_.size(); }
  // Ops at which chunk-steps begin, ascending.
  std::span<const OpId> chunk_steps() const { return chunk_steps_; }
  const PerTier<std::uint64_t>& home_bytes() const { return home_bytes_; }
  // Bytes that the program itself takes.
  std::uint64_t memory_bytes() const;
  // "attention output (3, 17)"
  std::string describe(ValueId id) const;

 private:
  std::vector<ValueKind> kinds_;
  std::vector<Kernel> kernels_;
  std::vector<Value> values_;
  std::vector<Home> homes_;
  std::vector<Op> ops_;
  std::vector<Use> uses_;
  std::vector<std::byte> args_;
  std::vector<OpCost> costs_;
  std::vector<OpId> chunk_steps_;
  PerTier<std::uint64_t> home_bytes_{};
};

}  // namespace ebbtide
