// The rows of published_cases.csv, each with its source: what was published of long sequences,
// which predictions are held against.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/model/config.hpp"

namespace ebbtide::test {

inline constexpr double kGibibyte = 1 << 30;

struct PublishedCase {
  std::map<std::string, std::string> cells;  // by column

  // Throws std::out_of_range for a column that there is not.
  const std::string& text(const std::string& column) const { return cells.at(column); }
  // Throws std::invalid_argument where the cell has no number.
  double number(const std::string& column) const { return std::stod(text(column)); }
  const std::string& id() const { return text("id"); }
  double gpus() const { return number("gpus"); }
  double tokens() const { return number("seq_tokens"); }
};

// In the order of the file.
const std::vector<PublishedCase>& published_cases();
// Throws std::runtime_error where there is none.
const PublishedCase& published(const std::string& id);

// The preset of the case's model. Throws std::out_of_range where there is none.
std::string preset_of(const PublishedCase& of);
model::ModelConfig model_of(const PublishedCase& of);

}  // namespace ebbtide::test
