// Factors of real matrices that the host computes equal those that loops of the graph compute;
// results that loops do not compute are checked by their definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "graph/compile/compile.h"
#include "graph/functions/linear_algebra/complex_matrices.h"
#include "graph/functions/linear_algebra/reflections.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/linear_algebra/spectra.h"
#include "graph/ir/evaluate.h"
#include "graph/ir/text.h"
#include "graph/passes/passes.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/graph/at_once_and_compiled.h"
#include "tests/graph/unit_matrices.h"

namespace tilewright::host_matrices_test {
namespace {

using namespace testing_matrices;

using ::testing::HasSubstr;
using testing_loops::Dice;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

graph::HostTensor values_of(const Tensor& tensor) {
  graph::HostTensor values(tensor.dtype(), tensor.shape());
  if (is_floating(tensor.dtype())) {
    const auto numbers = tensor.to(f64).to_vector<double>();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      values.set_number(static_cast<std::int64_t>(i), numbers[i]);
  } else {
    const auto numbers = tensor.to(i64).to_vector<std::int64_t>();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      values.set(static_cast<std::int64_t>(i), {tensor.dtype(), numbers[i], 0});
  }
  return values;
}

// The function's values by loops of the graph, where the host may not compute them.
std::vector<graph::HostTensor> by_loops(const Function& function, const Tensors& inputs) {
  graph::Captured captured;
  {
    graph::Capture capture;
    Tensors symbols;
    for (const Tensor& input : inputs)
      symbols.push_back(capture.placeholder(input.dtype(), input.shape()));
    captured = capture.finish(function(symbols));
  }
  std::vector<graph::HostTensor> values;
  for (const Tensor& input : inputs) values.push_back(values_of(input));
  for (const Tensor& input : captured.captured) values.push_back(values_of(input));
  const graph::Graph loops = graph::decompose(captured.graph, dsl::target_named("sm_80"));
  return graph::evaluate(loops, values, graph::Rounding::exact_dtype).outputs;
}

// The function gives the same in both forms, at once and compiled.
void expect_same(const Function& function, const Tensors& inputs, const std::string& what,
                 double tolerance = 2e-5) {
  const std::vector<graph::HostTensor> wanted = by_loops(function, inputs);
  for (const Tensors& found : {function(inputs), compile(function)(inputs)}) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].shape(), wanted[i].shape) << what << ", result " << i;
      ASSERT_EQ(found[i].dtype(), wanted[i].dtype) << what << ", result " << i;
      const graph::HostTensor ours = values_of(found[i]);
      for (std::int64_t k = 0; k < ours.count(); ++k) {
        const bool is_float = is_floating(ours.dtype);
        const double a = is_float ? ours.number(k) : static_cast<double>(ours.get(k).integer);
        const double b =
            is_float ? wanted[i].number(k) : static_cast<double>(wanted[i].get(k).integer);
        if (std::isnan(a) && std::isnan(b)) continue;
        if (a == b) continue;
        ASSERT_NEAR(a, b, tolerance * (1 + std::abs(b)))
            << what << ", element " << k << " of result " << i;
      }
    }
  }
}

Tensors factors_of_any(const Tensor& x) {
  const LuFactors lu = lu_factor(x);
  auto [factors, tau] = geqrf(x);
  auto [q, r] = qr(x);
  auto [whole, tall] = qr(x, true);
  return {lu.factors, lu.pivots, lu.rows, lu.sign, factors,    tau,
          q,          r,         whole,   tall,    svdvals(x), householder_product(factors, tau)};
}

TEST(HostMatrices, FactorsAreThoseOfLoops) {
  TILEWRIGHT_ON_THE_HOST_ONLY("such ops");
  Dice dice(1);
  for (auto [m, n] : {std::pair{1, 1}, {4, 4}, {7, 3}, {3, 6}, {13, 13}, {20, 11}})
    expect_same([](const Tensors& x) { return factors_of_any(x[0]); }, {dice.floats({2, m, n})},
                concat(m, " x ", n));
  // As they lie in memory.
  expect_same([](const Tensors& x) { return factors_of_any(turned(x[0]).slice(-1, 1, 4)); },
              {dice.floats({2, 5, 6})}, "turned");
  // With other types, and without a batch.
  for (DType dtype : {f64, bf16, f16})
    expect_same(
        [](const Tensors& x) -> Tensors {
          return {lu_factor(x[0]).pivots, determinant(x[0]), qr(x[0]).second};
        },
        {dice.floats({5, 5}).to(dtype)}, concat(dtype), 1e-2);
}

TEST(HostMatrices, EquationsHaveTheSolutionsOfLoops) {
  TILEWRIGHT_ON_THE_HOST_ONLY("such ops");
  Dice dice(2);
  for (std::int64_t n : {1, 2, 4, 9, 17, 33}) {
    const Tensor a = dice.floats({3, n, n}) + 2.0 * one(n), b = dice.floats({3, n, 2});
    expect_same(
        [n](const Tensors& x) -> Tensors {
          const Tensor &a = x[0], &b = x[1];
          auto [sign, log] = log_determinant(a);
          const Tensor definite = matmul(a, turned(a)) + one(n);
          return {solve(a, b),
                  solve(a, b.select(2, 0)),
                  solve(a.select(0, 1), b),  // one matrix for all
                  inverse(a),
                  determinant(a),
                  sign,
                  log,
                  cholesky(definite),
                  cholesky(definite, true),
                  solve_triangular(a, b),
                  solve_triangular(a, b, {.upper = true}),
                  solve_triangular(a * 0.1, b, {.unit_diagonal = true}),
                  solve_triangular(a * 0.1, b, {.upper = true, .unit_diagonal = true}),
                  eigvalsh(a),
                  eigvalsh(a, true)};
        },
        {a, b}, concat(n, " rows"), 1e-4);
  }
}

// No error: infinities and NaN where elements are undefined.
TEST(HostMatrices, SingularMatricesGiveWhatLoopsGive) {
  TILEWRIGHT_ON_THE_HOST_ONLY("such ops");
  const Tensor zero = zeros({2, 2}), low = Tensor::from(std::vector<float>{1, 2, 2, 4}, {2, 2});
  const Tensor no_root = Tensor::from(std::vector<float>{4, 2, 1, 2, -3, 5, 1, 5, 9}, {3, 3});
  expect_same(
      [](const Tensors& x) -> Tensors {
        const LuFactors lu = lu_factor(x[0]);
        auto [sign, log] = log_determinant(x[0]);
        return {lu.factors,        lu.pivots,         sign,           log,
                determinant(x[0]), determinant(x[1]), cholesky(x[2]), cholesky(x[2], true)};
      },
      {zero, low, no_root}, "singular");
  for (const Tensor& a : {zero, low}) {
    for (float value : inverse(a).to_vector<float>()) EXPECT_FALSE(std::isfinite(value));
    for (float value : solve(a, Tensor::from(std::vector<float>{1, 3}, {2})).to_vector<float>())
      EXPECT_FALSE(std::isfinite(value));
  }
}

TEST(HostMatrices, OfNothingThereIsNothing) {
  for (const Shape& shape : {Shape{0, 3, 3}, {2, 0, 0}, {0, 0}, {0, 4}, {4, 0}}) {
    const Tensor x = zeros(shape);
    const auto rank = x.rank();
    const std::int64_t m = x.size(rank - 2), n = x.size(rank - 1), k = std::min(m, n);
    const SingularValues parts = svd(x, true);
    EXPECT_EQ(parts.left.size(-1), m);
    EXPECT_EQ(parts.right.size(-2), n);
    EXPECT_EQ(svd(x).left.size(-1), k);
    EXPECT_EQ(qr(x).second.size(-2), k);
    EXPECT_EQ(qr(x, true).first.size(-1), m);
    if (x.rank() == 2 && m == 4)
      EXPECT_EQ(qr(x, true).first.to_vector<float>(), one(4).to_vector<float>());
    if (m != n) continue;
    EXPECT_EQ(inverse(x).shape(), shape);
    EXPECT_EQ(eigh(x).second.shape(), shape);
    EXPECT_EQ(eig({x, {}}).second.shape(), shape);
    for (float value : determinant(x).to_vector<float>()) EXPECT_EQ(value, 1);
  }
}

TEST(HostMatrices, WhatIsNotFiniteEndsAndIsSeen) {
  Dice dice(3);
  for (float bad : {std::numeric_limits<float>::infinity(), std::nanf("")})
    for (std::int64_t n : {1, 3, 40}) {
      Tensor x = dice.floats({n, n});
      x = where(one(n) * arange(0, n) == static_cast<double>(n - 1), bad, x);
      auto [values, vectors] = eigh(x);
      const SingularValues parts = svd(x);
      auto [found, of_found] = eig({x, {}});
      for (const Tensor& each : {values, vectors, parts.left, parts.values, parts.right,
                                 found.real(), found.imag(), of_found.real()})
        for (float value : each.to_vector<float>()) ASSERT_TRUE(std::isnan(value)) << n;
      qr(x), lu_factor(x), cholesky(x), inverse(x), determinant(x);  // end
    }
}

// Left and right are orthonormal also where values are zero.
TEST(HostMatrices, SingularVectorsAreOrthonormal) {
  Dice dice(4);
  for (auto [m, n] :
       {std::pair{1, 1}, {6, 4}, {3, 7}, {9, 9}, {40, 25}, {70, 30}, {5, 41}, {66, 66}})
    for (bool is_low : {false, true})
      for (bool complete : {false, true}) {
        Tensor x = dice.floats({2, m, n}).to(f64);
        if (is_low) x = matmul(x.slice(-1, 0, 1), turned(x.slice(-1, 0, 1))).slice(-1, 0, n);
        if (x.size(-1) != n) continue;
        const SingularValues parts = svd(x, complete);
        for (const Tensor& each : {parts.left, parts.right}) {
          const Tensor off = matmul(turned(each), each) - one(each.size(-1)).to(f64);
          for (double value : off.to_vector<double>()) ASSERT_NEAR(value, 0, 1e-12);
        }
        const std::int64_t k = parts.values.size(-1);
        const Tensor again = matmul(parts.left.slice(-1, 0, k) * parts.values.unsqueeze(1),
                                    turned(parts.right.slice(-1, 0, k)));
        for (double value : (again - x).to_vector<double>()) ASSERT_NEAR(value, 0, 1e-12);
      }
}

// PyTorch's values (LAPACK's), or those of formulas.
TEST(HostMatrices, ValuesOfGradedAndDeficientMatricesAreThoseOfLapack) {
  TILEWRIGHT_ON_THE_HOST_ONLY("such ops");
  auto expect_values = [](const Tensor& x, const std::vector<double>& wanted) {
    const std::vector<double> alone = svdvals(x).to_vector<double>(),
                              with_vectors = svd(x).values.to_vector<double>();
    for (const auto& found : {alone, with_vectors}) {
      ASSERT_EQ(found.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-14) << i;
    }
  };
  const Tensor row = arange(0, 8).to(f64);
  expect_values(1.0 / (row.unsqueeze(1) + row + 1.0),
                {1.6959389969219496, 0.2981252113169307, 0.026212843578119045,
                 0.0014676881177418349, 5.4369433697501083e-05, 1.294332091869623e-06,
                 1.7988737454588834e-08, 1.1115390019840095e-10});
  // Zeros on the diagonal of what is bidiagonal already, and nothing but equal values.
  const Tensor shift = (arange(0, 6).unsqueeze(1) + 1.0 == arange(0, 6).to(f32)).to(f64);
  expect_values(shift, {1, 1, 1, 1, 1, 0});
  expect_values(one(5).to(f64) * 3.0, {3, 3, 3, 3, 3});
  expect_values(zeros({3, 4}, f64), {0, 0, 0});
  expect_values(zeros({3, 4}, f64) + 0.5, {std::sqrt(3.0), 0, 0});
  // A path's adjacency: 2 cos(pi k / 7).
  auto [values, vectors] = eigh(shift + turned(shift));
  const std::vector<double> found = values.to_vector<double>();
  for (std::size_t k = 0; k < 6; ++k)
    EXPECT_NEAR(found[k], -2 * std::cos(std::numbers::pi * static_cast<double>(k + 1) / 7), 1e-14);
}

TEST(HostMatrices, OnlyTheHostIsLeftTheWork) {
  graph::Capture capture;
  const Tensor x = capture.placeholder(f32, {2, 8, 8});
  const graph::Graph captured = capture.finish({solve(x, x)}).graph;
  EXPECT_THAT(print(captured), HasSubstr("custom=solve"));
  for (const Device& device : {Device::cpu(), Device::emulated("sm_80")}) {
    const std::string text = print(graph::decompose(captured, device.target()));
    EXPECT_EQ(text.find("linalg_solve") != std::string::npos, device == Device::cpu()) << text;
    EXPECT_EQ(text.find("scan") != std::string::npos, device != Device::cpu()) << text;
  }
}

TEST(HostMatrices, OfWhatAreNoSuchMatricesIsRefused) {
  EXPECT_THAT(error_of([] {
                eig({ones({2, 3}), {}});
              }),
              HasSubstr("[eig] the matrices are [2, 3]; they must be square"));
  EXPECT_THAT(error_of([] { svdvals(ones({3})); }), HasSubstr("[svdvals] the operand is f32 [3]"));
  EXPECT_THAT(error_of([] {
                solve({ones({2, 2}), ones({2, 2})}, {ones({3, 1}), ones({3, 1})});
              }),
              HasSubstr("[solve] the matrices are [2x2] and [3x1]; square ones, and others"));
}

}  // namespace
}  // namespace tilewright::host_matrices_test
