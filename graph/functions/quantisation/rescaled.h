// Functions of integers of 8 bits with a scale and a zero point that give such integers again: a
// number is (integer - zero point) * scale, and a result is rounded to the nearest integer, halves
// to even, and to the ends of its type.
//
// Steps and their order are those of ONNX Runtime's kernels (com.microsoft), so that halves fall
// alike: some round before the zero point is added, some after. All is in f32 as there; sums are of
// integers. Scales and zero points are f32 without axes, where it is not said otherwise. Misuse
// raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <source_location>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

struct ScaledIntegers {
  Tensor integers, scale, zero_point;
  Tensor steps() const;    // from the zero point, f32
  Tensor numbers() const;  // f32
};
// What a result is in.
struct ScaledForm {
  Tensor scale, zero_point;
  DType dtype;
  Tensor of_steps(const Tensor& steps) const;  // rounded before the zero point is added
  Tensor of_numbers(const Tensor& numbers) const;
  Tensor with_zero(const Tensor& numbers) const;  // rounded behind the zero point
};

Tensor rescaled(const ScaledIntegers& x, const ScaledForm& form);
// Of one integer type; shapes broadcast.
Tensor rescaled_add(const ScaledIntegers& a, const ScaledIntegers& b, const ScaledForm& form,
                    std::source_location w = std::source_location::current());
Tensor rescaled_mul(const ScaledIntegers& a, const ScaledIntegers& b, const ScaledForm& form,
                    std::source_location w = std::source_location::current());
Tensor rescaled_where(const Tensor& condition, const ScaledIntegers& a, const ScaledIntegers& b,
                      const ScaledForm& form,
                      std::source_location w = std::source_location::current());
Tensor rescaled_cat(const std::vector<ScaledIntegers>& parts, int axis, const ScaledForm& form,
                    std::source_location w = std::source_location::current());
Tensor rescaled_sigmoid(const ScaledIntegers& x, const ScaledForm& form);
Tensor rescaled_leaky_relu(const ScaledIntegers& x, double slope, const ScaledForm& form);
// Over all of these axes. A result has as many steps as there are whole ones in 1, so that its
// scale is the next one of which there are.
Tensor rescaled_softmax(const ScaledIntegers& x, const std::vector<int>& axes,
                        const ScaledForm& form);
// The mean over the axes, which stay with size 1.
Tensor rescaled_mean(const ScaledIntegers& x, const std::vector<int>& axes, const ScaledForm& form);

// Products of matrices of integers of 8 bits: exact sums, which wrap where i32 ends. `zero_of_b` is
// one number, or one for each column; zero points may be undefined.
Tensor integer_matmul(const Tensor& a, const Tensor& zero_of_a, const Tensor& b,
                      const Tensor& zero_of_b,
                      std::source_location w = std::source_location::current());
// The same of windows, of which `convolve` gives the convolution of floats. Zero points are one, or
// one for each channel of x and each output of the weight.
using Convolve = std::function<Tensor(const Tensor& x, const Tensor& weight)>;
Tensor integer_convolution(const Tensor& x, const Tensor& zero_of_x, const Tensor& weight,
                           const Tensor& zero_of_weight, const Convolve& convolve,
                           std::source_location w = std::source_location::current());
// A right operand that several products share, made ready once: i8, whose columns lie side by side
// where `few_rows` are multiplied at a time.
struct IntegerFactor {
  // `name` is the function that errors report.
  IntegerFactor(const Tensor& b, const Tensor& zero_of_b, bool few_rows,
                const char* name = "integer_factor",
                std::source_location w = std::source_location::current());
  Tensor integers;  // i8 [.., K, N]
  Tensor zero;      // i32, undefined where it is 0
  Tensor sums;      // of each column, less the zero point: i32 [.., 1, N]
};
// The same for x of f32, which is rounded to 8 bits by its range, times both scales: f32.
Tensor dynamic_scaled_matmul(const Tensor& x, const IntegerFactor& b, const Tensor& scale,
                             const Tensor& bias = {},
                             std::source_location w = std::source_location::current());
// The same of several matrices x [.., M, K] by as many factors, each rounded by a range of its own.
// The scale broadcasts to the products.
Tensor dynamic_scaled_matmuls(const Tensor& x, const IntegerFactor& factors, const Tensor& scale,
                              std::source_location w = std::source_location::current());
// x [.., K] times the transpose of a weight of integers of 8 bits [N, K], with a scale for each of
// N, in x's dtype: PyTorch's _weight_int8pack_mm.
Tensor weight_int8pack_mm(const Tensor& x, const Tensor& weight, const Tensor& scales,
                          std::source_location w = std::source_location::current());
// The same times both scales, f32; that of b for each column, or one. A bias [columns], f32, may be
// undefined.
Tensor scaled_matmul(const ScaledIntegers& a, const ScaledIntegers& b, const Tensor& bias = {},
                     std::source_location w = std::source_location::current());
// x of f32, which is rounded to 8 bits by its range.
Tensor dynamic_scaled_matmul(const Tensor& x, const ScaledIntegers& b, const Tensor& bias = {},
                             std::source_location w = std::source_location::current());

// alpha (a b + added) of matrices, where what is added is i32 and may be undefined; as f32, and as
// integers.
struct ScaledGemm {
  ScaledIntegers a, b;
  Tensor added = {};
  double alpha = 1;
};
Tensor scaled_gemm(const ScaledGemm& product,
                   std::source_location w = std::source_location::current());
Tensor rescaled_gemm(const ScaledGemm& product, const ScaledForm& form,
                     std::source_location w = std::source_location::current());

}  // namespace tilewright
