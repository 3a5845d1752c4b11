#include "graph/functions/reducing/loss_reduction.h"

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

Formula positive_part(const Formula& x) { return greater(x, x.number(0)); }

}  // namespace tilewright::graph
