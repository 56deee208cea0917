// Runs a piece of a test in a forked child, whose limits, user and system calls can be spoilt
// without harm to the other tests.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace ebbtide::tiers {

struct ChildEnd {
  int exit_status = -1;  // -1: killed by `signal`
  int signal = 0;
  std::string text;  // what the body returned, or the exception that it threw
};

// Requires that no other thread runs. The child returns what `body` does; it exits with 0, or with
// 1 if the body throws.
ChildEnd run_in_child(const std::function<std::string()>& body);

// From here on the process's io_uring calls fail with this errno; `enter_only` leaves set-up and
// registration alone. All threads are included. False: seccomp itself is refused.
enum class RefusedCalls { kAll, kEnterOnly };
bool refuse_io_uring(int error, RefusedCalls calls);

// Mounts a file system that this process and its children alone see; without root in a user
// namespace, as whose root it then runs. False: this machine does not allow it.
bool mount_privately(const std::filesystem::path& at, const char* type, const std::string& options,
                     unsigned long flags = 0);

// From the next exec on even root may write only where a file's mode lets it.
bool obey_file_modes();

// Gives up root for user 65534. Returns whether the user is another and cannot go back.
bool drop_root();

}  // namespace ebbtide::tiers
