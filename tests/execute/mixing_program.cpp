#include "tests/execute/mixing_program.hpp"

#include <span>

namespace ebbtide::test {
namespace {

struct Operand {
  std::uint64_t size_bytes = 0;
  Access access = Access::kRead;
};

std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

std::uint64_t digest(std::uint64_t seed, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes)
    seed = (seed ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001B3U;
  return scramble(seed ^ bytes.size());
}

void mix(OpId id, const std::vector<Operand>& operands, const OpContext& context) {
  std::uint64_t seed = scramble(id + 1);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].access != Access::kWrite)
      seed = digest(seed, {context.operands[i], operands[i].size_bytes});
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].access == Access::kRead) continue;
    for (std::uint64_t at = 0; at < operands[i].size_bytes; ++at)
      context.operands[i][at] = static_cast<std::byte>((seed + i + at * 0x9E3779B97F4A7C15U) >> 56);
  }
}

}  // namespace

Program with_mixing_ops(const Program& planned, const std::function<void(OpId)>& before_op) {
  Program program;
  for (std::size_t i = 0; i < planned.kind_count(); ++i)
    program.add_kind(planned.kind(static_cast<KindId>(i)));
  for (ValueId id = 0; id < planned.value_count(); ++id) {
    const Home* home = planned.home(id);
    Value value = planned.value(id);
    value.home = Value::kNoHome;
    home == nullptr ? program.add_value(value) : program.add_value(value, *home);
  }
  std::size_t chunk_step = 0;
  for (OpId id = 0; id < planned.op_count(); ++id) {
    if (chunk_step < planned.chunk_steps().size() && planned.chunk_steps()[chunk_step] == id) {
      program.begin_chunk_step();
      ++chunk_step;
    }
    std::vector<Operand> operands;
    for (const Use& use : planned.uses(id))
      operands.push_back({planned.value(use.value).size_bytes, use.access()});
    // a kernel of its own for each op: what it captures is what a model's op has in its arguments
    const KernelId kernel = program.add_kernel(
        {"mix", planned.place(id), [id, operands, before_op](const OpContext& context) {
           if (before_op) before_op(id);
           mix(id, operands, context);
         }});
    program.add_op(kernel, planned.uses(id), {}, planned.cost(id));
  }
  program.set_home_bytes(planned.home_bytes());
  return program;
}

std::vector<Bytes> random_homes(const Program& program, std::uint64_t seed) {
  std::vector<Bytes> homes(program.value_count());
  for (ValueId id = 0; id < program.value_count(); ++id) {
    if (program.home(id) == nullptr) continue;
    homes[id].resize(program.value(id).size_bytes);
    for (std::byte& byte : homes[id])
      byte = static_cast<std::byte>((seed = scramble(seed + 1)) >> 56);
  }
  return homes;
}

std::vector<Bytes> run_in_order(const Program& program, std::vector<Bytes> homes) {
  std::vector<Bytes> values = std::move(homes);
  for (ValueId id = 0; id < program.value_count(); ++id)
    values[id].resize(program.value(id).size_bytes);
  for (OpId id = 0; id < program.op_count(); ++id) {
    std::vector<std::byte*> operands;
    for (const Use& use : program.uses(id)) operands.push_back(values[use.value].data());
    program.kernel(program.op(id).kernel).run({program.args(id), operands, nullptr});
  }
  for (ValueId id = 0; id < program.value_count(); ++id) {
    if (program.home(id) == nullptr) values[id].clear();
  }
  return values;
}

std::vector<Bytes> run_on(Engine& engine, const Program& program, const Plan& plan,
                          const std::vector<Bytes>& homes) {
  std::vector<Bytes> after = homes;
  for (ValueId id = 0; id < program.value_count(); ++id) {
    if (const Home* home = program.home(id)) engine.write_home(*home, homes[id]);
  }
  engine.run(program, plan);
  for (ValueId id = 0; id < program.value_count(); ++id) {
    if (const Home* home = program.home(id)) engine.read_home(*home, after[id]);
  }
  return after;
}

}  // namespace ebbtide::test
