#include <algorithm>

#include "src/doctor/checks.hpp"

namespace ebbtide::doctor {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kInTheWay:
      return "stands in the way";
    case Verdict::kCouldBeBetter:
      return "could be better";
    case Verdict::kGood:
      return "good";
    case Verdict::kNotHere:
      break;
  }
  return "not here";
}

Findings examine(const System& system, const Needs& needs) {
  Findings all;
  for (const Findings& findings :
       {check_gpu(system), check_cpu(system), check_cpu_time(system), check_memory(system),
        check_huge_pages(system), check_locked_memory(system, needs), check_io_uring(system),
        check_nvme_paths(system, needs), check_pcie(system), check_numa(system),
        check_open_files(system, needs), check_threads(system), check_sizes(system)})
    all.insert(all.end(), findings.begin(), findings.end());
  std::ranges::stable_sort(all, {}, &Finding::verdict);
  return all;
}

}  // namespace ebbtide::doctor
