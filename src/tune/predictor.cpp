#include "src/tune/predictor.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "ebbtide/error.hpp"
#include "src/train/budgets.hpp"
#include "src/train/planning_memory.hpp"
#include "src/train/resolve_options.hpp"
#include "src/train/run_facts.hpp"

namespace ebbtide::tune {
namespace {

bool has_auto_transfers(const Setting& setting) {
  return !setting.planning.prefetch_chunk_steps && !setting.planning.bucket_bytes;
}

std::uint64_t fingerprint_of(train::StepPlans& plans, const train::TrainOptions& options) {
  return fingerprint(plans.micro_step(options.run.seq_len, 0, options.run.micro_steps()).plan);
}

std::string without_transfers(Setting setting) {
  setting.planning.prefetch_chunk_steps.reset();
  setting.planning.bucket_bytes.reset();
  return flags_text(setting);
}

}  // namespace

Predictor::Predictor(const train::TrainOptions& options, std::function<void()> between)
    : options_(options),
      between_(std::move(between)),
      config_(train::load_config(options)),
      budgets_(train::resolve_budgets(options.memory, train::machine_limits(options.memory))),
      hardware_(train::rates_of(options)) {}

Predicted Predictor::predict(const Setting& setting) {
  between_();
  const train::TrainOptions options = with(options_, setting);
  try {
    const auto known = chosen_.find(without_transfers(setting));
    return known == chosen_.end() ? search(setting, options)
                                  : replan(setting, options, known->second);
  } catch (const Error& error) {
    if (error.code() != make_error_code(Errc::kDoesNotFit)) throw;
    return {.setting = setting, .why_not = error.what()};
  }
}

Predicted Predictor::search(const Setting& setting, const train::TrainOptions& options) {
  train::check_planning_fits(config_, options, train::evaluated_tokens(options),
                             train::machine_limits(options.memory));
  Predicted predicted{.setting = setting};
  train::StepPlans plans = train::choose_plans({config_, train::resolve_shape(config_, options)},
                                               options, train::evaluated_tokens(options), budgets_,
                                               hardware_, [&](const train::Tried& tried) {
                                                 between_();
                                                 predicted.tried.push_back(tried);
                                               });
  const train::ProgramRecipe& recipe = plans.recipe();
  predicted.step_seconds = plans.totals(options.run.seq_len, options.run.micro_steps()).seconds;
  predicted.plan_fingerprint = fingerprint_of(plans, options);
  predicted.chunk_tokens = recipe.shape.chunk_tokens;
  predicted.came_to = {recipe.placement, recipe.activations, recipe.shape.attention_group};
  // A start with transfers of its own says nothing of what "auto" would choose.
  if (has_auto_transfers(setting))
    chosen_.emplace(without_transfers(setting), Chosen{predicted, recipe});
  return predicted;
}

Predicted Predictor::replan(const Setting& setting, const train::TrainOptions& options,
                            const Chosen& chosen) const {
  train::StepPlans plans(chosen.recipe,
                         {budgets_, hardware_, train::plan_options(options, hardware_)});
  Predicted predicted = chosen.predicted;
  predicted.setting = setting;
  predicted.step_seconds = plans.totals(options.run.seq_len, options.run.micro_steps()).seconds;
  predicted.plan_fingerprint = fingerprint_of(plans, options);
  return predicted;
}

}  // namespace ebbtide::tune
