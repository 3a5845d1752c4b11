// Where a compiled function runs, as a value: what code is made for, and who runs it.
//
//   Device::cpu()                  the host, with the best instructions that it has
//   Device::emulated("sm_80")      code for that GPU, run thread by thread on the host: thousands
//                                  of times slower, and every access and barrier is checked
//
// As text "cpu" and "emulated:sm_80". Tensors lie in the host's memory either way, and operations
// outside compiled functions run on the host. What does not name a device runs on the default one,
// which TILEWRIGHT_DEVICE names: a whole program, or a whole test suite, can be tried on another
// without a change.
#pragma once

#include <string>
#include <string_view>

#include "dsl/target.h"

namespace tilewright {

class Device {
 public:
  Device() = default;  // the host
  static Device cpu() { return {}; }
  static Device emulated(std::string_view processor);
  // Raises `Error` listing what is known.
  static Device parse(std::string_view text);

  bool is_emulated() const { return !processor_.empty(); }
  std::string text() const;  // parse(text()) is this device
  dsl::Target target() const;
  bool operator==(const Device&) const = default;

 private:
  std::string processor_;  // of the GPU that is emulated; empty: the host
};

// The device that TILEWRIGHT_DEVICE names, or the host. Raises `Error` listing what is known.
Device default_device();

}  // namespace tilewright
