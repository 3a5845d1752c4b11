#include "graph/functions/complex/reductions.h"

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/reducing/reductions.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

int axis_within(std::string_view operation, int axis, const ComplexTensor& z) {
  const auto own = normalise_axis(axis, z.rank());
  require(own.has_value(), "[", operation, "] axis ", axis, " of [", z.shape(), "]; it has ",
          z.rank());
  return *own;
}

ComplexTensor joined(const ComplexTensor& a, const ComplexTensor& b, int axis) {
  return {cat({a.real(), b.real()}, axis), cat({a.imag(), b.imag()}, axis)};
}

// Halves are multiplied until one element is left along the axis.
ComplexTensor product_over(ComplexTensor z, int axis) {
  for (std::int64_t count = z.size(axis); count > 1; count = (count + 1) / 2) {
    const std::int64_t half = count / 2;
    const ComplexTensor halves = z.slice(axis, 0, half) * z.slice(axis, half, 2 * half);
    z = count % 2 == 0 ? halves : joined(halves, z.slice(axis, count - 1, count), axis);
  }
  return z;
}

}  // namespace

ComplexTensor sum(const ComplexTensor& z, const std::vector<int>& axes, bool keep_dims) {
  return map_parts(z, [&](const Tensor& x) { return sum(x, axes, keep_dims); });
}
ComplexTensor mean(const ComplexTensor& z, const std::vector<int>& axes, bool keep_dims) {
  return map_parts(z, [&](const Tensor& x) { return mean(x, axes, keep_dims); });
}
ComplexTensor cumsum(const ComplexTensor& z, int axis) {
  return map_parts(z, [&](const Tensor& x) { return cumsum(x, axis); });
}

ComplexTensor prod(const ComplexTensor& z, std::optional<int> axis, bool keep_dims) {
  if (!axis) {
    const ComplexTensor product = prod(z.reshape({z.count()}), 0);
    return keep_dims ? product.reshape(Shape(static_cast<std::size_t>(z.rank()), 1)) : product;
  }
  const int own = axis_within("prod", *axis, z);
  Shape one = z.shape();
  one[own] = 1;
  const ComplexTensor product =
      z.size(own) == 0 ? ComplexTensor(ones(one, z.dtype())) : product_over(z, own);
  return keep_dims ? product : product.squeeze(own);
}

// After k steps each element is the product of 2^k.
ComplexTensor cumprod(const ComplexTensor& z, int axis) {
  if (z.rank() == 0) return z;
  const int own = axis_within("cumprod", axis, z);
  const std::int64_t count = z.size(own);
  ComplexTensor products = z;
  for (std::int64_t step = 1; step < count; step *= 2)
    products = joined(products.slice(own, 0, step),
                      products.slice(own, step, count) * products.slice(own, 0, count - step), own);
  return products;
}

Tensor var(const ComplexTensor& z, const std::vector<int>& axes, double correction,
           bool keep_dims) {
  const Tensor of_real = var(z.real(), axes, correction, keep_dims);
  return z.is_real() ? of_real : of_real + var(z.imag(), axes, correction, keep_dims);
}
Tensor stddev(const ComplexTensor& z, const std::vector<int>& axes, double correction,
              bool keep_dims) {
  const Tensor of_real = stddev(z.real(), axes, correction, keep_dims);
  return z.is_real() ? of_real : hypot(of_real, stddev(z.imag(), axes, correction, keep_dims));
}
std::pair<Tensor, ComplexTensor> var_mean(const ComplexTensor& z, const std::vector<int>& axes,
                                          double correction, bool keep_dims) {
  return {var(z, axes, correction, keep_dims), mean(z, axes, keep_dims)};
}
std::pair<Tensor, ComplexTensor> std_mean(const ComplexTensor& z, const std::vector<int>& axes,
                                          double correction, bool keep_dims) {
  return {stddev(z, axes, correction, keep_dims), mean(z, axes, keep_dims)};
}

Tensor linalg_vector_norm(const ComplexTensor& z, double order, const std::vector<int>& axes,
                          bool keep_dims) {
  return linalg_vector_norm(abs(z), order, axes, keep_dims);
}

}  // namespace tilewright
