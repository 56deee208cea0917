#include "src/doctor/cuda_probe.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <memory>

namespace ebbtide::doctor {
namespace {

// Of cuda.h, which this build may not have: CUresult is an enum, CUdevice an int.
using Result = int;
constexpr Result kSuccess = 0;

struct CloseLibrary {
  void operator()(void* library) const { ::dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

template <typename Function>
Function* symbol(const Library& library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library.get(), name));
}

std::string error_name(const Library& library, Result error) {
  const char* text = nullptr;
  auto* const name = symbol<Result(Result, const char**)>(library, "cuGetErrorName");
  if (name != nullptr && name(error, &text) == kSuccess && text != nullptr) return text;
  return fmt::format("CUDA error {}", error);
}

std::vector<CudaDevice> devices_of(const Library& library) {
  auto* const count_of = symbol<Result(int*)>(library, "cuDeviceGetCount");
  auto* const get = symbol<Result(int*, int)>(library, "cuDeviceGet");
  auto* const name_of = symbol<Result(char*, int, int)>(library, "cuDeviceGetName");
  auto* const memory_of = symbol<Result(std::size_t*, int)>(library, "cuDeviceTotalMem_v2");
  int count = 0;
  if (count_of == nullptr || get == nullptr || count_of(&count) != kSuccess) return {};
  std::vector<CudaDevice> devices;
  for (int at = 0; at < count; ++at) {
    int device = 0;
    if (get(&device, at) != kSuccess) continue;
    std::array<char, 256> name{};
    std::size_t bytes = 0;
    if (name_of != nullptr) name_of(name.data(), static_cast<int>(name.size() - 1), device);
    if (memory_of != nullptr) memory_of(&bytes, device);
    devices.push_back({name.data(), bytes});
  }
  return devices;
}

}  // namespace

CudaProbe probe_cuda(const char* library_name) {
  CudaProbe probe;
  const Library library(::dlopen(library_name, RTLD_NOW | RTLD_LOCAL));
  if (!library) {
    const char* const error = ::dlerror();
    probe.why_not = error != nullptr ? error : "it cannot be loaded";
    return probe;
  }
  probe.library = CudaProbe::Library::kFailed;
  auto* const init = symbol<Result(unsigned)>(library, "cuInit");
  auto* const version = symbol<Result(int*)>(library, "cuDriverGetVersion");
  if (init == nullptr) {
    probe.why_not = fmt::format("{} has no cuInit", library_name);
    return probe;
  }
  if (version != nullptr) version(&probe.driver_version);
  if (const Result error = init(0); error != kSuccess) {
    probe.why_not = error_name(library, error);
    return probe;
  }
  probe.library = CudaProbe::Library::kWorks;
  probe.devices = devices_of(library);
  return probe;
}

}  // namespace ebbtide::doctor
