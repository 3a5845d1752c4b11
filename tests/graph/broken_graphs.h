// Functions whose graph breaks, and the segments that they run in.
#pragma once

#include "graph/compile/compile.h"

namespace tilewright::testing_segments {

inline Options quiet(Mode mode = Mode::default_) { return {.mode = mode, .tell_breaks = false}; }

inline Tensor branches(const Tensor& x) {
  return sum(x).item<float>() > 0 ? exp(x) * 2 : x * 3 - 1;
}

inline std::size_t segments_of(const CompiledFunction& function) {
  std::size_t count = 0;
  for (const PlanReport& plan : function.report()) count += plan.segment.empty() ? 0 : 1;
  return count;
}

}  // namespace tilewright::testing_segments
