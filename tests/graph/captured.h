// Graphs made by running tensor code, for tests of what comes after capture.
#pragma once

#include <functional>
#include <vector>

#include "graph/passes/pipeline.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// The simplified graph of a function of f32 tensors of the given shapes.
inline Graph captured(const std::vector<Shape>& shapes,
                      const std::function<std::vector<Tensor>(std::vector<Tensor>&)>& function) {
  Capture capture;
  std::vector<Tensor> arguments;
  for (const Shape& shape : shapes) arguments.push_back(capture.placeholder(f32, shape));
  return run_passes(capture.finish(function(arguments)).graph);
}

}  // namespace tilewright::graph
