// A program outside the tree: its own ops, tiered over host memory and NVMe by the installed
// library. Prints what moved; exits with 1 if a number is wrong or nothing had to move.
//
//   s = 3                                        read by every op below (fan-out)
//   x_i = i + s + position            i ascending, each of 4 MiB, over the bucket of 1 MiB
//   sum += x_i * s                    i descending (updates)
//   weights += sum                    on the host; the weights' home is on NVMe
#include <cstdio>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <ebbtide/engine.hpp>
#include <ebbtide/error.hpp>

namespace {

constexpr std::uint64_t kCount = std::uint64_t{1} << 20;  // floats a value
constexpr std::uint64_t kBytes = kCount * sizeof(float);
constexpr int kChunks = 24;
constexpr int kSteps = 3;

std::span<float> floats(const ebbtide::OpContext& context, std::size_t operand) {
  return {reinterpret_cast<float*>(context.operands[operand]), kCount};
}
float chunk(const ebbtide::OpContext& context) {
  int i = 0;
  std::memcpy(&i, context.args.data(), sizeof i);
  return static_cast<float>(i);
}

void set_scale(const ebbtide::OpContext& context) {
  *reinterpret_cast<float*>(context.operands[0]) = 3;
}
void make(const ebbtide::OpContext& context) {  // s, x
  const float s = *reinterpret_cast<const float*>(context.operands[0]);
  const std::span<float> x = floats(context, 1);
  for (std::size_t at = 0; at < x.size(); ++at)
    x[at] = chunk(context) + s + static_cast<float>(at % 16);
}
void clear(const ebbtide::OpContext& context) {
  std::memset(context.operands[0], 0, kBytes);
}
void add(const ebbtide::OpContext& context) {  // s, x, sum
  const float s = *reinterpret_cast<const float*>(context.operands[0]);
  const std::span<float> x = floats(context, 1);
  const std::span<float> sum = floats(context, 2);
  for (std::size_t at = 0; at < x.size(); ++at) sum[at] += x[at] * s;
}
void learn(const ebbtide::OpContext& context) {  // sum, weights
  const std::span<float> sum = floats(context, 0);
  const std::span<float> weights = floats(context, 1);
  for (std::size_t at = 0; at < sum.size(); ++at) weights[at] += sum[at];
}

float expected(std::size_t at) {
  float sum = 0;
  for (int i = kChunks - 1; i >= 0; --i) sum += (static_cast<float>(i) + 3 + at % 16) * 3;
  return kSteps * sum;
}

ebbtide::Program write_program(ebbtide::Home& weights_home) {
  using namespace ebbtide;
  Program program;
  HomeLayout homes;
  weights_home = homes.add(kBytes, Tier::kNvme);
  program.set_home_bytes(homes.bytes());
  const KindId kind = program.add_kind({.name = "vector", .category = "vectors"});
  const KernelId set_scale_ = program.add_kernel({"set scale", Place::kDevice, set_scale});
  const KernelId make_ = program.add_kernel({"make", Place::kDevice, make});
  const KernelId clear_ = program.add_kernel({"clear", Place::kDevice, clear});
  const KernelId add_ = program.add_kernel({"add", Place::kDevice, add});
  const KernelId learn_ = program.add_kernel({"learn", Place::kHost, learn});

  const OpCost cost{2.0 * kCount, 3.0 * kBytes};
  const ValueId s = program.add_value({.size_bytes = sizeof(float), .kind = kind});
  const ValueId sum = program.add_value({.size_bytes = kBytes, .kind = kind});
  const ValueId weights = program.add_value({.kind = kind}, weights_home);
  program.add_op(set_scale_, {write(s)}, 0, cost);
  std::vector<ValueId> x;
  for (int i = 0; i < kChunks; ++i) {
    // every other one goes down to NVMe at once, the rest wherever there is room
    const Reach reach = i % 2 == 0 ? Reach::kNvme : Reach::kAny;
    x.push_back(
        program.add_value({.size_bytes = kBytes, .kind = kind, .reach = reach, .at = {i, -1}}));
    program.begin_chunk_step();
    program.add_op(make_, {read(s), write(x[i])}, i, cost);
  }
  program.add_op(clear_, {write(sum)}, 0, cost);
  for (int i = kChunks - 1; i >= 0; --i) {
    program.begin_chunk_step();
    program.add_op(add_, {read(s), read(x[i]), update(sum)}, i, cost);
  }
  program.add_op(learn_, {read(sum), update(weights)}, 0, cost);
  return program;
}

bool run(const std::string& disk) {
  using namespace ebbtide;
  Home weights_home;
  const Program program = write_program(weights_home);
  const Budgets budgets{smallest_device_budget(program) + kBytes, 8 * kBytes,
                        (kChunks + 2) * kBytes};
  PlanOptions plan_options;
  plan_options.bucket_bytes = std::uint64_t{1} << 20;
  const Plan plan = make_plan(program, budgets, generic_cpu_hardware(), plan_options);
  const Verdict verdict = verify(program, plan);
  if (!verdict.ok()) return std::puts(verdict.message.c_str()), false;

  Engine engine(make_cpu_device({.arena_bytes = budgets.device_bytes}),
                {.host_bytes = budgets.host_bytes,
                 .nvme_bytes = budgets.nvme_bytes,
                 .nvme_paths = {disk},
                 .freed_blocks = FreedBlocks::kPoison});
  std::vector<float> weights(kCount);
  engine.write_home(weights_home, std::as_bytes(std::span(weights)));
  for (int step = 0; step < kSteps; ++step) engine.run(program, plan);
  engine.read_home(weights_home, std::as_writable_bytes(std::span(weights)));

  std::printf("device budget %llu bytes of %llu\n",
              static_cast<unsigned long long>(budgets.device_bytes),
              static_cast<unsigned long long>((kChunks + 2) * kBytes));
  for (const Lane lane : {Lane::kD2h, Lane::kH2d, Lane::kNvmeWrite, Lane::kNvmeRead}) {
    const std::uint64_t moved = engine.counters().moved_bytes[index(lane)];
    std::printf("%.*s: %llu bytes\n", static_cast<int>(name(lane).size()), name(lane).data(),
                static_cast<unsigned long long>(moved));
    if (moved == 0) return false;
  }
  for (std::size_t at = 0; at < kCount; ++at) {
    if (weights[at] != expected(at)) {
      std::printf("weights[%zu] is %g, not %g\n", at, static_cast<double>(weights[at]),
                  static_cast<double>(expected(at)));
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int, char** argv) {
  try {
    return run(argv[1]) ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
