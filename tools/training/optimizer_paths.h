// Paths of parameters under optimizers, compared with PyTorch's: a small network's w, b and s over
// 100 steps, each of which is one compiled function of loss, gradients, clipping and update.
#pragma once

#include <string>

#include "tools/training/reference.h"

namespace tilewright::tools {

struct PathComparison {
  bool is_supported = true;  // false: the library has no such optimizer
  int steps = 0;             // that were compared
  // The largest distances from PyTorch's f64, and what is allowed: of parameters, of losses and
  // norms of gradients, and of parameters after the state of step 37 was loaded.
  double parameters = 0, losses = 0, resumed = 0, allowed = 0;
  // The largest distance of the state after 37 steps, relative to the largest number of each
  // tensor; infinite if names differ.
  double state = 0;
  std::size_t plans = 0;  // that were compiled for all of that
  bool is_right() const {
    return is_supported && parameters <= allowed && losses <= allowed && resumed <= allowed &&
           plans == 1;
  }
};

// In f64, or in f32, where the distances that PyTorch's own f32 has are allowed, times 10.
PathComparison compared_path(const PathReference& reference, const std::string& name, DType dtype);

}  // namespace tilewright::tools
