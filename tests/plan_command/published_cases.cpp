#include "tests/plan_command/published_cases.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace ebbtide::test {
namespace {

// Cells may stand between quotes; none holds one.
std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (const char letter : line) {
    if (letter == '"')
      is_quoted = !is_quoted;
    else if (letter == ',' && !is_quoted)
      cells.emplace_back();
    else
      cells.back() += letter;
  }
  return cells;
}

std::vector<PublishedCase> read_cases() {
  std::ifstream file(EBBTIDE_PUBLISHED_CASES);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = split(line);
  std::vector<PublishedCase> cases;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line);
    if (cells.size() != columns.size()) throw std::runtime_error("not a row: " + line);
    PublishedCase& made = cases.emplace_back();
    for (std::size_t i = 0; i < columns.size(); ++i) made.cells[columns[i]] = cells[i];
  }
  return cases;
}

}  // namespace

const std::vector<PublishedCase>& published_cases() {
  static const std::vector<PublishedCase> cases = read_cases();
  return cases;
}

const PublishedCase& published(const std::string& id) {
  const std::vector<PublishedCase>& cases = published_cases();
  const auto found = std::ranges::find(cases, id, &PublishedCase::id);
  if (found == cases.end()) throw std::runtime_error("no row " + id);
  return *found;
}

std::string preset_of(const PublishedCase& of) {
  static const std::map<std::string, std::string> presets{
      {"GPT-7B", "gpt-7b"},      {"GPT-13B", "gpt-13b"},          {"GPT-65B", "gpt-65b"},
      {"Llama-8B", "llama3-8b"}, {"Llama-3.1-8B", "llama3.1-8b"}, {"Llama-70B", "llama3-70b"}};
  return presets.at(of.text("model"));
}

model::ModelConfig model_of(const PublishedCase& of) {
  return model::preset(preset_of(of));
}

}  // namespace ebbtide::test
