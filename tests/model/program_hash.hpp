// A hash of what a program tells a planner: values, ops, uses and costs. Arguments count by their
// size alone, since structs of arguments have padding.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "ebbtide/program.hpp"

namespace ebbtide::testing {

// FNV-1a, 64 bits.
class ProgramHash {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes)
      hash_ = (hash_ ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3U;
  }
  void add(std::uint64_t number) {
    add(std::string_view(reinterpret_cast<const char*>(&number), sizeof number));
  }
  void add(double number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    add(bits);
  }
  std::uint64_t digest() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

inline void add_value(ProgramHash& hash, const Program& program, ValueId id) {
  const Value& value = program.value(id);
  const ValueKind& kind = program.kind(value.kind);
  hash.add(kind.name);
  hash.add(kind.category);
  hash.add(std::uint64_t{kind.resident_limit.value_or(255)});
  hash.add(value.size_bytes);
  hash.add(static_cast<std::uint64_t>(value.dtype));
  hash.add(static_cast<std::uint64_t>(value.reach));
  for (const std::int32_t at : value.at) hash.add(static_cast<std::uint64_t>(at));
  const Home* home = program.home(id);
  if (home == nullptr) return;
  hash.add(std::uint64_t{index(home->tier)});
  hash.add(home->address);
}

inline void add_op(ProgramHash& hash, const Program& program, OpId id) {
  hash.add(program.kernel(program.op(id).kernel).name);
  hash.add(static_cast<std::uint64_t>(program.place(id)));
  hash.add(std::uint64_t{program.args(id).size()});
  hash.add(program.cost(id).flops);
  hash.add(program.cost(id).memory_bytes);
  for (const Use& use : program.uses(id)) {
    hash.add(std::uint64_t{use.value});
    hash.add(static_cast<std::uint64_t>(use.access()));
    hash.add(std::uint64_t{use.leaves});
  }
}

inline std::uint64_t hash_of(const Program& program) {
  ProgramHash hash;
  for (ValueId value = 0; value < program.value_count(); ++value) add_value(hash, program, value);
  for (OpId op = 0; op < program.op_count(); ++op) add_op(hash, program, op);
  for (const OpId op : program.chunk_steps()) hash.add(std::uint64_t{op});
  for (const std::uint64_t bytes : program.home_bytes()) hash.add(bytes);
  return hash.digest();
}

}  // namespace ebbtide::testing
