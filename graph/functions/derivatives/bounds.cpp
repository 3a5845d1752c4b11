// Rules of functions with bounds. PyTorch 2.15 gives them a derivative of 0 at a bound and beyond,
// or differentiates them as if they had no bounds.
#include "graph/functions/derivatives/activations.h"
#include "graph/functions/derivatives/rule_tables.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/constants.h"
#include "graph/functions/pointwise/elementary.h"

namespace tilewright::graph::rules {

namespace {

using C = const RuleCall&;
using Tensors = std::vector<Tensor>;

// Settings: the bounds, infinite if absent. NaN has a derivative of 0.
Tensors of_clamp(C c) {
  return {where(logical_and(c[0] > c.numbers[0], c[0] < c.numbers[1]), c.cotangents[0], 0.0)};
}

// Settings: the least distance from 0 and 1, NaN if absent.
Tensors of_logit(C c) {
  const Tensor& p = c[0];
  const double eps = c.numbers[0], least = eps == eps ? eps : 0;
  const double outside = eps == eps ? 0 : nan;
  const Tensor is_inside = logical_and(p >= least, p <= 1 - least);
  return {where(is_inside, reciprocal(p * (1.0 - p)), outside)};
}

// PyTorch's lower bound of p (1 - p), a float there.
constexpr double least_uncertainty = 1e-12F;

// Slopes of -t log(p) - (1 - t) log(1 - p), without the bounds of its logarithms.
Tensors of_binary_cross_entropy(C c) {
  const Tensor &p = c[0], &target = c[1];
  return {(p - target) / maximum((1.0 - p) * p, least_uncertainty), log1p(-p) - log(p)};
}

constexpr Rule bounds_rules[] = {
    {.name = "clamp", .cotangents = of_clamp},
    {.name = "hardtanh",
     .cotangents = [](C c) -> Tensors {
       return {hardtanh_backward(c.cotangents[0], c[0], c.numbers[0], c.numbers[1])};
     }},
    {.name = "logit", .slopes = of_logit},
    {.name = "cross entropy of two", .slopes = of_binary_cross_entropy},
    {.name = "straight through", .cotangents = [](C c) -> Tensors { return {c.cotangents[0]}; }},
    // The results are the values, and true where they are within the range of integers.
    {.name = "fake quantize",
     .cotangents = [](C c) -> Tensors { return {where(c.results[1], c.cotangents[0], 0.0)}; }},
};

}  // namespace

std::span<const Rule> within_bounds() { return bounds_rules; }

}  // namespace tilewright::graph::rules
