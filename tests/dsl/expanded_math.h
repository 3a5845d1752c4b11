// Programs that apply one function of elements, and their errors in units in the last place.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "dsl/interpret/interpret.h"
#include "dsl/ir/builder.h"
#include "dsl/ir/elements.h"
#include "dsl/ir/verify.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/math/functions.h"
#include "dsl/passes/passes.h"
#include "runtime/base/error.h"

namespace tilewright::dsl::testing_math {

using ir::Op;

constexpr std::int64_t block = 65536;

// y = op(x), one tile of a block.
inline ir::Function mapped(Op op, DType dtype) {
  ir::Function f{.name = "mapped"};
  ir::Builder b(f);
  ir::Value x = b.param("x", ir::Type::pointer(dtype)), y = b.param("y", ir::Type::pointer(dtype));
  ir::Value lanes = b.append(Op::arange_, {}, ir::Bounds{0, block});
  auto at = [&](ir::Value base) {
    return b.append(Op::offset_, {b.append(Op::splat_, {base}, ir::Extent{{block}}), lanes});
  };
  ir::Value in = b.append(Op::load_, {at(x)}, ir::Access{});
  b.append(Op::store_, {at(y), b.append(op, {in})}, ir::Access{});
  return f;
}

template <typename T>
std::vector<T> run(const ir::Function& f, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  Argument arguments[2];
  arguments[0].pointer = x.data();
  arguments[1].pointer = y.data();
  interpret(f, {}, arguments);
  return y;
}

inline ir::Function expanded(Op op, const char* target, DType dtype = DType::f32) {
  ir::Function f = mapped(op, dtype);
  EXPECT_TRUE(expand_math(f, target_named(target)));
  ir::verify(f);
  EXPECT_FALSE(expand_math(f, target_named(target)));
  return f;
}

inline double reference(Op op, double x) {
  ir::Scalar in = ir::Scalar::of(DType::f64, x), out{DType::f64};
  ir::Column column{&in.floating};
  ir::evaluate_elements(op, DType::f64, DType::f64, {&column, 1}, {&out.floating}, 1);
  return out.floating;
}

// The distance of a result to the true value in spacings of f32 at the true value.
inline double error_in_ulp(float result, double truth) {
  if (std::isnan(truth)) return std::isnan(result) ? 0 : HUGE_VAL;
  auto nearest = static_cast<float>(truth);
  if (result == nearest) return 0;
  if (std::isnan(result)) return HUGE_VAL;
  if (std::isinf(nearest)) truth = std::copysign(0x1p128, truth);
  double held = std::isinf(result) ? std::copysign(0x1p128, result) : result;
  int exponent = truth == 0 ? -149 : std::max(std::ilogb(truth) - 23, -149);
  return std::abs(held - truth) / std::ldexp(1.0, exponent);
}

struct Worst {
  double ulp = 0;
  float at = 0;
  void see(float x, float result, double truth) {
    double error = error_in_ulp(result, truth);
    if (error > ulp) ulp = error, at = x;
  }
};

// The worst error over the bit patterns that are multiples of `step`: all binades of both signs,
// subnormals and NaN.
inline Worst worst_of_every(std::uint64_t step, const ir::Function& f, Op op) {
  Worst worst;
  std::uint64_t pattern = 0;
  while (pattern < (1ULL << 32)) {
    std::vector<float> x(block);
    for (float& element : x) {
      element = std::bit_cast<float>(static_cast<std::uint32_t>(pattern));
      pattern += step;
    }
    auto y = run(f, x);
    for (std::size_t i = 0; i < x.size(); ++i) worst.see(x[i], y[i], reference(op, x[i]));
  }
  return worst;
}

constexpr const char* hosts[] = {"avx2", "avx512"};

// The functions of f64 against the C library's of 64 bits.
inline long double wide_reference(Op op, double number) {
  long double x = number;
  if (op == Op::exp_) return std::exp(x);
  if (op == Op::exp2_) return std::exp2(x);
  if (op == Op::log_) return std::log(x);
  if (op == Op::log2_) return std::log2(x);
  if (op == Op::sin_) return std::sin(x);
  if (op == Op::cos_) return std::cos(x);
  if (op == Op::tanh_) return std::tanh(x);
  if (op == Op::erf_) return std::erf(x);
  if (op == Op::sigmoid_) return 1 / (1 + std::exp(-x));
  check(op == Op::rsqrt_, "a function without a reference");
  return 1 / std::sqrt(x);
}

inline double error_in_ulp(double result, long double truth) {
  if (std::isnan(truth)) return std::isnan(result) ? 0 : HUGE_VAL;
  auto nearest = static_cast<double>(truth);
  if (result == nearest) return 0;
  if (std::isnan(result)) return HUGE_VAL;
  if (std::isinf(nearest)) truth = std::copysign(0x1p1024L, truth);
  long double held = std::isinf(result) ? std::copysign(0x1p1024L, truth) : result;
  int exponent = truth == 0 ? -1074 : std::max(std::ilogb(truth) - 52, -1074);
  return static_cast<double>(std::abs(held - truth) / std::ldexp(1.0L, exponent));
}

}  // namespace tilewright::dsl::testing_math
