// All settings of a run as a page lists them: every flag with what was given, or what its default
// came to.
#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <vector>

#include "ebbtide/hardware.hpp"
#include "ebbtide/plan.hpp"
#include "src/model/llama.hpp"
#include "src/report/page.hpp"
#include "src/train/options.hpp"
#include "src/train/step_plans.hpp"
#include "src/tune/saved_settings.hpp"

namespace ebbtide::cli {

// What settings came to, by flag.
using Resolved = std::map<std::string, std::string>;

// Every "auto" that planning decides; budgets are those of one rank.
Resolved resolved_settings(const train::TrainOptions& options, const train::ProgramRecipe& recipe,
                           const Budgets& budgets, const HardwareModel& hardware);

// "demo, sequences of 8,192 tokens, fp32".
std::string page_title(const std::string& model, const model::StepShape& shape);

// The flags of a subcommand after they were parsed, but those that say what to print. `profile`:
// what a --profile has set of them.
std::vector<report::PageSetting> page_settings(const CLI::App& app, const Resolved& resolved,
                                               const tune::SavedSettings& profile);

}  // namespace ebbtide::cli
