#include "src/plan/chunk_size.hpp"

#include <utility>

#include "ebbtide/error.hpp"

namespace ebbtide::plan {
namespace {

// A run with half the chunk has up to four times the ops.
constexpr std::size_t kMostOps = 100'000;
constexpr double kWorthTelling = 0.98;

std::optional<double> step_seconds(const Request& request, const PlannedRun& run,
                                   std::int64_t chunk_tokens) {
  train::ProgramRecipe recipe = run.plans->recipe();
  recipe.shape.chunk_tokens = chunk_tokens;
  recipe.homes = model::lay_out_homes(recipe.config, recipe.shape, recipe.placement);
  const train::RunShape& shape = request.options.run;
  try {
    train::StepPlans plans(std::move(recipe), run.plans->settings());
    return plans.totals(shape.seq_len, shape.micro_steps()).seconds;
  } catch (const Error& error) {
    if (error.code() == make_error_code(Errc::kDoesNotFit)) return std::nullopt;
    if (error.code() == make_error_code(Errc::kBadUsage)) return std::nullopt;  // fewer than ranks
    throw;
  }
}

}  // namespace

std::optional<OtherChunk> faster_chunk(const Request& request, const PlannedRun& run) {
  EBBTIDE_CHECK(run.fits(), run.why_not);
  if (run.step.front().program->op_count() > kMostOps) return std::nullopt;
  std::optional<OtherChunk> best;
  double shortest_s = kWorthTelling * run.step_seconds();
  for (const std::int64_t tokens : {run.shape.chunk_tokens / 2, run.shape.chunk_tokens * 2}) {
    if (tokens < 1 || tokens > run.shape.seq_len) continue;
    const std::optional<double> seconds = step_seconds(request, run, tokens);
    if (!seconds || *seconds >= shortest_s) continue;
    shortest_s = *seconds;
    best = {tokens, *seconds};
  }
  return best;
}

}  // namespace ebbtide::plan
