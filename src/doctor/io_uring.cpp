// Whether io_uring may be used, and who refuses it.
#include <fmt/format.h>

#include "src/doctor/checks.hpp"
#include "src/doctor/system_files.hpp"
#include "tiering/tiers/errno_name.hpp"
#include "tiering/tiers/ring_refusal.hpp"

namespace ebbtide::doctor {
namespace {

using tiers::RingRefusal;

std::string remedy_of(RingRefusal refusal) {
  switch (refusal) {
    case RingRefusal::kSysctl:
      return "sudo sysctl kernel.io_uring_disabled=0 (a line in /etc/sysctl.d/ keeps it)";
    case RingRefusal::kSeccomp:
      return "allow io_uring_setup, io_uring_enter and io_uring_register in the filter (Docker: "
             "--security-opt seccomp=FILE of a profile that does, or seccomp=unconfined)";
    case RingRefusal::kNoKernelSupport:
      return "run Linux 5.6 or newer; in a container, a filter may hide io_uring: allow "
             "io_uring_setup, io_uring_enter and io_uring_register";
    case RingRefusal::kLockedMemory:
      return "ulimit -l unlimited, or Linux 5.12, from which on rings do not count as locked";
    case RingRefusal::kPolicy:
      return "ask whoever runs the machine; sudo ausearch -m avc shows what SELinux refused";
    case RingRefusal::kOther:
      break;
  }
  return "strace -e io_uring_setup shows the call that fails";
}

}  // namespace

Findings check_io_uring(const System& system) {
  const int error = system.ring_error();
  const std::string kernel =
      first_line(system.root() / "proc/sys/kernel/osrelease").value_or("of unknown version");
  Finding finding{"io_uring", "io_uring", Verdict::kGood, fmt::format("works on Linux {}", kernel),
                  "swap files are read and written with many transfers in flight and no thread "
                  "each"};
  if (error == 0) return {finding};
  const std::string cause = tiers::ring_refusal_text(error, system.root());
  finding.verdict = Verdict::kCouldBeBetter;
  finding.found = fmt::format("refused on Linux {}: {}{}{}", kernel, tiers::errno_text(error),
                              cause.empty() ? "" : ": ", cause);
  finding.meaning =
      "threads read and write instead (--io-engine threads), which takes more CPU time";
  finding.remedy = remedy_of(tiers::ring_refusal(error, system.root()));
  return {finding};
}

}  // namespace ebbtide::doctor
