#include "graph/functions/complex/complex_tensor.h"

#include "runtime/base/error.h"

namespace tilewright {

using std::source_location;

ComplexTensor::ComplexTensor(const Tensor& real, const Tensor& imaginary)
    : real_(real), imaginary_(imaginary) {
  require(real.defined(), "[complex] the real part is undefined; a tensor is wanted");
  if (is_real()) {
    if (!is_floating(real.dtype())) real_ = real_.to(f32);
    return;
  }
  DType dtype = promote(real.dtype(), imaginary.dtype());
  if (!is_floating(dtype)) dtype = f32;
  const auto shape = broadcast_shapes(real.shape(), imaginary.shape());
  require(shape.has_value(), "[complex] a real part [", real.shape(), "] with an imaginary one [",
          imaginary.shape(), "]; they must broadcast");
  for (Tensor* part : {&real_, &imaginary_}) {
    if (part->dtype() != dtype) *part = part->to(dtype);
    if (part->shape() != *shape) *part = part->expand(*shape);
  }
}

ComplexTensor ComplexTensor::of_pairs(const Tensor& pairs) {
  require(pairs.rank() > 0 && pairs.size(-1) == 2 && is_floating(pairs.dtype()),
          "[view_as_complex] complex numbers as ", pairs.dtype(), " [", pairs.shape(),
          "]; floats with a last axis of 2 are wanted");
  const int last = pairs.rank() - 1;
  ComplexTensor z(pairs.select(last, 0), pairs.select(last, 1));
  z.pairs_ = pairs;
  return z;
}

Tensor ComplexTensor::imag() const {
  return is_real() ? zeros(real_.shape(), real_.dtype()) : imaginary_;
}

Tensor ComplexTensor::pairs() const {
  if (pairs_.defined()) return pairs_;
  return cat({real_.unsqueeze(-1), imag().unsqueeze(-1)}, rank());
}

ComplexTensor ComplexTensor::reshape(const Shape& shape, source_location w) const {
  return map_parts(*this, [&](const Tensor& x) { return x.reshape(shape, w); });
}
ComplexTensor ComplexTensor::permute(const std::vector<int>& axes, source_location w) const {
  return map_parts(*this, [&](const Tensor& x) { return x.permute(axes, w); });
}
ComplexTensor ComplexTensor::transpose(int a, int b, source_location w) const {
  return map_parts(*this, [&](const Tensor& x) { return x.transpose(a, b, w); });
}
ComplexTensor ComplexTensor::unsqueeze(int axis, source_location w) const {
  return map_parts(*this, [&](const Tensor& x) { return x.unsqueeze(axis, w); });
}
ComplexTensor ComplexTensor::squeeze(int axis, source_location w) const {
  return map_parts(*this, [&](const Tensor& x) { return x.squeeze(axis, w); });
}
ComplexTensor ComplexTensor::expand(const Shape& shape, source_location w) const {
  return map_parts(*this, [&](const Tensor& x) { return x.expand(shape, w); });
}
ComplexTensor ComplexTensor::slice(int axis, std::int64_t start, std::int64_t end,
                                   std::int64_t step, source_location w) const {
  return map_parts(*this, [&](const Tensor& x) { return x.slice(axis, start, end, step, w); });
}
ComplexTensor ComplexTensor::select(int axis, std::int64_t index, source_location w) const {
  return map_parts(*this, [&](const Tensor& x) { return x.select(axis, index, w); });
}
ComplexTensor ComplexTensor::to(DType dtype, source_location w) const {
  require(is_floating(dtype), "[to] a complex tensor with parts of ", dtype,
          "; a float dtype is wanted");
  return map_parts(*this, [&](const Tensor& x) { return x.to(dtype, w); });
}

ComplexTensor ComplexTensor::clone() const { return of_pairs(pairs().clone()); }

void ComplexTensor::copy_from(const ComplexTensor& source) {
  require(!is_real() && source.shape() == shape(), "[copy_from] a complex tensor [", source.shape(),
          "] is written to a ", is_real() ? "real" : "complex", " one [", shape(),
          "]; a complex one of that shape is wanted");
  const Tensor imaginary = source.imag().to(imaginary_.dtype());
  const Tensor own = imaginary.clone();  // which the first write might change
  real_.copy_from(source.real().to(real_.dtype()));
  imaginary_.copy_from(own);
}

ComplexOperand::ComplexOperand(const ComplexTensor& z, source_location w) : real(z.real(), w) {
  if (!z.is_real()) imaginary.emplace(z.imag(), w);
}

ComplexTensor view_as_complex(const Tensor& pairs) { return ComplexTensor::of_pairs(pairs); }
Tensor view_as_real(const ComplexTensor& z) { return z.pairs(); }

Tensor graph::tensor_beside(const TensorOperand& operand, DType dtype) {
  if (!operand.is_number) return operand.tensor;
  return full({}, operand.number.as_double(), is_floating(dtype) ? dtype : f32);
}
ComplexTensor graph::complex_tensor_of(const ComplexOperand& operand) {
  return {tensor_beside(operand.real, f32),
          operand.imaginary ? tensor_beside(*operand.imaginary, f32) : Tensor()};
}

}  // namespace tilewright
