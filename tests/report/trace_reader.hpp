// Reads a trace as its readers do: a JSON array of events, of which the end may be cut off.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace ebbtide::test {

struct TraceSlice {
  std::pair<int, int> track;  // process, thread
  double start_us = 0;
  double end_us = 0;
  std::string name;
  std::string category;
  nlohmann::json args;
};

// An arrow between two slices, by their places in ReadTrace::slices.
struct TraceArrow {
  double start_us = 0;
  double end_us = 0;
  std::size_t from = 0;
  std::size_t to = 0;
};

struct ReadTrace {
  std::vector<TraceSlice> slices;
  std::vector<TraceArrow> arrows;
  // By name and unit ("device held bytes"): times in microseconds, values.
  std::map<std::string, std::vector<std::pair<double, double>>> counters;
  std::map<std::pair<int, int>, std::string> track_names;
  std::size_t open_arrows = 0;  // that leave a slice and reach none, in a trace that is cut off

  std::vector<TraceSlice> of(const std::string& category) const;
};

// Fails the test for an event that breaks the format, or an arrow that no slice has; an event that
// is cut off at the end is left out, where Perfetto's reader does so too.
ReadTrace parse_trace(const std::string& text);
ReadTrace read_trace(const std::filesystem::path& path);
std::string text_of_file(const std::filesystem::path& path);

// Fails the test where slices of one track overlap, but for runs inside their step.
void expect_no_overlap(const ReadTrace& trace);

}  // namespace ebbtide::test
