// The clocks under which something is measured, which its times depend on.
//
// Of the host the clock is measured, without any rights: additions that wait for each other take a
// cycle each. It is that of the core on which the calling thread runs; what runs in the emulator
// runs on the host. Of a GPU NVIDIA's management library tells them, where there is one.
#pragma once

#include <optional>
#include <string>

#include "dsl/target/device.h"
#include "runtime/cuda/nvml.h"

namespace tilewright::autotune {

// Of this core, in some 20 microseconds; nothing on processors that it does not know.
std::optional<double> core_mhz();

class ClockWatch {
 public:
  explicit ClockWatch(Device device) : device_(device) {}
  // Between the parts of a measurement.
  void look();
  void saw(double mhz);
  void saw(const cuda::GpuClocks& clocks);
  // As "core=2893 throttled=no" of the host: the lowest clock in MHz, and whether it was lower than
  // at an earlier look by more than 5%. As "memory=2619 sm=1755 throttled=power" of a GPU: the
  // lowest clocks, and the last thing that held them down. Empty where nothing is known.
  std::string text() const;

 private:
  Device device_;
  bool fell_ = false;
  double least_ = 0, most_ = 0;  // 0: never looked
  std::optional<cuda::GpuClocks> gpu_;
};

}  // namespace tilewright::autotune
