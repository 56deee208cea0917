#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ebbtide/error.hpp"
#include "ebbtide/types.hpp"
#include "kernels/kernels.hpp"
#include "src/doctor/cuda_probe.hpp"
#include "src/doctor/numa_map.hpp"
#include "src/doctor/system.hpp"
#include "tiering/tiers/swap_files.hpp"
#include "tiering/tiers/uring_ring.hpp"

namespace ebbtide::doctor {
namespace {

namespace fs = std::filesystem;

auto resource_number(Resource resource) {
  switch (resource) {
    case Resource::kLockedMemory:
      return RLIMIT_MEMLOCK;
    case Resource::kOpenFiles:
      return RLIMIT_NOFILE;
    case Resource::kThreads:
      return RLIMIT_NPROC;
    case Resource::kFileSize:
      return RLIMIT_FSIZE;
    case Resource::kAddressSpace:
      break;
  }
  return RLIMIT_AS;
}

class ThisSystem final : public System {
 public:
  fs::path root() const override { return "/"; }

  std::uint64_t limit(Resource resource) const override {
    rlimit limit{};
    if (::getrlimit(resource_number(resource), &limit) != 0) return kUnlimited;
    return limit.rlim_cur == RLIM_INFINITY ? kUnlimited : limit.rlim_cur;
  }
  std::uint32_t user() const override { return ::getuid(); }

  int ring_error() const override {
    try {
      const tiers::SwapFiles none{tiers::SwapFilesOptions{}};
      std::vector<std::string> warnings;
      const tiers::UringRing ring(none, {}, warnings);
      return 0;
    } catch (const Error& error) {
      return error.code().value();
    }
  }

  CudaProbe cuda() const override { return probe_cuda(); }

  DirectoryProbe directory(const fs::path& path) const override {
    DirectoryProbe probe;
    std::error_code ignored;
    probe.path = fs::weakly_canonical(path, ignored);
    struct stat status {};
    struct statvfs space {};
    if (::stat(path.c_str(), &status) == 0)
      probe.device = std::uint64_t{major(status.st_dev)} << 32 | minor(status.st_dev);
    if (::statvfs(path.c_str(), &space) == 0) {
      probe.free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
      probe.total_bytes = std::uint64_t{space.f_blocks} * space.f_frsize;
    }
    make_swap_file(path, probe);
    return probe;
  }

  NumaMap numa() const override { return this_numa_map(); }
  int usable_cpus() const override { return kernels::usable_cpus(); }

  std::string_view compiled_for() const override {
#if defined(__AVX512F__)
    return "avx512f";
#elif defined(__AVX2__)
    return "avx2";
#else
    return "";
#endif
  }

 private:
  static void make_swap_file(const fs::path& path, DirectoryProbe& probe) {
    try {
      const tiers::SwapFiles files({.size_bytes = kPageAlignment, .directories = {path}});
      probe.is_direct = files.direct(0);
      probe.alignment = files.alignment(0);
      probe.warnings = files.warnings();
    } catch (const Error& error) {
      probe.error =
          error.code() == make_error_code(Errc::kDoesNotFit) ? ENOSPC : error.code().value();
      probe.why_not = error.what();
    }
  }
};

}  // namespace

std::unique_ptr<System> this_system() {
  return std::make_unique<ThisSystem>();
}

}  // namespace ebbtide::doctor
