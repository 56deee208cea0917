// What the doctor found of one thing, for people and for programs. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ebbtide::doctor {

// The worst first.
enum class Verdict : std::uint8_t { kInTheWay, kCouldBeBetter, kGood, kNotHere };

std::string_view name(Verdict verdict);  // "stands in the way", "could be better", ...

struct Finding {
  std::string check;    // for programs: "io_uring"; several findings may come of one check
  std::string subject;  // for people: "io_uring", "O_DIRECT in swap"
  Verdict verdict = Verdict::kGood;
  std::string found;
  std::string meaning;   // for Ebbtide
  std::string remedy{};  // what to do or to type; empty: nothing is to be mended
};

using Findings = std::vector<Finding>;

}  // namespace ebbtide::doctor
