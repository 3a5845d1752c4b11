// Complex tensors, as pairs of real ones.
//
//   ComplexTensor z = view_as_complex(pairs);  // pairs [.., 2] of floats
//   Tensor size = abs(2.0 * exp(z) + z);
//
// The library has no complex element types. A complex tensor is two real tensors of one shape and
// one float dtype: f32 parts are PyTorch's complex64, f64 parts its complex128. The imaginary part
// may be absent: then the tensor is real, its imaginary part is +0, and functions skip the work on
// zeros. PyTorch and NumPy store the two parts of a number beside each other; that is a real tensor
// with a last axis of 2, which `view_as_complex` sees without a copy and `view_as_real` gives back.
// Computed values stay two tensors until `view_as_real` asks for pairs.
//
// Functions of complex tensors have PyTorch's names and are made of functions of real tensors, so
// that `compile` records them like any others: arithmetic.h, elementary.h, reductions.h and
// products.h in this folder; graph/functions/fourier for transforms; for equations and factors
// graph/functions/linear_algebra/complex_matrices.h. Misuse raises `Error`; all are safe to call
// from several threads.
#pragma once

#include <concepts>
#include <optional>
#include <source_location>
#include <type_traits>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

class ComplexTensor;
struct ComplexOperand;

namespace detail {
// True of std::complex of a float, without its header, which is long.
template <typename T>
concept ComplexNumber = std::floating_point<typename T::value_type> && requires(const T& number) {
  { number.real() } -> std::same_as<typename T::value_type>;
  { number.imag() } -> std::same_as<typename T::value_type>;
};
}  // namespace detail

// The parts as algorithms on pairs hand them on, which check nothing; an undefined one is 0.
struct ComplexParts {
  Tensor real, imaginary;
};

namespace graph {

// The operators of ComplexTensor for two operands of which neither is known to be a complex tensor
// (see arithmetic.h).
ComplexTensor complex_sum(const ComplexOperand& a, const ComplexOperand& b);
ComplexTensor complex_difference(const ComplexOperand& a, const ComplexOperand& b);
ComplexTensor complex_product(const ComplexOperand& a, const ComplexOperand& b);
ComplexTensor complex_quotient(const ComplexOperand& a, const ComplexOperand& b);
ComplexTensor complex_power(const ComplexOperand& base, const ComplexOperand& exponent);
Tensor complex_equal(const ComplexOperand& a, const ComplexOperand& b);

}  // namespace graph

class ComplexTensor {
 public:
  // A real one.
  explicit ComplexTensor(const Tensor& real) : ComplexTensor(real, Tensor()) {}
  // Parts that differ are brought to the shape that they broadcast to and to the dtype that holds
  // both, integers to f32. An undefined imaginary part is an absent one. Raises `Error` where the
  // shapes do not broadcast.
  ComplexTensor(const Tensor& real, const Tensor& imaginary);
  ComplexTensor(const ComplexParts& parts) : ComplexTensor(parts.real, parts.imaginary) {}
  // Sees a tensor of floats [.., 2]; raises `Error` for another.
  static ComplexTensor of_pairs(const Tensor& pairs);

  Tensor real() const { return real_; }
  Tensor imag() const;  // zeros where it is absent
  bool is_real() const { return !imaginary_.defined(); }
  ComplexParts parts() const { return {real_, imaginary_}; }
  // [.., 2]: the tensor that this sees, or a new one.
  Tensor pairs() const;

  const Shape& shape() const { return real_.shape(); }
  int rank() const { return real_.rank(); }
  std::int64_t size(int axis) const { return real_.size(axis); }
  std::int64_t count() const { return real_.count(); }
  DType dtype() const { return real_.dtype(); }  // of the parts

  // Applied to both parts; each means what it means for Tensor.
  ComplexTensor reshape(const Shape& shape,
                        std::source_location w = std::source_location::current()) const;
  ComplexTensor permute(const std::vector<int>& axes,
                        std::source_location w = std::source_location::current()) const;
  ComplexTensor transpose(int a, int b,
                          std::source_location w = std::source_location::current()) const;
  ComplexTensor unsqueeze(int axis, std::source_location w = std::source_location::current()) const;
  ComplexTensor squeeze(int axis, std::source_location w = std::source_location::current()) const;
  ComplexTensor expand(const Shape& shape,
                       std::source_location w = std::source_location::current()) const;
  ComplexTensor slice(int axis, std::int64_t start, std::int64_t end, std::int64_t step = 1,
                      std::source_location w = std::source_location::current()) const;
  ComplexTensor select(int axis, std::int64_t index,
                       std::source_location w = std::source_location::current()) const;
  // To parts of a float dtype.
  ComplexTensor to(DType dtype, std::source_location w = std::source_location::current()) const;
  // With memory of its own, in pairs.
  ComplexTensor clone() const;
  // Writes both parts in place, in this tensor's dtype. Raises `Error` for another shape, and for a
  // real tensor, which has no memory for an imaginary part.
  void copy_from(const ComplexTensor& source);

  // One operand is a complex tensor; the other may be a real tensor or a number of either kind
  // (arithmetic.h).
  friend ComplexTensor operator+(const ComplexOperand& a, const ComplexOperand& b) {
    return graph::complex_sum(a, b);
  }
  friend ComplexTensor operator-(const ComplexOperand& a, const ComplexOperand& b) {
    return graph::complex_difference(a, b);
  }
  friend ComplexTensor operator*(const ComplexOperand& a, const ComplexOperand& b) {
    return graph::complex_product(a, b);
  }
  friend ComplexTensor operator/(const ComplexOperand& a, const ComplexOperand& b) {
    return graph::complex_quotient(a, b);
  }
  friend ComplexTensor pow(const ComplexOperand& base, const ComplexOperand& exponent) {
    return graph::complex_power(base, exponent);
  }
  friend Tensor operator==(const ComplexOperand& a, const ComplexOperand& b) {
    return graph::complex_equal(a, b);
  }
  friend Tensor operator!=(const ComplexOperand& a, const ComplexOperand& b) {
    return logical_not(graph::complex_equal(a, b));
  }

 private:
  Tensor real_, imaginary_;  // undefined: absent
  Tensor pairs_;             // undefined where the parts are no views of one
};

// An operand of a function of two, with the line of the call: a complex tensor, a real one, or a
// number of either kind.
struct ComplexOperand {
  ComplexOperand(const ComplexTensor& z, std::source_location w = std::source_location::current());
  ComplexOperand(const Tensor& x, std::source_location w = std::source_location::current())
      : real(x, w) {}
  template <typename T>
  requires std::is_arithmetic_v<T> ComplexOperand(
      T number, std::source_location w = std::source_location::current())
      : real(number, w) {}
  template <detail::ComplexNumber T>  // a std::complex of any float
  ComplexOperand(const T& number, std::source_location w = std::source_location::current())
      : real(number.real(), w), imaginary(TensorOperand(number.imag(), w)) {}
  ComplexOperand(TensorOperand real, std::optional<TensorOperand> imaginary = {})
      : real(std::move(real)), imaginary(std::move(imaginary)) {}
  TensorOperand real;
  std::optional<TensorOperand> imaginary;  // absent: real
};

// PyTorch's names of `of_pairs` and `pairs`.
ComplexTensor view_as_complex(const Tensor& pairs);
Tensor view_as_real(const ComplexTensor& z);

// A function of one tensor that is linear, with real coefficients, of each part: sums, views,
// elements at other places.
template <typename F>
ComplexTensor map_parts(const ComplexTensor& z, const F& function) {
  if (z.is_real()) return ComplexTensor(function(z.real()));
  return {function(z.real()), function(z.imag())};
}

namespace graph {

// The operand as a tensor; a number is one without axes, of the dtype that it has beside tensors of
// this one.
Tensor tensor_beside(const TensorOperand& operand, DType dtype);
// A real operand has no imaginary part; a number is f32.
ComplexTensor complex_tensor_of(const ComplexOperand& operand);

}  // namespace graph
}  // namespace tilewright
