// A line search for a step that fulfils the strong Wolfe conditions: the loss falls by a share of
// what its slope promises, and the slope is a share of that at the beginning at most.
//
// The step is bracketed and then narrowed by cubic interpolation (Nocedal and Wright, "Numerical
// Optimization", algorithms 3.5 and 3.6), with the safeguards and numbers of Schmidt's minFunc,
// which PyTorch's search has too: both try the same steps where losses are finite.
#pragma once

#include <cstdint>
#include <functional>

#include "graph/tensor/tensor.h"

namespace tilewright::detail {

// The loss a step along the direction, and its slope there: the gradient times the direction.
struct LinePoint {
  double step = 0, loss = 0, slope = 0;
  Tensor gradient;
};

struct LineSearch {
  LinePoint start;        // of step 0, with a slope below 0
  double first_step = 1;  // that is tried
  // Brackets are narrowed as long as an element of the parameters changes by this between their
  // ends; `greatest` is the greatest magnitude in the direction.
  double greatest = 1, least_change = 1e-9;
  std::int64_t most = 25;  // steps that are tried besides the first
  // A loss falls enough if it does so up to the resolution of this dtype.
  DType loss_dtype = DType::f64;
  std::function<LinePoint(double step)> evaluate;

  // A point that fulfils the conditions; where there may be no more steps, or the bracket has
  // become too narrow, its lower end, which may be the start. A point with a loss or a slope that
  // is not finite counts as one of an infinite loss.
  LinePoint run() const;
};

}  // namespace tilewright::detail
