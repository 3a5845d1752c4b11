#include "models/exported/complex/complex_tensor.h"

#include "runtime/base/error.h"

namespace tilewright::exported {

ComplexTensor::ComplexTensor(const Tensor& real, const Tensor& imaginary)
    : real_(real), imaginary_(imaginary) {
  DType dtype = promote(real.dtype(), imaginary.dtype());
  if (!is_floating(dtype)) dtype = f32;
  const auto shape = broadcast_shapes(real.shape(), imaginary.shape());
  require(shape.has_value(), "[exported] a real part [", real.shape(), "] with an imaginary one [",
          imaginary.shape(), "]; they must broadcast");
  for (Tensor* part : {&real_, &imaginary_}) {
    if (part->dtype() != dtype) *part = part->to(dtype);
    if (part->shape() != *shape) *part = part->expand(*shape);
  }
}

ComplexTensor ComplexTensor::of_pairs(const Tensor& pairs) {
  require(pairs.rank() > 0 && pairs.size(-1) == 2 && is_floating(pairs.dtype()),
          "[exported] complex numbers as ", pairs.dtype(), " [", pairs.shape(),
          "]; floats with a last axis of 2 are wanted");
  const int last = pairs.rank() - 1;
  ComplexTensor z(pairs.select(last, 0), pairs.select(last, 1));
  z.pairs_ = pairs;
  return z;
}

Tensor ComplexTensor::pairs() const {
  if (pairs_.defined()) return pairs_;
  return cat({real_.unsqueeze(-1), imaginary_.unsqueeze(-1)}, rank());
}

void ComplexTensor::copy_from(const ComplexTensor& source) const {
  const Tensor real = source.real(), imaginary = source.imaginary().to(imaginary_.dtype());
  const Tensor own = imaginary.clone();  // which the first write might change
  Tensor(real_).copy_from(real.to(real_.dtype()));
  Tensor(imaginary_).copy_from(own);
}

Tensor tensor_of(const TensorOperand& operand, DType dtype) {
  if (!operand.is_number) return operand.tensor;
  return full({}, operand.number.as_double(), is_floating(dtype) ? dtype : f32);
}

}  // namespace tilewright::exported
