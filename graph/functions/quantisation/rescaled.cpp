#include "graph/functions/quantisation/rescaled.h"

#include "graph/functions/quantisation/linear.h"
#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

void require_same(const char* name, const ScaledIntegers& a, const ScaledIntegers& b,
                  source_location w) {
  require(a.integers.dtype() == b.integers.dtype(), "[", name, "] operands are ",
          a.integers.dtype(), " and ", b.integers.dtype(), " (at ", At{w},
          "); they must have one type");
}
// The matrix less its zero point, which may be undefined.
Tensor less_zero(const Tensor& matrix, const Tensor& zero) {
  const Tensor wide = matrix.to(DType::i32);
  return zero.defined() ? wide - zero.to(DType::i32) : wide;
}

}  // namespace

Tensor ScaledIntegers::steps() const { return integers.to(DType::f32) - zero_point; }
Tensor ScaledIntegers::numbers() const { return steps() * scale; }
Tensor ScaledForm::of_steps(const Tensor& steps) const {
  return (round(steps) + zero_point).to(dtype);
}
Tensor ScaledForm::of_numbers(const Tensor& numbers) const { return of_steps(numbers / scale); }

Tensor ScaledForm::with_zero(const Tensor& numbers) const {
  return round(numbers / scale + zero_point).to(dtype);
}

Tensor rescaled(const ScaledIntegers& x, const ScaledForm& form) {
  return form.of_numbers(x.numbers());
}

// The zero points are one number, to which products are added one after the other.
Tensor rescaled_add(const ScaledIntegers& a, const ScaledIntegers& b, const ScaledForm& form,
                    source_location w) {
  require_same("rescaled_add", a, b, w);
  const Tensor of_a = a.scale / form.scale, of_b = b.scale / form.scale;
  const Tensor fixed = form.zero_point - (of_a * a.zero_point + of_b * b.zero_point);
  return round((fixed + a.integers.to(DType::f32) * of_a) + b.integers.to(DType::f32) * of_b)
      .to(form.dtype);
}
Tensor rescaled_mul(const ScaledIntegers& a, const ScaledIntegers& b, const ScaledForm& form,
                    source_location w) {
  require_same("rescaled_mul", a, b, w);
  const Tensor scale = a.scale * b.scale / form.scale;
  return round(a.steps() * b.steps() * scale + form.zero_point).to(form.dtype);
}
Tensor rescaled_where(const Tensor& condition, const ScaledIntegers& a, const ScaledIntegers& b,
                      const ScaledForm& form, source_location w) {
  require_same("rescaled_where", a, b, w);
  return where({condition, w}, rescaled(a, form), rescaled(b, form));
}
Tensor rescaled_cat(const std::vector<ScaledIntegers>& parts, int axis, const ScaledForm& form,
                    source_location w) {
  std::vector<Tensor> all;
  for (const ScaledIntegers& part : parts) {
    require_same("rescaled_cat", parts.front(), part, w);
    all.push_back(rescaled(part, form));
  }
  return cat(all, axis, w);
}

Tensor rescaled_sigmoid(const ScaledIntegers& x, const ScaledForm& form) {
  return form.of_numbers(sigmoid(x.numbers()));
}
Tensor rescaled_leaky_relu(const ScaledIntegers& x, double slope, const ScaledForm& form) {
  const Tensor numbers = x.numbers();
  return form.of_numbers(where(numbers >= 0, numbers, numbers * slope));
}
Tensor rescaled_softmax(const ScaledIntegers& x, const std::vector<int>& axes,
                        const ScaledForm& form) {
  const Tensor integers = x.integers.to(DType::f32);
  const Tensor powers = exp((integers - amax(integers, axes, true)) * x.scale);
  return form.of_steps(powers * floor(1.0 / form.scale) / sum(powers, axes, true));
}
Tensor rescaled_mean(const ScaledIntegers& x, const std::vector<int>& axes,
                     const ScaledForm& form) {
  std::int64_t count = 1;
  for (int axis : axes) count *= x.integers.size(axis);
  const Tensor total =
      sum(x.integers.to(DType::i32) - x.zero_point.to(DType::i32), axes, true).to(DType::f32);
  return form.of_steps(total * (x.scale / (form.scale * static_cast<double>(count))));
}

Tensor integer_matmul(const Tensor& a, const Tensor& zero_of_a, const Tensor& b,
                      const Tensor& zero_of_b, source_location w) {
  require(a.rank() >= 2 && b.rank() >= 2 && a.size(-1) == b.size(-2), "[integer_matmul] [",
          a.shape(), "] times [", b.shape(), "] (at ", At{w},
          "); matrices are wanted, as wide as the second is high");
  return matmul({less_zero(a, zero_of_a), w}, {less_zero(b, zero_of_b), w});
}
Tensor weight_int8pack_mm(const Tensor& x, const Tensor& weight, const Tensor& scales,
                          source_location w) {
  require(weight.rank() == 2 && is_integer(weight.dtype()) && is_floating(x.dtype()),
          "[weight_int8pack_mm] x is ", x.dtype(), ", the weight ", weight.dtype(), " [",
          weight.shape(), "] (at ", At{w}, "); floats and a matrix of integers are wanted");
  return matmul({x, w}, weight.to(x.dtype()).transpose(0, 1)) * scales;
}
namespace {

Tensor with_bias(const char* name, const Tensor& product, const Tensor& bias, source_location w) {
  if (!bias.defined()) return product;
  require(bias.rank() == 1 && bias.size(0) == product.size(-1), "[", name, "] a bias [",
          bias.shape(), "] for [", product.shape(), "] (at ", At{w},
          "); one for each column is wanted");
  return product + bias;
}

}  // namespace

Tensor scaled_matmul(const ScaledIntegers& a, const ScaledIntegers& b, const Tensor& bias,
                     source_location w) {
  const Tensor sums = integer_matmul(a.integers, a.zero_point, b.integers, b.zero_point, w);
  return with_bias("scaled_matmul", sums.to(DType::f32) * (a.scale * b.scale), bias, w);
}
Tensor dynamic_scaled_matmul(const Tensor& x, const ScaledIntegers& b, const Tensor& bias,
                             source_location w) {
  require(x.dtype() == DType::f32, "[dynamic_scaled_matmul] x is ", x.dtype(), " (at ", At{w},
          "); f32 is wanted");
  const DynamicallyQuantized found = dynamic_quantize_linear({x, w});
  const Tensor steps = (found.steps - found.zero_point).to(DType::i32);
  const Tensor sums = integer_matmul(steps, {}, b.integers, b.zero_point, w);
  return with_bias("dynamic_scaled_matmul", sums.to(DType::f32) * (found.scale * b.scale), bias, w);
}

namespace {

Tensor sums_of(const ScaledGemm& o, source_location w) {
  const Tensor sums = integer_matmul(o.a.integers, o.a.zero_point, o.b.integers, o.b.zero_point, w);
  require(sums.rank() == 2, "[scaled_gemm] the product is [", sums.shape(), "] (at ", At{w},
          "); matrices are wanted");
  if (!o.added.defined()) return sums;
  require(o.added.dtype() == DType::i32 && o.added.rank() <= 2, "[scaled_gemm] what is added is ",
          o.added.dtype(), " [", o.added.shape(), "] to [", sums.shape(), "] (at ", At{w},
          "); i32 that broadcasts is wanted");
  return sums + o.added;
}
Tensor scale_of(const ScaledGemm& o) { return o.alpha * o.a.scale * o.b.scale; }

}  // namespace

Tensor scaled_gemm(const ScaledGemm& product, source_location w) {
  return sums_of(product, w).to(DType::f32) * scale_of(product);
}
Tensor rescaled_gemm(const ScaledGemm& product, const ScaledForm& form, source_location w) {
  return form.of_steps(sums_of(product, w).to(DType::f32) * (scale_of(product) / form.scale));
}

}  // namespace tilewright
