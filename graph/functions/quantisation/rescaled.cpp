#include "graph/functions/quantisation/rescaled.h"

#include <algorithm>

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
// Hosts multiply i8 by i8 in words of four. Less 128 an u8 is one, and so is its zero point.
constexpr std::int64_t to_signed = 128;
constexpr std::int64_t many_rows = 48;  // from which on products pack their right operand

void require_8_bits(const char* name, const Tensor& integers, source_location w) {
  require(is_integer(integers.dtype()) && bit_width(integers.dtype()) == 8, "[", name,
          "] an operand is ", integers.dtype(), " (at ", At{w}, "); integers of 8 bits are wanted");
}
Tensor signed_of(const char* name, const Tensor& integers, source_location w) {
  require_8_bits(name, integers, w);
  if (integers.dtype() == DType::i8) return integers;
  return (integers.to(DType::i32) - to_signed).to(DType::i8);
}
// Undefined where it is 0.
Tensor signed_zero(const Tensor& zero, DType integers) {
  if (integers == DType::i8) return zero.defined() ? zero.to(DType::i32) : zero;
  if (!zero.defined()) return zeros({}, DType::i32) - to_signed;
  return zero.to(DType::i32) - to_signed;
}

// Sums along an axis, which stays, in i32: sums of integers are i64 by default.
Tensor sums_along(const Tensor& integers, int axis) {
  return sum(integers.to(DType::i32), {axis}, true).to(DType::i32);
}

// Sums of (a - zero) (b - zero), where a is i8.
Tensor sums_of(const Tensor& a, const Tensor& zero, const IntegerFactor& b, source_location w) {
  Tensor sums = matmul({a, w}, {b.integers, w}, DType::i32);
  if (zero.defined()) sums = sums - zero * b.sums;
  if (b.zero.defined()) sums = sums - sums_along(a, -1) * b.zero;
  return sums;
}

// `name` is the function that the caller wrote.
Tensor integer_sums(const char* name, const ScaledIntegers& a, const ScaledIntegers& b,
                    source_location w) {
  const Tensor &left = a.integers, &right = b.integers;
  require(left.rank() >= 2 && right.rank() >= 2 && left.size(-1) == right.size(-2), "[", name,
          "] [", left.shape(), "] times [", right.shape(), "] (at ", At{w},
          "); matrices are wanted, as wide as the second is high");
  const bool few_rows = right.rank() == 2 && left.count() < many_rows * left.size(-1);
  return sums_of(signed_of(name, left, w), signed_zero(a.zero_point, left.dtype()),
                 IntegerFactor(right, b.zero_point, few_rows, name, w), w);
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
  return integer_sums("integer_matmul", {a, {}, zero_of_a}, {b, {}, zero_of_b}, w);
}

namespace {

// The integers less their zero points along an axis: i32.
Tensor without_zero(const Tensor& integers, const Tensor& zero, int axis) {
  const Tensor wide = integers.to(DType::i32);
  if (!zero.defined()) return wide;
  Shape along(static_cast<std::size_t>(integers.rank()), 1);
  along[axis] = zero.count();
  return wide - zero.to(DType::i32).reshape(along);
}

}  // namespace

// By convolutions of f32, the fastest ones, as long as all sums are below 2^23, where f32 is exact
// for halves too, which filters that are transformed have (regions/winograd.h): x at once, or the
// upper and lower halves of its bytes by themselves; the others in f64. Sums beyond i32 wrap.
Tensor integer_convolution(const Tensor& x, const Tensor& zero_of_x, const Tensor& weight,
                           const Tensor& zero_of_weight, const Convolve& convolve,
                           source_location w) {
  for (const Tensor& operand : {x, weight}) require_8_bits("integer_convolution", operand, w);
  constexpr std::int64_t exact = 1 << 23, half = 16, most = 255;
  const Tensor steps = without_zero(x, zero_of_x, 1),
               filters = without_zero(weight, zero_of_weight, 0);
  const std::int64_t terms = weight.count() / std::max<std::int64_t>(weight.size(0), 1),
                     largest =
                         weight.dtype() == DType::i8 && !zero_of_weight.defined() ? 128 : most;
  auto sums = [&](const Tensor& part, DType dtype) {
    return convolve(part.to(dtype), filters.to(dtype)).to(DType::i32);
  };
  if (terms * largest * most < exact) return sums(steps, DType::f32);
  if (terms * largest * half >= exact)
    return convolve(steps.to(DType::f64), filters.to(DType::f64)).to(DType::i64).to(DType::i32);
  const Tensor low = steps & (half - 1);
  return sums((steps - low) / half, DType::f32) * half + sums(low, DType::f32);
}

IntegerFactor::IntegerFactor(const Tensor& b, const Tensor& zero_of_b, bool few_rows,
                             const char* name, source_location w)
    : integers(signed_of(name, b, w)),
      zero(signed_zero(zero_of_b, b.dtype())),
      sums(sums_along(integers, -2)) {
  if (zero.defined()) sums = sums - zero * b.size(-2);
  if (few_rows) integers = integers.transpose(-1, -2).contiguous().transpose(-1, -2);
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
  const Tensor sums = integer_sums("scaled_matmul", a, b, w);
  return with_bias("scaled_matmul", sums.to(DType::f32) * (a.scale * b.scale), bias, w);
}
static void require_rows(const Tensor& x, source_location w) {
  require(x.dtype() == DType::f32, "[dynamic_scaled_matmul] x is ", x.dtype(), " (at ", At{w},
          "); f32 is wanted");
  require(x.rank() >= 2, "[dynamic_scaled_matmul] x is [", x.shape(), "] (at ", At{w},
          "); rows of a matrix are wanted");
}
static Tensor product_of(const DynamicallyQuantized& x, const IntegerFactor& b, const Tensor& scale,
                         source_location w) {
  const Tensor steps = (x.steps - to_signed).to(DType::i8),
               zero = (x.zero_point - to_signed).to(DType::i32);
  return sums_of(steps, zero, b, w).to(DType::f32) * (x.scale * scale);
}
Tensor dynamic_scaled_matmul(const Tensor& x, const IntegerFactor& b, const Tensor& scale,
                             const Tensor& bias, source_location w) {
  require_rows(x, w);
  const Tensor product = product_of(dynamic_quantize_linear({x, w}), b, scale, w);
  return with_bias("dynamic_scaled_matmul", product, bias, w);
}
Tensor dynamic_scaled_matmuls(const Tensor& x, const IntegerFactor& factors, const Tensor& scale,
                              source_location w) {
  require_rows(x, w);
  return product_of(dynamic_quantize_linear({x, w}, {-2, -1}), factors, scale, w);
}
Tensor dynamic_scaled_matmul(const Tensor& x, const ScaledIntegers& b, const Tensor& bias,
                             source_location w) {
  const bool few_rows = b.integers.rank() == 2 && x.count() < many_rows * b.integers.size(-2);
  const IntegerFactor factor(b.integers, b.zero_point, few_rows, "dynamic_scaled_matmul", w);
  return dynamic_scaled_matmul(x, factor, b.scale, bias, w);
}

namespace {

Tensor sums_of(const char* name, const ScaledGemm& o, source_location w) {
  const Tensor sums = integer_sums(name, o.a, o.b, w);
  require(sums.rank() == 2, "[", name, "] the product is [", sums.shape(), "] (at ", At{w},
          "); matrices are wanted");
  if (!o.added.defined()) return sums;
  require(o.added.dtype() == DType::i32 && o.added.rank() <= 2, "[", name, "] what is added is ",
          o.added.dtype(), " [", o.added.shape(), "] to [", sums.shape(), "] (at ", At{w},
          "); i32 that broadcasts is wanted");
  return sums + o.added;
}
Tensor scale_of(const ScaledGemm& o) { return o.alpha * o.a.scale * o.b.scale; }

}  // namespace

Tensor scaled_gemm(const ScaledGemm& product, source_location w) {
  return sums_of("scaled_gemm", product, w).to(DType::f32) * scale_of(product);
}
Tensor rescaled_gemm(const ScaledGemm& product, const ScaledForm& form, source_location w) {
  return form.of_steps(sums_of("rescaled_gemm", product, w).to(DType::f32) *
                       (scale_of(product) / form.scale));
}

}  // namespace tilewright
