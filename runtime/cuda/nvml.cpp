#include "runtime/cuda/nvml.h"

#include <dlfcn.h>

#include "runtime/base/env.h"

namespace tilewright::cuda {

using NvmlDevice = struct NvmlDeviceState*;

namespace {

constexpr int sm_clock = 1, memory_clock = 2;
constexpr unsigned long long power_cap = 0x4, slowed_down = 0x8, hot_by_software = 0x20,
                             hot_by_hardware = 0x40, power_brake = 0x80;

Throttle throttle_of(unsigned long long reasons) {
  if (reasons & (hot_by_software | hot_by_hardware)) return Throttle::thermal;
  if (reasons & (power_cap | power_brake)) return Throttle::power;
  return reasons & slowed_down ? Throttle::other : Throttle::none;
}

}  // namespace

const char* name_of(Throttle throttle) {
  switch (throttle) {
    case Throttle::none: return "no";
    case Throttle::power: return "power";
    case Throttle::thermal: return "thermal";
    case Throttle::other: break;
  }
  return "yes";
}

struct Nvml::Functions {
#define TILEWRIGHT_NVML(name, parameters) int(*name) parameters = nullptr;
#include "runtime/cuda/nvml.def"
#undef TILEWRIGHT_NVML
};

std::unique_ptr<Nvml> Nvml::open(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  auto functions = std::make_shared<Functions>();
#define TILEWRIGHT_NVML(name, parameters)                                        \
  functions->name = reinterpret_cast<int(*) parameters>(::dlsym(handle, #name)); \
  if (functions->name == nullptr) return nullptr;
#include "runtime/cuda/nvml.def"
#undef TILEWRIGHT_NVML
  if (functions->nvmlInit_v2() != 0) return nullptr;
  return std::unique_ptr<Nvml>(new Nvml(std::move(functions)));
}

std::optional<GpuClocks> Nvml::clocks(const std::string& bus) const {
  NvmlDevice device = nullptr;
  GpuClocks clocks;
  unsigned long long reasons = 0;
  if (functions_->nvmlDeviceGetHandleByPciBusId_v2(bus.c_str(), &device) != 0 ||
      functions_->nvmlDeviceGetClockInfo(device, sm_clock, &clocks.sm_mhz) != 0 ||
      functions_->nvmlDeviceGetClockInfo(device, memory_clock, &clocks.memory_mhz) != 0 ||
      functions_->nvmlDeviceGetCurrentClocksThrottleReasons(device, &reasons) != 0)
    return {};
  clocks.throttle = throttle_of(reasons);
  return clocks;
}

std::optional<GpuClocks> clocks_of(const DeviceFacts& device) {
  // Never closed: clocks may be asked for while the process ends.
  static const Nvml* nvml = [] {
    std::string named = env::nvml();
    return Nvml::open(named.empty() ? "libnvidia-ml.so.1" : named).release();
  }();
  return nvml == nullptr ? std::nullopt : nvml->clocks(device.bus);
}

}  // namespace tilewright::cuda
