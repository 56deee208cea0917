// Predicts a setting's step: the search of "auto", plans and simulation, as training makes them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "src/train/choose_plans.hpp"
#include "src/train/options.hpp"
#include "src/tune/candidates.hpp"

namespace ebbtide::tune {

class Predictor {
 public:
  // `between` is called between plans and may throw to end a prediction.
  Predictor(const train::TrainOptions& options, std::function<void()> between);

  // Blocks for seconds on large programs. Throws Error for what no budget would mend.
  Predicted predict(const Setting& setting);

 private:
  struct Chosen {
    Predicted predicted;
    train::ProgramRecipe recipe;
  };

  // With the whole search of "auto".
  Predicted search(const Setting& setting, const train::TrainOptions& options);
  // The programs of a setting that was searched, with other transfers.
  Predicted replan(const Setting& setting, const train::TrainOptions& options,
                   const Chosen& chosen) const;

  const train::TrainOptions options_;
  const std::function<void()> between_;
  const model::ModelConfig config_;
  const Budgets budgets_;
  const HardwareModel hardware_;
  // By what transfers do not change: the flags of the setting with prefetch and bucket on "auto".
  std::map<std::string, Chosen> chosen_;
};

}  // namespace ebbtide::tune
