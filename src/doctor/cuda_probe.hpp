// Asks NVIDIA's driver library, without linking it.
#pragma once

#include "src/doctor/system.hpp"

namespace ebbtide::doctor {

// Loads the library of this name and asks it what is there. Makes no context on a device.
CudaProbe probe_cuda(const char* library = "libcuda.so.1");

}  // namespace ebbtide::doctor
