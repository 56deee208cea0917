#include "src/doctor/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "src/doctor/system_files.hpp"

namespace ebbtide::doctor {
namespace {

constexpr std::size_t kLeastColumns = 40;
// Of the column of subjects; a longer one has a line of its own.
constexpr std::size_t kMostSubject = 26;
constexpr std::size_t kIndent = 2;

// ECMA-48 SGR, by verdict: red, yellow, green, dim.
constexpr std::array kColours{"\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[2m"};
constexpr const char* kPlain = "\x1b[0m";

class Writer {
 public:
  Writer(const Findings& findings, const Page& page)
      : findings_(findings), page_(page), columns_(std::max(page.columns, kLeastColumns)) {
    std::size_t longest = 0;
    for (const Finding& finding : findings) longest = std::max(longest, finding.subject.size());
    // On a narrow page the text stands below its subject.
    at_ = columns_ < 80 ? 2 * kIndent : kIndent + std::min(longest, kMostSubject) + 2;
  }

  std::string write() {
    const Finding* before = nullptr;
    for (const Finding& finding : findings_) {
      if (before == nullptr || before->verdict != finding.verdict) heading(finding.verdict);
      entry(finding);
      before = &finding;
    }
    return std::move(out_);
  }

 private:
  void heading(Verdict verdict) {
    const auto count = std::ranges::count(findings_, verdict, &Finding::verdict);
    const bool coloured = page_.colours == Colours::kAnsi;
    out_ += fmt::format("{}{}{} ({}){}\n", out_.empty() ? "" : "\n",
                        coloured ? kColours[static_cast<std::size_t>(verdict)] : "", name(verdict),
                        count, coloured ? kPlain : "");
  }

  void entry(const Finding& finding) {
    std::string line(kIndent, ' ');
    line += finding.subject;
    if (line.size() + 2 > at_) {
      out_ += line + "\n";
      line.clear();
    }
    line.resize(at_, ' ');
    wrapped(std::move(line), finding.found);
    wrapped(std::string(at_, ' '), finding.meaning);
    if (!finding.remedy.empty()) wrapped(std::string(at_, ' ') + "to mend: ", finding.remedy);
  }

  // Words after `line`, on as many lines as they need.
  void wrapped(std::string line, const std::string& words) {
    bool is_first = true;
    for (const std::string& word : words_of(words)) {
      if (!is_first && line.size() + 1 + word.size() > columns_) {
        out_ += line + "\n";
        line.assign(at_, ' ');
        is_first = true;
      }
      line += (is_first ? "" : " ") + word;
      is_first = false;
    }
    out_ += line + "\n";
  }

  const Findings& findings_;
  const Page& page_;
  std::size_t columns_;
  std::size_t at_ = 0;  // column where texts begin
  std::string out_;
};

}  // namespace

std::string text(const Findings& findings, const Page& page) {
  return Writer(findings, page).write();
}

std::string json(const Findings& findings) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  Verdict worst = Verdict::kNotHere;
  for (const Finding& finding : findings) {
    worst = std::min(worst, finding.verdict);
    all.push_back({{"check", finding.check},
                   {"subject", finding.subject},
                   {"verdict", name(finding.verdict)},
                   {"found", finding.found},
                   {"meaning", finding.meaning},
                   {"remedy", finding.remedy}});
  }
  // Paths may hold bytes that are no text.
  return nlohmann::ordered_json{{"verdict", name(worst)}, {"findings", all}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace ebbtide::doctor
