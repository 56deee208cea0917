// Shares the time of one section out among what it measures, tells what is measured and ends it all
// once a stop was requested.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "src/measure/sampling.hpp"

namespace ebbtide::measure {

// Called ahead of each measurement: "copies", "64 MiB both ways".
using OnMeasuring = std::function<void(const std::string& section, const std::string& what)>;

class Pace {
 public:
  Pace(std::string section, double seconds, std::stop_token stop, OnMeasuring on_measuring)
      : section_(std::move(section)),
        seconds_(seconds),
        stop_(std::move(stop)),
        on_measuring_(std::move(on_measuring)) {}

  void expect(std::size_t measurements) { left_ += measurements; }
  // Seconds that the next one may take: its part of those that are left; what getting ready took
  // is thereby counted. Throws Error(kCancelled).
  double begin(const std::string& what);
  // Seconds that the next one would have.
  double slice() const;
  void skip(std::size_t measurements) { left_ -= measurements; }
  const std::stop_token& stop() const { return stop_; }
  double section_seconds() const { return seconds_; }

 private:
  std::string section_;
  double seconds_;
  Clock::time_point start_ = Clock::now();
  std::size_t left_ = 0;
  std::stop_token stop_;
  OnMeasuring on_measuring_;
};

}  // namespace ebbtide::measure
