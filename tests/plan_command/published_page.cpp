// Prints the table of docs/published.md, a row a published case; scripts/published_page.py puts it
// there. Blocks for some seconds: runs are planned.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "tests/plan_command/published_judgement.hpp"

namespace ebbtide::test {
namespace {

// What would end a cell.
std::string cell(std::string text) {
  std::ranges::replace(text, '|', '/');
  return text;
}

std::string machine_text(const PublishedCase& of) {
  const std::string memory = of.text("gpu_mem_gb");
  return fmt::format("{} x {}{}", of.text("gpus"), of.text("gpu"),
                     memory.empty() ? "" : " " + memory + " GB");
}

std::string sequence_text(const PublishedCase& of) {
  const std::string& count = of.text("sequences");
  const std::string& tokens = of.text("seq_tokens");
  return count.empty() || count == "1" ? tokens : fmt::format("{} x {}", count, tokens);
}

std::string published_text(const PublishedCase& of) {
  return cell(of.text("metric") + " " + of.text("value") + " " + of.text("unit"));
}

void print_row(const PublishedCase& of) {
  const UseOfCase& use = use_of(of);
  const Judgement judgement = judge(of);
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {}: {} |\n", of.id(), of.text("model"),
             cell(machine_text(of)), sequence_text(of), cell(of.text("strategy")),
             published_text(of), judgement.predicted, judgement.verdict, name(use.purpose),
             use.note);
}

}  // namespace
}  // namespace ebbtide::test

int main() {
  try {
    fmt::print(
        "| id | model | cards | tokens | strategy | published | predicted | verdict | use |\n");
    fmt::print("|---|---|---|---|---|---|---|---|---|\n");
    for (const auto& it : ebbtide::test::published_cases()) ebbtide::test::print_row(it);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
