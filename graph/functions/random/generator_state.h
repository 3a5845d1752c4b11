// The parts of a generator, for the functions that draw from it. Apart from generator.h, whose
// users draw and never look inside.
#pragma once

#include <mutex>

#include "graph/tensor/capture.h"
#include "runtime/base/fork_gate.h"

namespace tilewright {

struct GeneratorState {
  Tensor seed, offset;  // i64, without axes
  std::mutex mutex;     // held while drawing at once

  // A function that is being captured draws nothing yet.
  std::unique_lock<std::mutex> lock() {
    return graph::Capture::active() != nullptr ? std::unique_lock<std::mutex>()
                                               : std::unique_lock(mutex);
  }
};

}  // namespace tilewright
