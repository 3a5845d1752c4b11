// The clocks of a GPU as they are now, from NVIDIA's management library (NVML).
//
// The CUDA driver tells the highest clock and not the present one. NVML comes with the driver; it
// is opened when clocks are first asked for, and a machine without it only lacks them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/cuda/context.h"

namespace tilewright::cuda {

// The reason why clocks are held down. Being idle, or set lower by somebody, does not count.
enum class Throttle { none, power, thermal, other };
const char* name_of(Throttle throttle);

struct GpuClocks {
  unsigned sm_mhz = 0, memory_mhz = 0;
  Throttle throttle = Throttle::none;
};

// Thread safe.
class Nvml {
 public:
  // Null where the library does not exist, lacks a function, or does not start.
  static std::unique_ptr<Nvml> open(const std::string& library);
  // The clocks of the GPU on this bus ("0000:3b:00.0"), or nothing if NVML does not know it.
  std::optional<GpuClocks> clocks(const std::string& bus) const;

 private:
  struct Functions;
  explicit Nvml(std::shared_ptr<const Functions> functions) : functions_(std::move(functions)) {}
  std::shared_ptr<const Functions> functions_;
};

// With the library of this process (TILEWRIGHT_NVML, or libnvidia-ml.so.1).
std::optional<GpuClocks> clocks_of(const DeviceFacts& device);

}  // namespace tilewright::cuda
