#include "src/report/trace_events.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace ebbtide::report {
namespace {

constexpr std::int64_t kTimesAMicrosecond = 8;
constexpr std::array<std::string_view, kTimesAMicrosecond> kEighths{"",   ".125", ".25", ".375",
                                                                    ".5", ".625", ".75", ".875"};

// A time or a length, in microseconds.
void append_us(std::string& to, TraceTime time) {
  fmt::format_to(std::back_inserter(to), "{}{}", time / kTimesAMicrosecond,
                 kEighths[static_cast<std::size_t>(time % kTimesAMicrosecond)]);
}

}  // namespace

TraceTime trace_time(double seconds) {
  return std::llround(seconds * kTraceTimesASecond);
}

std::string json_escaped(std::string_view text) {
  const std::string quoted = nlohmann::json(std::string(text))
                                 .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

void TraceEvents::metadata(Track track, std::string_view what, std::string_view args) {
  file_.add(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{{}}}}})",
                        track.process, track.thread, what, args));
}

void TraceEvents::name_process(std::int32_t process, std::string_view name) {
  // Its main thread has the process's number, and no track.
  const Track main{process, process};
  metadata(main, "process_name", fmt::format(R"("name":"{}")", name));
  metadata(main, "process_sort_index", fmt::format(R"("sort_index":{})", process));
}

void TraceEvents::name_track(Track track, std::string_view name) {
  metadata(track, "thread_name", fmt::format(R"("name":"{}")", name));
  metadata(track, "thread_sort_index", fmt::format(R"("sort_index":{})", track.thread));
}

void TraceEvents::slice(Track track, const TraceSpan& span, const SliceText& text) {
  event_.clear();
  const auto out = std::back_inserter(event_);
  fmt::format_to(out, R"({{"ph":"X","pid":{},"tid":{},"ts":)", track.process, track.thread);
  append_us(event_, span.start);
  event_ += R"(,"dur":)";
  append_us(event_, span.end - span.start);
  fmt::format_to(out, R"(,"name":"{}","cat":"{}","args":{{{}}}}})", text.name, text.category,
                 text.args);
  file_.add(event_);
}

void TraceEvents::flow(Track track, TraceTime at, std::uint64_t id, std::string_view phase) {
  event_.clear();
  fmt::format_to(std::back_inserter(event_),
                 R"({{"ph":{},"id":{},"name":"values","cat":"flow","pid":{},"tid":{},"ts":)", phase,
                 id, track.process, track.thread);
  append_us(event_, at);
  event_ += "}";
  file_.add(event_);
}

void TraceEvents::flow_out(Track track, TraceTime at, std::uint64_t id) {
  flow(track, at, id, R"("s")");
}
void TraceEvents::flow_in(Track track, TraceTime at, std::uint64_t id) {
  flow(track, at, id, R"("f","bp":"e")");
}

void TraceEvents::counter(std::int32_t process, std::string_view name, std::string_view unit,
                          TraceTime at, double value) {
  event_.clear();
  const auto out = std::back_inserter(event_);
  fmt::format_to(out, R"({{"ph":"C","pid":{},"name":"{}","ts":)", process, name);
  append_us(event_, at);
  fmt::format_to(out, R"(,"args":{{"{}":{}}}}})", unit, value);
  file_.add(event_);
}

}  // namespace ebbtide::report
