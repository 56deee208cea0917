// What a queue has told: for tests that wait for jobs.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "tiering/tiers/io_queue.hpp"

namespace ebbtide::tiers {

class Completions {
 public:
  OnComplete callback() {
    return [this](JobId job, const IoResult& result) {
      const std::lock_guard lock(mutex_);
      results_[job].push_back(result);
      changed_.notify_all();
    };
  }

  // Blocks until the job has completed.
  IoResult wait(JobId job) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !results_[job].empty(); });
    return results_[job].front();
  }

  std::size_t times_told(JobId job) {
    const std::lock_guard lock(mutex_);
    return results_[job].size();
  }

  std::size_t failures() {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const auto& [job, results] : results_)
      for (const IoResult& result : results) count += result.error ? 1 : 0;
    return count;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<JobId, std::vector<IoResult>> results_;
};

}  // namespace ebbtide::tiers
