#include "graph/functions/members/writes.h"

#include <array>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/replacement.h"
#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/eager.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Op;
using std::source_location;

namespace graph {
namespace {

int rank_of_kind(DType dtype) { return is_boolean(dtype) ? 0 : is_floating(dtype) ? 2 : 1; }

// The second operand of an operation that can run on the target's own memory, as one kernel. None
// where the result has another dtype, or is rounded otherwise.
std::optional<Tensor> operand_in_place(const Tensor& target, const Compound& compound,
                                       const TensorOperand& value) {
  const DType dtype = target.dtype();
  if (Capture::active() != nullptr || (compound.op == Op::div && !is_floating(dtype))) return {};
  const TensorOperand own(target, value.where);
  const std::array operands = {&own, &value};
  if (common_dtype(compound.name, operands) != dtype) return {};
  if (value.is_number)
    return is_float16(dtype)
               ? std::nullopt
               : std::optional(constant(dtype, target.shape(), value.number, value.where));
  if (broadcast_shapes(target.shape(), value.tensor.shape()) != target.shape()) return {};
  const TensorBody& given = body_of(value.tensor, compound.name, value.where);
  if (!given.buffer || memory_of(value.tensor) != memory_of(target)) return {};
  return broadcast_to(value.tensor.to(dtype, value.where), target.shape(), compound.name,
                      value.where);
}

}  // namespace

Tensor value_for(const Tensor& target, const TensorOperand& value, std::string_view operation) {
  auto w = value.where;
  const DType dtype = body_of(target, operation, w).dtype;
  if (value.is_number) require_fits(value.number, dtype, operation, w);
  Tensor given = value.is_number ? constant(dtype, {}, value.number, w)
                                 : tensor_of(value, operation).to(dtype, w);
  while (given.rank() > target.rank() && given.shape()[0] == 1) given = given.squeeze(0, w);
  return Capture::active() == nullptr ? given.to(target.device(w), w) : given;
}

void write(const Tensor& target, const TensorOperand& value, std::string_view operation) {
  Tensor given = value_for(target, value, operation);
  Tensor(target).copy_from(broadcast_to(given, target.shape(), operation, value.where),
                           value.where);
}

void write_compound(const Tensor& target, const Compound& compound, const TensorOperand& value) {
  auto w = value.where;
  const TensorBody& body = body_of(target, compound.name, w);
  if (Capture::active() == nullptr && !body.buffer) require_usable(body, compound.name, w);
  if (auto other = operand_in_place(target, compound, value)) {
    require_writable(body, compound.name, w);
    require_own_elements(body, compound.name, w);
    const Tensor operands[] = {target, *other};
    return run_eager_in_place(compound.op, operands, {}, w);
  }
  Tensor result = result_of(compound, target, value);
  require(result.shape() == target.shape(), "[", compound.name, "] the tensor is ", target.shape(),
          ", the result ", result.shape(), " (at ", At{w},
          "); the value must broadcast to the tensor");
  Tensor(target).copy_from(result, w);
}

Tensor result_of(const Compound& compound, const Tensor& x, const TensorOperand& value) {
  auto w = value.where;
  Tensor result = compound.function({x, w}, value);
  require(rank_of_kind(result.dtype()) <= rank_of_kind(x.dtype()), "[", compound.name,
          "] the result is ", result.dtype(), ", which a tensor of ", x.dtype(),
          " does not hold (at ", At{w}, "); convert the tensor or the value with to()");
  return result.to(x.dtype(), w);
}

}  // namespace graph

namespace {

// True if the elements are those of another tensor too, or of a handle that stays.
bool is_seen(const Tensor& temporary) {
  const TensorBody& body = *temporary.body();
  constexpr long own = 1, captures = 1;  // of the body; a capture that may break keeps one
  if (body.buffer) return body.buffer.use_count() > 1 || temporary.body().use_count() > own;
  return body.base != nullptr || temporary.body().use_count() > own + captures;
}

}  // namespace

#define TILEWRIGHT_COMPOUND(symbol, name)                                                    \
  static constexpr graph::Compound name##_compound{#symbol "=", Op::name, operator symbol }; \
  Tensor& Tensor::operator symbol##=(const TensorOperand& value) {                           \
    graph::write_compound(*this, name##_compound, value);                                    \
    return *this;                                                                            \
  }                                                                                          \
  void IndexedTensor::operator symbol##=(const TensorOperand& value)&& {                     \
    graph::write_compound(tensor_, indices_, name##_compound, value);                        \
  }
TILEWRIGHT_COMPOUND(+, add)
TILEWRIGHT_COMPOUND(-, sub)
TILEWRIGHT_COMPOUND(*, mul)
TILEWRIGHT_COMPOUND(/, div)
TILEWRIGHT_COMPOUND(&, bitwise_and)
TILEWRIGHT_COMPOUND(|, bitwise_or)
TILEWRIGHT_COMPOUND(^, bitwise_xor)
#undef TILEWRIGHT_COMPOUND

void Tensor::operator=(const TensorOperand& value) && {
  graph::body_of(*this, "=", value.where);
  require(is_seen(*this), "[=] a value is assigned to a temporary of shape ", shape(),
          ", whose elements nothing else sees (at ", At{value.where},
          "); write to a view of a tensor, or name the result");
  graph::write(*this, value, "=");
}
Tensor& Tensor::copy_(const TensorOperand& value) {
  graph::write(*this, value, "copy_");
  return *this;
}
Tensor& Tensor::fill_(const Number& value, source_location w) {
  graph::write(*this,
               value.is_integral() ? TensorOperand(value.as_integer(), w)
                                   : TensorOperand(value.as_double(), w),
               "fill_");
  return *this;
}
Tensor& Tensor::zero_(source_location w) { return fill_(0, w); }
Tensor& Tensor::masked_fill_(const Tensor& mask, const TensorOperand& value) {
  auto w = value.where;
  graph::body_of(*this, "masked_fill_", w);
  const Tensor given = graph::tensor_of({mask, w}, "masked_fill_");
  require(is_boolean(given.dtype()) && broadcast_shapes(shape(), given.shape()) == shape(),
          "[masked_fill_] the tensor is ", shape(), ", the mask ", given.dtype(), " ",
          given.shape(), " (at ", At{w}, "); the mask must be bool and broadcast to the tensor");
  graph::write_where(*this, given, graph::filler(*this, value, "masked_fill_", w), w);
  return *this;
}

void IndexedTensor::operator=(const TensorOperand& value) && {
  tensor_.index_put_(indices_, value);
}
void IndexedTensor::operator=(IndexedTensor&& value) && {
  tensor_.index_put_(indices_, TensorOperand(std::move(value)));
}

}  // namespace tilewright
