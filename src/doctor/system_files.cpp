#include "src/doctor/system_files.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>

namespace ebbtide::doctor {
namespace {

namespace fs = std::filesystem;

std::string trimmed(const std::string& text) {
  constexpr const char* kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

std::optional<std::string> first_line(const fs::path& file) {
  std::ifstream input(file);
  std::string line;
  if (!std::getline(input, line)) return std::nullopt;
  return line;
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator at(directory, ignored), end; at != end; at.increment(ignored))
    names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream input(line);
  std::vector<std::string> words;
  for (std::string word; input >> word;) words.push_back(word);
  return words;
}

std::optional<std::string> value_of(const fs::path& file, const std::string& key) {
  std::ifstream input(file);
  for (std::string line; std::getline(input, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && trimmed(line.substr(0, colon)) == key)
      return trimmed(line.substr(colon + 1));
  }
  return std::nullopt;
}

std::optional<std::string> chosen_in(const fs::path& file) {
  const std::optional<std::string> line = first_line(file);
  if (!line) return std::nullopt;
  const std::size_t open = line->find('[');
  const std::size_t close = line->find(']', open);
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  return line->substr(open + 1, close - open - 1);
}

}  // namespace ebbtide::doctor
