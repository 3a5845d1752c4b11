// The last step of a loss: its elements summed, averaged or left, and rounded to its dtype.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "graph/functions/pointwise/formula.h"

namespace tilewright::graph {

// The operands of a loss, which are floating.
Terms loss_terms(std::string_view name, OperandList operands);
// The mean of no elements is NaN.
Tensor reduced_loss(const Formula& loss, LossReduction reduction, DType dtype);
// The formula of the terms, reduced, as one operation (`computed`).
Tensor computed_loss(std::string_view name, const Terms& terms,
                     const std::function<Formula(const Terms&)>& formula, LossReduction reduction,
                     std::vector<Number> settings = {});
// max(x, 0); a NaN stays.
Formula positive_part(const Formula& x);

}  // namespace tilewright::graph
