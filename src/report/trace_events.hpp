// Events of the Chrome trace format, as chrome://tracing and Perfetto read it
// ("Trace Event Format", Google, 2016): slices, flows, counters and the names of tracks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/report/trace_file.hpp"

namespace ebbtide::report {

// Times in eighths of a microsecond, from the start of the trace. The format counts microseconds
// in decimals, which readers take as doubles and turn into whole nanoseconds: only multiples of an
// eighth come through both without rounding, so that slices that touch never overlap.
using TraceTime = std::int64_t;
inline constexpr double kTraceTimesASecond = 8e6;
TraceTime trace_time(double seconds);  // to the nearest

struct TraceSpan {
  TraceTime start = 0;
  TraceTime end = 0;
};

struct Track {
  std::int32_t process = 1;
  std::int32_t thread = 1;
};

// What a slice shows. Names and categories are texts with what JSON needs escaped, without quotes;
// args are members of a JSON object, without braces.
struct SliceText {
  std::string_view name;
  std::string_view category;
  std::string_view args;
};

// With what JSON needs escaped, without quotes; what is no UTF-8 is replaced.
std::string json_escaped(std::string_view text);

// Where a flow leaves a slice: at its end, yet inside. Readers draw it from the slice around.
constexpr TraceTime flow_end(const TraceSpan& slice) {
  return slice.end > slice.start ? slice.end - 1 : slice.start;
}

class TraceEvents {
 public:
  explicit TraceEvents(TraceFile& file) : file_(file) {}

  void name_process(std::int32_t process, std::string_view name);
  // Tracks are shown in the order of their numbers.
  void name_track(Track track, std::string_view name);
  void slice(Track track, const TraceSpan& span, const SliceText& text);
  // Each right after its slice: a reader ties a flow to the slice that began last on the track.
  void flow_out(Track track, TraceTime at, std::uint64_t id);
  void flow_in(Track track, TraceTime at, std::uint64_t id);
  void counter(std::int32_t process, std::string_view name, std::string_view unit, TraceTime at,
               double value);

 private:
  void flow(Track track, TraceTime at, std::uint64_t id, std::string_view phase);
  void metadata(Track track, std::string_view what, std::string_view args);

  TraceFile& file_;
  std::string event_;
};

}  // namespace ebbtide::report
