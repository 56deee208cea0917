// `ebbtide train` on a small model, as a child process.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/child.hpp"
#include "tests/temporary_directory.hpp"

namespace ebbtide::test {

using Arguments = std::vector<std::string>;

struct Logged {
  Outcome outcome;
  std::vector<nlohmann::json> steps;

  // How often its warnings hold this text.
  std::size_t warnings_with(const std::string& text) const;
};

// 2 layers, H 64, Q 4, G 2, D 16, F 96, V 256; 96 tokens in chunks of 32; data for it and an empty
// place for swap files.
class TrainCommand : public testing::Test {
 protected:
  TrainCommand();

  // `train` with the small model and what is given after.
  Arguments train(const Arguments& more) const;
  // The same, with everything that may leave on NVMe.
  Arguments tiered(const Arguments& more) const;
  // `train` with one flag set to something else.
  Arguments with(const std::string& flag, const std::string& value) const {
    return set(train({}), flag, value);
  }
  static Arguments with_steps(const Arguments& arguments, const std::string& steps) {
    return set(arguments, "--steps", steps);
  }
  static Arguments set(Arguments arguments, const std::string& flag, const std::string& value);

  // Status 2, a message with every part, and nothing left behind.
  void expect_refused(const Arguments& arguments, const Arguments& parts) const;
  // The same of a run that has ended.
  void expect_refusal(const Outcome& outcome, const Arguments& parts) const;
  // A run that must succeed, with checksums in its log.
  Logged logged(const Arguments& arguments, const Surroundings& surroundings = {}) const;

  TemporaryDirectory directory_;
};

// Loss, gradient norm and weights of every step are the same.
void expect_same_log(const std::vector<nlohmann::json>& a, const std::vector<nlohmann::json>& b);

}  // namespace ebbtide::test
