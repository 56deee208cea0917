// While it lives, oneDNN's OpenMP loops that this thread starts run on this thread alone: the team
// is what shares the work, and oneDNN's own sharing would change sums with the number of threads.
#pragma once

#include <omp.h>

namespace ebbtide::kernels::cpu {

class OneThread {
 public:
  OneThread() : threads_before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(threads_before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int threads_before_;
};

}  // namespace ebbtide::kernels::cpu
