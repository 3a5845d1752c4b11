// Tensors that are made from numbers, under PyTorch's names, beside those of graph/tensor/tensor.h
// (full, zeros, ones, arange). They lie on the host, and go to where the operands of an operation
// lie.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

// A tensor of the shape of x, and of its dtype if no other is given.
Tensor full_like(const Tensor& x, const Number& value, std::optional<DType> dtype = {},
                 std::source_location w = std::source_location::current());
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = {},
                  std::source_location w = std::source_location::current());
Tensor ones_like(const Tensor& x, std::optional<DType> dtype = {},
                 std::source_location w = std::source_location::current());
// [rows, columns], 1 where row and column are the same; square if no columns are given.
Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns = {}, DType dtype = DType::f32,
           std::source_location w = std::source_location::current());
// start, start + step, ..: `count` numbers, computed in f64 and rounded once.
Tensor spaced(double start, double step, std::int64_t count, DType dtype = DType::f32,
              std::source_location w = std::source_location::current());
// PyTorch's fft.fftfreq and fft.rfftfreq: the frequencies of the results of a transform of n places
// with the distance d, in their order.
Tensor fftfreq(std::int64_t n, double d = 1, DType dtype = DType::f32,
               std::source_location w = std::source_location::current());
Tensor rfftfreq(std::int64_t n, double d = 1, DType dtype = DType::f32,
                std::source_location w = std::source_location::current());
// `steps` numbers at equal distances, the first of them `start`, the last `end`: counted from the
// nearer end in f64 and rounded once. One step gives `start`. logspace: `base` to these.
Tensor linspace(double start, double end, std::int64_t steps, DType dtype = DType::f32,
                std::source_location w = std::source_location::current());
// The same between ends that may be tensors without axes.
Tensor linspace(const TensorOperand& start, const TensorOperand& end, std::int64_t steps,
                DType dtype = DType::f32);
Tensor logspace(double start, double end, std::int64_t steps, double base = 10,
                DType dtype = DType::f32, std::source_location w = std::source_location::current());

namespace graph {

// The result of logspace for these exponents, f64. Powers that differ from a whole number by
// rounding alone are it, so that as integers they are not one less.
Tensor powers_of(double base, const Tensor& exponents, DType dtype,
                 std::source_location w = std::source_location::current());

}  // namespace graph
}  // namespace tilewright
