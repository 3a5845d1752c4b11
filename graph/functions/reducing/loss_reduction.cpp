#include "graph/functions/reducing/loss_reduction.h"

#include "graph/functions/pointwise/ruled_formula.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

Terms loss_terms(std::string_view name, OperandList operands) {
  for (const TensorOperand* operand : operands) {
    if (operand->is_number) continue;
    DType dtype = tensor_of(*operand, name).dtype();
    bool is_first = operand == *operands.begin();
    require(tilewright::is_floating(dtype) || !is_first, "[", name, "] the input is ", dtype,
            " (at ", At{operand->where}, "); it must be floating: convert with to(f32)");
  }
  return widened(name, operands);
}

Tensor reduced_loss(const Formula& loss, LossReduction reduction, DType dtype) {
  TensorOperand each(loss.tensor(), loss.where());
  Tensor result = reduction == LossReduction::mean  ? mean(each)
                  : reduction == LossReduction::sum ? sum(each)
                                                    : loss.tensor();
  return result.to(dtype, loss.where());
}

Tensor computed_loss(std::string_view name, const Terms& terms,
                     const std::function<Formula(const Terms&)>& formula, LossReduction reduction,
                     std::vector<Number> settings) {
  settings.emplace_back(static_cast<int>(reduction));
  auto reduced = [&](const Terms& t) {
    return Formula(reduced_loss(formula(t), reduction, t.dtype), t[0].where());
  };
  return computed(name, terms, reduced, std::move(settings));
}

Formula positive_part(const Formula& x) { return clamped(x, 0, {}); }

}  // namespace tilewright::graph
