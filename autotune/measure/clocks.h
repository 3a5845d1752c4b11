// The clocks under which something is measured, which its times depend on.
//
// The clock of the host is measured, which needs no privileges: additions that depend on each other
// take a cycle each. It is the clock of the core on which the calling thread runs; emulated GPUs
// run on the host. The clocks of a GPU come from NVIDIA's management library, where there is one.
#pragma once

#include <optional>
#include <string>

#include "dsl/launch/device.h"
#include "runtime/cuda/nvml.h"

namespace tilewright::autotune {

// The clock of this core; takes some 20 microseconds. Nothing on processors that it does not know.
std::optional<double> core_mhz();

class ClockWatch {
 public:
  explicit ClockWatch(Device device) : device_(device) {}
  // Between the parts of a measurement.
  void look();
  void saw(double mhz);
  void saw(const cuda::GpuClocks& clocks);
  // For the host as "core=2893 throttled=no": the lowest clock in MHz, and whether it was lower
  // than at an earlier look by more than 5%. For a GPU as "memory=2619 sm=1755 throttled=power":
  // the lowest clocks, and the last reason why they were held down. Empty where nothing is known.
  std::string text() const;

 private:
  Device device_;
  bool fell_ = false;
  double least_ = 0, most_ = 0;  // 0: never looked
  std::optional<cuda::GpuClocks> gpu_;
};

}  // namespace tilewright::autotune
