// Random numbers of further distributions, under PyTorch's names, each by the inverse of its
// distribution function of numbers from random.h, and draws by weight.
//
// Of any shape and float dtype; computed in f32. Misuse raises `Error`. For threads see Generator.
#pragma once

#include <cstdint>
#include <source_location>

#include "graph/functions/random/generator.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// Density rate exp(-rate x).
Tensor exponential(const Shape& shape, double rate = 1, DType dtype = DType::f32,
                   const Generator& generator = default_generator(),
                   std::source_location w = std::source_location::current());
// How many trials it takes to the first success, from 1 on, of the probability p.
Tensor geometric(const Shape& shape, double p, DType dtype = DType::f32,
                 const Generator& generator = default_generator(),
                 std::source_location w = std::source_location::current());
Tensor cauchy(const Shape& shape, double median = 0, double sigma = 1, DType dtype = DType::f32,
              const Generator& generator = default_generator(),
              std::source_location w = std::source_location::current());
// exp of numbers that are normal with this mean and deviation.
Tensor log_normal(const Shape& shape, double mean = 1, double deviation = 2,
                  DType dtype = DType::f32, const Generator& generator = default_generator(),
                  std::source_location w = std::source_location::current());

// Numbers of elements of each row of weights [n] or [rows, n], floats that are not negative: i64
// [.., count]. Without replacement by weights over exponential numbers, of which the greatest are
// taken: that is a draw one after the other (P. Efraimidis and P. Spirakis: Weighted random
// sampling with a reservoir, 2006).
Tensor multinomial(const TensorOperand& weights, std::int64_t count, bool replacement = false,
                   const Generator& generator = default_generator());

}  // namespace tilewright
