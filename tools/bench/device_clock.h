// Timing work on a device, the host or a GPU, by that device's own clock.
//
// On a GPU a sample lies between two events around as many calls as make it long enough, and the
// host waits once a round, so that the GPU is never short of work. Actions are timed in turns:
// a change of clocks or power hits all of them alike.
#pragma once

#include <functional>
#include <vector>

#include "dsl/launch/device.h"

namespace tilewright::tools {

struct Timing {
  double median = 0, least = 0, p90 = 0;  // seconds of one call
};

// Each action is called at least twice before it is timed.
std::vector<Timing> device_times(const Device& device,
                                 const std::vector<std::function<void()>>& actions, int rounds,
                                 double shortest_s = 1e-3);

// Seconds of one call and of waiting for the device, by the host's clock.
double seconds_of(const Device& device, const std::function<void()>& call);

// Takes samples in any order.
Timing timing_of(std::vector<double> samples);

}  // namespace tilewright::tools
