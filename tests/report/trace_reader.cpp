#include "tests/report/trace_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace ebbtide::test {
namespace {

using nlohmann::json;

// The next whole object at or after `from`; its place, or nothing.
std::optional<std::pair<std::size_t, std::size_t>> next_object(const std::string& text,
                                                               std::size_t from) {
  const std::size_t begin = text.find('{', from);
  bool in_string = false;
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (in_string) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        in_string = false;
      continue;
    }
    if (text[i] == '"') in_string = true;
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return std::pair(begin, i + 1);
  }
  return std::nullopt;
}

// Adds events to a trace; arrows are tied to the slice that began last on their track.
class Reader {
 public:
  void add(const json& event) {
    const std::string phase = event.at("ph");
    if (phase == "M") return add_name(event);
    if (phase == "C") return add_counter(event);
    const std::pair<int, int> track(event.at("pid"), event.at("tid"));
    if (phase == "X") return add_slice(event, track);
    ASSERT_TRUE(phase == "s" || phase == "f") << event;
    add_end(event, track, phase == "s");
  }
  ReadTrace take() {
    trace_.open_arrows = open_.size();
    return std::move(trace_);
  }

 private:
  void add_name(const json& event) {
    if (event.at("name") == "thread_name")
      trace_.track_names[{event.at("pid"), event.at("tid")}] = event.at("args").at("name");
  }
  void add_counter(const json& event) {
    for (const auto& [unit, value] : event.at("args").items())
      trace_.counters[event.at("name").get<std::string>() + " " + unit].emplace_back(event.at("ts"),
                                                                                     value);
  }
  void add_slice(const json& event, std::pair<int, int> track) {
    const double start = event.at("ts");
    last_[track] = trace_.slices.size();
    trace_.slices.push_back({track, start, start + event.at("dur").get<double>(), event.at("name"),
                             event.at("cat"), event.at("args")});
  }
  void add_end(const json& event, std::pair<int, int> track, bool leaves) {
    ASSERT_TRUE(last_.contains(track)) << event;
    const std::size_t at = last_[track];
    const double time = event.at("ts");
    EXPECT_GE(time, trace_.slices[at].start_us) << event;
    EXPECT_LE(time, trace_.slices[at].end_us) << event;
    const std::uint64_t id = event.at("id");
    if (leaves) {
      EXPECT_TRUE(open_.emplace(id, TraceArrow{time, 0, at, 0}).second) << event;
      return;
    }
    const auto open = open_.find(id);
    ASSERT_NE(open, open_.end()) << "an arrow that left no slice: " << event;
    open->second.end_us = time;
    open->second.to = at;
    trace_.arrows.push_back(open->second);
    open_.erase(open);
  }

  ReadTrace trace_;
  std::map<std::pair<int, int>, std::size_t> last_;
  std::map<std::uint64_t, TraceArrow> open_;
};

}  // namespace

std::vector<TraceSlice> ReadTrace::of(const std::string& category) const {
  std::vector<TraceSlice> some;
  std::ranges::copy_if(slices, std::back_inserter(some),
                       [&](const TraceSlice& slice) { return slice.category == category; });
  return some;
}

ReadTrace parse_trace(const std::string& text) {
  EXPECT_TRUE(text.starts_with("["));
  Reader reader;
  const auto at = [&text](std::size_t place) {
    return text.begin() + static_cast<std::ptrdiff_t>(place);
  };
  for (auto object = next_object(text, 1); object; object = next_object(text, object->second))
    reader.add(json::parse(at(object->first), at(object->second)));
  return reader.take();
}

std::string text_of_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

ReadTrace read_trace(const std::filesystem::path& path) {
  return parse_trace(text_of_file(path));
}

void expect_no_overlap(const ReadTrace& trace) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> tracks;
  for (const TraceSlice& slice : trace.slices)
    if (slice.category != "step") tracks[slice.track].emplace_back(slice.start_us, slice.end_us);
  for (auto& [track, spans] : tracks) {
    std::ranges::sort(spans);
    for (std::size_t i = 1; i < spans.size(); ++i)
      ASSERT_GE(spans[i].first, spans[i - 1].second) << trace.track_names.at(track);
  }
}

}  // namespace ebbtide::test
