// Random tensors under PyTorch's names, and functions of them: dropout, permutations.
//
// Element i (in row-major order) of a call that finds its generator at offset o is computed from
// the seed and o + i, and the generator is o + n afterwards, n being the number of elements. So
// nothing depends on the device, on the number of threads, on fusion, or on whether the function is
// compiled: the same state gives the same numbers. Drawing is pointwise and fuses with its
// neighbours; a dropout is one kernel with its neighbours.
//
// For a seed and a place p = o + i
//
//   words          Philox 4x32-10 with the key `seed` and the counter p (64 bits, the upper half
//                  0): those of cuRAND, and of PyTorch's generator on GPUs, for subsequence 0 and
//                  offset 4 p; and Triton's `randint4x(seed, p)` for p < 2^32
//   rand, f32      Triton's `rand(seed, p)`, bit by bit; so what Inductor makes of torch.rand for
//                  the seed that it draws. Other floats take as many bits as they have.
//   randn, f32     Triton's `randn(seed, p)`, but for the last digits of log, sqrt and cos
//   randint        low + word 0 modulo high - low, as Inductor; past 2^32 numbers both first words
//
// Which of these words an element of torch.rand becomes depends in PyTorch on the GPU's number of
// multiprocessors, and its generator on the host is another one (MT19937): those numbers are not
// these. Misuse raises `Error`. For threads see Generator.
#pragma once

#include <optional>
#include <utility>

#include "graph/functions/random/generator.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// Uniform in [0, 1); normal with mean 0 and deviation 1; integers in [low, high). The dtype is a
// float of 16 bits or more, or any integer that holds low and high - 1.
Tensor rand(const Sizes& shape, DType dtype = DType::f32,
            const Generator& generator = default_generator(),
            std::source_location w = std::source_location::current());
Tensor randn(const Sizes& shape, DType dtype = DType::f32,
             const Generator& generator = default_generator(),
             std::source_location w = std::source_location::current());
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, DType dtype = DType::i64,
               const Generator& generator = default_generator(),
               std::source_location w = std::source_location::current());
// Of the shape, and by default of the dtype of `x`, where `x` lies.
Tensor rand_like(const TensorOperand& x, std::optional<DType> dtype = {},
                 const Generator& generator = default_generator());
Tensor randn_like(const TensorOperand& x, std::optional<DType> dtype = {},
                  const Generator& generator = default_generator());
Tensor randint_like(const TensorOperand& x, std::int64_t low, std::int64_t high,
                    std::optional<DType> dtype = {},
                    const Generator& generator = default_generator());

// Uniform in [low, high); normal of that mean and deviation, which for the second form are tensors
// or numbers that broadcast.
Tensor uniform(const Shape& shape, double low = 0, double high = 1, DType dtype = DType::f32,
               const Generator& generator = default_generator(),
               std::source_location w = std::source_location::current());
Tensor normal(double mean, double deviation, const Shape& shape, DType dtype = DType::f32,
              const Generator& generator = default_generator(),
              std::source_location w = std::source_location::current());
Tensor normal(const TensorOperand& mean, const TensorOperand& deviation,
              const Generator& generator = default_generator());

// 1 with the probability that the element of `p` is, else 0, in the dtype of `p`, which is
// floating. (A probability outside [0, 1] counts as the nearer of them.)
Tensor bernoulli(const TensorOperand& p, const Generator& generator = default_generator());
// Elements are 0 with probability p, and the others divided by 1 - p. Not `train`: x itself, and
// nothing is drawn.
Tensor dropout(const TensorOperand& x, double p = 0.5, bool train = true,
               const Generator& generator = default_generator());
// The same, and the mask of the kept elements, bool.
std::pair<Tensor, Tensor> native_dropout(const TensorOperand& x, double p, bool train,
                                         const Generator& generator = default_generator());

// The integers from 0 below n in random order: by the order of n words of 64 bits.
Tensor randperm(std::int64_t n, DType dtype = DType::i64,
                const Generator& generator = default_generator(),
                std::source_location w = std::source_location::current());

// x, f32 or f64, rounded to a float of 16 bits: to one of its two neighbours there, to either with
// the probability that makes x the expected value (to 2^-24 of their distance). Small updates of
// parameters of 16 bits add up so, where rounding to nearest loses them. Values that the dtype has
// stay, and nothing finite becomes infinite that would not by rounding to nearest. The derivative
// is that of a conversion.
Tensor round_stochastically(const TensorOperand& x, DType dtype,
                            const Generator& generator = default_generator());

}  // namespace tilewright
