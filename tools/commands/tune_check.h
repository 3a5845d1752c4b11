// `tilewright tune --check`: whether what tuning chose is really no slower than the default.
#pragma once

#include <string>
#include <vector>

#include "dsl/launch/device.h"
#include "tools/programs/named_kernels.h"

namespace tilewright::tools {

struct CheckSettings {
  int rounds = 101;                // in which both take part
  double sample_seconds = 0.3e-3;  // of each in a round, at least
  bool json = false;
  std::string command;  // that the JSON names
};

// Times the configuration that the tuning database says for each region of the kernels against the
// default in rounds, and prints a table or JSON. A choice is slower if the median of the rounds'
// ratios is above 1 by more than the margin of a decision (autotune/measure/decision.h), twice.
// If the default was kept, it is timed against itself, which shows the noise. Returns whether none
// is slower; raises `Error` if nothing is stored for any of them.
bool check_choices(const std::vector<NamedKernel>& kernels, const Device& device,
                   const CheckSettings& settings);

}  // namespace tilewright::tools
