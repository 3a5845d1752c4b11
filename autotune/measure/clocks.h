// The clocks under which something is measured, which its times depend on.
//
// Of the host the clock is measured, without any rights: additions that wait for each other take a
// cycle each. It is that of the core on which the calling thread runs; what runs in the emulator
// runs on the host. Of a GPU nothing is said: its driver tells the highest clock and not the
// present one.
#pragma once

#include <optional>
#include <string>

#include "dsl/device.h"

namespace tilewright::autotune {

// Of this core, in some 20 microseconds; nothing on processors that it does not know.
std::optional<double> core_mhz();

class ClockWatch {
 public:
  explicit ClockWatch(const Device& device) : is_host_(!device.is_cuda()) {}
  // Between the parts of a measurement.
  void look();
  void saw(double mhz);
  // As "core=2893 throttled=no": the lowest clock in MHz, and whether it was lower than at an
  // earlier look by more than 5%. Empty where nothing is known.
  std::string text() const;

 private:
  bool is_host_, fell_ = false;
  double least_ = 0, most_ = 0;  // 0: never looked
};

}  // namespace tilewright::autotune
