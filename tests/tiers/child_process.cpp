#include "tests/tiers/child_process.hpp"

#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <fstream>
#include <stdexcept>

namespace ebbtide::tiers {
namespace {

constexpr unsigned kNobody = 65534;
constexpr std::uint32_t kIoUringSetup = 425;  // the same number on every architecture
constexpr std::uint32_t kIoUringEnter = 426;
constexpr std::uint32_t kIoUringRegister = 427;

[[noreturn]] void be_the_child(const std::function<std::string()>& body, int descriptor) {
  int status = 0;
  std::string text;
  try {
    text = body();
  } catch (const std::exception& error) {
    status = 1;
    text = error.what();
  }
  if (::write(descriptor, text.data(), text.size()) < 0) status = 2;
  ::_exit(status);
}

}  // namespace

ChildEnd run_in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no child");
  if (child == 0) {
    ::close(ends[0]);
    be_the_child(body, ends[1]);
  }
  ::close(ends[1]);
  ChildEnd end;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    end.text.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

bool refuse_io_uring(int error, RefusedCalls calls) {
  const std::uint32_t first = calls == RefusedCalls::kAll ? kIoUringSetup : kIoUringEnter;
  const std::uint32_t last = calls == RefusedCalls::kAll ? kIoUringRegister : kIoUringEnter;
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 2),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof filter / sizeof *filter, filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

bool mount_privately(const std::filesystem::path& at, const char* type, const std::string& options,
                     unsigned long flags) {
  const unsigned user = ::geteuid();
  const unsigned group = ::getegid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", at.c_str(), type, flags, options.c_str()) == 0;
}

bool obey_file_modes() {
  return ::geteuid() != 0 || ::prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) == 0;
}

bool drop_root() {
  if (::geteuid() == 0 &&
      (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
       ::setresuid(kNobody, kNobody, kNobody) != 0))
    return false;
  return ::geteuid() != 0 && ::getuid() != 0 && ::setuid(0) != 0;
}

}  // namespace ebbtide::tiers
