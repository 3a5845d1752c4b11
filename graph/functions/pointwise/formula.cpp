#include "graph/functions/pointwise/formula.h"

#include <limits>

#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"

namespace tilewright::graph {

Formula Formula::number(const Number& value) const {
  return {constant(dtype(), tensor_.shape(), value, where_), where_};
}
Formula Formula::make(Op op) const { return {apply(op, {tensor_}, {}, where_), where_}; }
Formula Formula::make(Op op, const Formula& b) const {
  return {apply(op, {tensor_, b.tensor_}, {}, where_), where_};
}
Formula Formula::make(Op op, const Formula& b, const Formula& c) const {
  return {apply(op, {tensor_, b.tensor_, c.tensor_}, {}, where_), where_};
}

Formula greater(const Formula& a, const Formula& b) { return a.make(Op::maximum, b); }
Formula lesser(const Formula& a, const Formula& b) { return a.make(Op::minimum, b); }
Formula choice(const Formula& condition, const Formula& a, const Formula& b) {
  return condition.make(Op::where, a, b);
}
Formula choice(const Formula& condition, const Formula& a, double b) {
  return choice(condition, a, a.number(b));
}
Formula choice(const Formula& condition, double a, const Formula& b) {
  return choice(condition, b.number(a), b);
}

Formula polynomial(const Formula& x, const std::vector<double>& coefficients) {
  Formula sum = x.number(coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

namespace {

Formula nowhere(const Formula& x) {
  return {constant(DType::boolean, x.tensor().shape(), false, x.where()), x.where()};
}

}  // namespace

Formula is_nan(const Formula& x) { return x.is_floating() ? x != x : nowhere(x); }
Formula is_infinite(const Formula& x) {
  return x.is_floating() ? abs(x) == std::numeric_limits<double>::infinity() : nowhere(x);
}
Formula is_negative(const Formula& x) {
  if (x.is_floating()) return (x < 0) | ((x == 0) & (1 / x < 0));
  return is_signed(x.dtype()) ? x < 0 : nowhere(x);
}
Formula negated_where(const Formula& condition, const Formula& magnitude) {
  return choice(condition, -magnitude, magnitude);
}

Tensor computed(std::string_view name, const Terms& terms,
                const std::function<Formula(const Terms&)>& formula, std::vector<Number> settings) {
  std::source_location where = terms[0].where();
  settings.emplace_back(static_cast<int>(terms.dtype));
  std::vector<Tensor> operands;
  for (const Formula& term : terms.terms) operands.push_back(term.tensor());
  auto function = [&](std::span<const Tensor> tensors) -> std::vector<Tensor> {
    Terms own{{}, terms.dtype};
    for (const Tensor& tensor : tensors) own.terms.emplace_back(tensor, where);
    return {own.result(formula(own))};
  };
  return apply_function(name, operands, settings, function, where).front();
}

namespace {

using Operands = std::span<const TensorOperand* const>;

DType wide(DType dtype) { return is_float16(dtype) ? DType::f32 : dtype; }

Terms in_dtype(std::string_view operation, Operands operands, DType inner, DType result) {
  std::source_location where = operands[0]->where;
  Shape shape;
  for (const TensorOperand* operand : operands) {
    if (operand->is_number) continue;
    auto together = broadcast_shapes(shape, operand->tensor.shape());
    if (!together) broadcast_operands(operation, operands);  // raises the error
    shape = *together;
  }
  Terms made{{}, result};
  for (const TensorOperand* operand : operands) {
    bool is_number = operand->is_number;
    if (!is_number) tensor_of(*operand, operation);
    made.terms.emplace_back(
        is_number ? constant(inner, shape, operand->number, where)
                  : broadcast_to(operand->tensor.to(inner, where), shape, operation, where),
        where);
  }
  return made;
}

// How a function computes: in the dtype of its operands, or in a wider one.
enum class Computes : std::uint8_t { as_promoted, in_floats, widened };

Terms terms_of(std::string_view operation, Operands operands, Computes how) {
  if (const AutocastCall cast(operation, operands[0]->where); cast.is_listed()) {
    std::vector<TensorOperand> converted;
    for (const TensorOperand* operand : operands) converted.push_back(cast(*operand));
    std::vector<const TensorOperand*> pointers;
    for (const TensorOperand& operand : converted) pointers.push_back(&operand);
    return terms_of(operation, pointers, how);
  }
  DType dtype = common_dtype(operation, operands);
  if (how == Computes::in_floats && !is_floating(dtype)) dtype = DType::f32;
  return in_dtype(operation, operands, how == Computes::as_promoted ? dtype : wide(dtype), dtype);
}
Terms terms_of(std::string_view operation, OperandList operands, Computes how) {
  return terms_of(operation, Operands(operands.begin(), operands.size()), how);
}

}  // namespace

Terms promoted(std::string_view operation, OperandList operands) {
  return terms_of(operation, operands, Computes::as_promoted);
}
Terms floating(std::string_view operation, OperandList operands) {
  return terms_of(operation, operands, Computes::in_floats);
}
Terms widened(std::string_view operation, OperandList operands) {
  return terms_of(operation, operands, Computes::widened);
}

}  // namespace tilewright::graph
