// The device of a compiled function, as a value: the target of its code, and the machine that runs
// it.
//
//   Device::cpu()                  the host, with the best instructions that it has
//   Device::cuda(0)                an NVIDIA GPU, through its driver
//   Device::emulated("sm_80")      code for that GPU, run thread by thread on the host: thousands
//                                  of times slower, and accesses and barriers are checked
//
// As text "cpu", "cuda:0" and "emulated:sm_80". Tensors lie in the host's memory or in that of a
// GPU; an emulated device works on the host's. Code that names no device runs on the default one,
// which TILEWRIGHT_DEVICE names: a whole program, or a whole test suite, can be tried on another
// without a change.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dsl/target/target.h"
#include "runtime/device_memory.h"

namespace tilewright {

class Device {
 public:
  Device() = default;  // the host
  static Device cpu() { return {}; }
  // The existence of such a GPU is checked when it is used. Raises `Error` below 0.
  static Device cuda(int ordinal = 0);
  static Device emulated(std::string_view processor);
  // Reads the name of the host or of an emulated GPU, or "cuda" for the first GPU. Raises `Error`
  // listing the known names.
  static Device parse(std::string_view text);
  // The device whose memory this is; the host if it is null.
  static Device of(const DeviceMemory* memory);

  bool is_emulated() const { return !processor_.empty(); }
  bool is_cuda() const { return ordinal_ >= 0; }
  int ordinal() const { return ordinal_; }  // of a GPU; else -1
  std::string text() const;                 // parse(text()) is this device
  // The target that code for it is made for. Raises `Error` for a GPU that is not there.
  dsl::Target target() const;
  // The memory of its tensors; null: the host's. Raises `Error` for a GPU that is not there.
  DeviceMemory* memory() const;
  void synchronize() const;  // waits for the work there; raises its errors
  bool operator==(const Device&) const = default;

 private:
  std::string processor_;  // of the GPU that is emulated
  int ordinal_ = -1;       // of the GPU
};

// The device that TILEWRIGHT_DEVICE names, or the host. Raises `Error` listing the known devices.
Device default_device();

// The GPUs that the driver of this machine knows; empty without a driver.
std::vector<Device> cuda_devices();

}  // namespace tilewright
