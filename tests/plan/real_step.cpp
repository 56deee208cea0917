#include "tests/plan/real_step.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ebbtide/error.hpp"

namespace ebbtide::plan_test {
namespace {

constexpr std::int64_t kTokens = 29;
constexpr std::int64_t kChunkTokens = 8;
constexpr std::uint64_t kAmpleBytes = std::uint64_t{64} << 20;
constexpr model::OptimizerScalars kScalars{
    .target_count = 28, .grad_clip = 0.5, .learning_rate = 1e-2F, .weight_decay = 0.1F};

model::StepShape shape_of(DType dtype, std::int64_t group) {
  return {kTokens, kChunkTokens, group, dtype};
}

// Ids that are no ids would send a kernel outside of its operands.
bool has_false_ids(const Program& program, OpId op, std::span<const std::span<std::byte>> operands,
                   std::int64_t vocab) {
  const std::span<const Use> uses = program.uses(op);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Value& value = program.value(uses[i].value);
    if (value.dtype != DType::kU32) continue;
    const bool may_be_ignored = program.kind(value.kind).name == "targets";
    for (std::size_t at = 0; at < operands[i].size(); at += sizeof(std::uint32_t)) {
      std::uint32_t id = 0;
      std::memcpy(&id, operands[i].data() + at, sizeof id);
      if (id >= vocab && !(may_be_ignored && id == kernels::kIgnoredTarget)) return true;
    }
  }
  return false;
}

std::vector<Home> homes_of(const model::ModelHomes& layout) {
  std::vector<Home> homes{layout.loss, layout.scalars, layout.gradient_norm};
  for (const auto* more : {&layout.sums_of_squares, &layout.tokens, &layout.targets})
    homes.insert(homes.end(), more->begin(), more->end());
  for (const model::ParameterHomes& of : layout.parameters)
    homes.insert(homes.end(), {of.weight, of.master, of.m, of.v, of.gradient});
  return homes;
}

void fill(testing::LlamaRun& run) {
  run.set_weights(testing::random_weights(run.config(), 3));
  run.set_data(testing::random_data(kTokens, run.config().vocab, 5));
  run.set_scalars(kScalars);
}

StepResult result_of(testing::LlamaRun& run) {
  StepResult result;
  const auto add = [&](const Home& home) {
    const std::span<std::byte> bytes = run.homes().at(home);
    result.emplace_back(bytes.begin(), bytes.end());
  };
  add(run.layout().loss);
  add(run.layout().gradient_norm);
  for (const model::ParameterHomes& homes : run.layout().parameters)
    for (const Home& home : {homes.weight, homes.master, homes.m, homes.v, homes.gradient})
      add(home);
  return result;
}

}  // namespace

PlannedStep plan_tightly(Program program, Room room, const PlanOptions& options) {
  const bool device = room == Room::kTightDevice || room == Room::kTightBoth;
  const bool host = room == Room::kTightHost || room == Room::kTightBoth;
  Budgets budgets{device ? smallest_device_budget(program) : kAmpleBytes, kAmpleBytes, kAmpleBytes};
  Plan plan = make_plan(program, budgets, generic_cpu_hardware(), options);
  if (host) {
    const std::uint64_t homes = program.home_bytes()[index(Tier::kHost)];
    const std::uint64_t most = plan.peak_bytes[index(Tier::kHost)];
    // by eighths of what it would take, as few as plan
    for (std::uint64_t share = 7; share > 0; --share) {
      budgets.host_bytes = homes + align_up((most - homes) / 8 * share, kPageAlignment);
      try {
        plan = make_plan(program, budgets, generic_cpu_hardware(), options);
      } catch (const Error&) {
        break;
      }
    }
  }
  return {std::move(program), std::move(plan)};
}

double loss_of(const StepResult& result) {
  double loss = 0;
  std::memcpy(&loss, result[0].data(), sizeof loss);
  return loss;
}
double gradient_norm_of(const StepResult& result) {
  double norm = 0;
  std::memcpy(&norm, result[1].data(), sizeof norm);
  return norm;
}

StepResult resident_result(DType dtype) {
  testing::LlamaRun run(testing::tiny_config(), shape_of(dtype, 1));
  fill(run);
  run.micro_step({.mode = model::ActivationMode::kKeep, .reach = Reach::kDevice});
  run.optimize(kScalars);
  return result_of(run);
}

RealStep::RealStep(const RealStepSetting& setting)
    : run_(testing::tiny_config(), shape_of(setting.dtype, setting.group), 1,
           {setting.state, setting.state,
            setting.state == Tier::kDevice ? Tier::kHost : setting.state}) {
  fill(run_);
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    const std::span<std::byte> homes = run_.homes().tier(tier);
    start_[index(tier)].assign(homes.begin(), homes.end());
  }
  const model::MicroStep micro{.shape = shape_of(setting.dtype, setting.group),
                               .activations = setting.activations};
  const PlanOptions options{.prefetch_chunk_steps = setting.prefetch_chunk_steps,
                            .bucket_bytes = setting.bucket_bytes,
                            .nvme_width = 32};
  forward_backward_ = std::make_unique<PlannedStep>(plan_tightly(
      model::forward_backward_program(run_.config(), run_.layout(), micro, run_.kernels()),
      setting.room, options));
  optimizer_ = std::make_unique<PlannedStep>(plan_tightly(
      model::optimizer_program(run_.config(), run_.layout(), setting.dtype, run_.kernels()),
      setting.room, options));
  in_order_of_forward_backward_ =
      std::make_unique<Interpreter>(interpreter(*forward_backward_, forward_backward_->plan));
  in_order_of_optimizer_ =
      std::make_unique<Interpreter>(interpreter(*optimizer_, optimizer_->plan));
}

Interpreter::RunOp RealStep::run_op(const Program& program) const {
  return [&program, vocab = run_.config().vocab, pointers = std::vector<std::byte*>()](
             OpId op, std::span<const std::span<std::byte>> operands) mutable {
    if (has_false_ids(program, op, operands, vocab)) return;
    pointers.clear();
    for (const std::span<std::byte> operand : operands) pointers.push_back(operand.data());
    program.kernel(program.op(op).kernel).run({program.args(op), pointers, nullptr});
  };
}

Interpreter RealStep::interpreter(const PlannedStep& step, const Plan& plan) const {
  return {step.program, plan, run_op(step.program)};
}

StepResult RealStep::result(Interpreter& first, Interpreter& second, std::uint64_t order_seed) {
  PerTier<std::span<std::byte>> homes;
  for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kNvme}) {
    homes[index(tier)] = run_.homes().tier(tier);
    std::ranges::copy(start_[index(tier)], homes[index(tier)].begin());
  }
  first.run(homes, order_seed);
  second.run(homes, order_seed);
  return result_of(run_);
}

StepResult RealStep::result(std::uint64_t order_seed) {
  return result(*in_order_of_forward_backward_, *in_order_of_optimizer_, order_seed);
}

StepResult RealStep::result_on(Engine& engine) {
  for (const Home& home : homes_of(run_.layout()))
    engine.write_home(home,
                      std::span(start_[index(home.tier)]).subspan(home.address, home.size_bytes));
  engine.run(forward_backward_->program, forward_backward_->plan);
  engine.run(optimizer_->program, optimizer_->plan);
  for (const Home& home : homes_of(run_.layout())) engine.read_home(home, run_.homes().at(home));
  return result_of(run_);
}

StepResult RealStep::result_of_forward_backward(const Plan& tried, std::uint64_t order_seed) {
  Interpreter first = interpreter(*forward_backward_, tried);
  return result(first, *in_order_of_optimizer_, order_seed);
}

StepResult RealStep::result_of_optimizer(const Plan& tried, std::uint64_t order_seed) {
  Interpreter second = interpreter(*optimizer_, tried);
  return result(*in_order_of_forward_backward_, second, order_seed);
}

}  // namespace ebbtide::plan_test
