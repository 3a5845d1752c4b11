// Factors that the host computes equal those that loops of the graph compute; results that loops do
// not compute are checked by their definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/compile/compile.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/strided_parts.h"
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

namespace tilewright::host_matrices_test {
namespace {

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

Tensor turned(const Tensor& x) { return x.transpose(-2, -1); }
Tensor one(std::int64_t n) { return (arange(0, n).unsqueeze(1) == arange(0, n)).to(f32); }

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
  for (auto [m, n] : {std::pair{1, 1}, {6, 4}, {3, 7}, {9, 9}, {40, 25}})
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

// A complex matrix as a real one of twice the size.
Tensor twice(const ComplexTensor& z) {
  const int last = z.real().rank() - 1;
  return cat({cat({z.real(), -z.imag()}, last), cat({z.imag(), z.real()}, last)}, last - 1);
}
ComplexTensor product(const ComplexTensor& a, const ComplexTensor& b) {
  return {matmul(a.real(), b.real()) - matmul(a.imag(), b.imag()),
          matmul(a.real(), b.imag()) + matmul(a.imag(), b.real())};
}
ComplexTensor adjoint(const ComplexTensor& z) { return {turned(z.real()), -turned(z.imag())}; }
ComplexTensor times(const ComplexTensor& z, const Tensor& columns) {
  return {z.real() * columns.unsqueeze(-2), z.imag() * columns.unsqueeze(-2)};
}
void expect_equal(const ComplexTensor& a, const ComplexTensor& b, const std::string& what) {
  ASSERT_EQ(a.real().shape(), b.real().shape()) << what;
  for (const Tensor& difference : {a.real() - b.real(), a.imag() - b.imag()})
    for (double value : difference.to(f64).to_vector<double>())
      ASSERT_NEAR(value, 0, 1e-11) << what;
}
ComplexTensor complex_one(std::int64_t n, const Tensor& like) {
  const Tensor real = one(n).to(f64).expand({like.size(0), n, n});
  return {real, real * 0.0};
}
void expect_orthonormal(const ComplexTensor& z, const std::string& what) {
  expect_equal(product(adjoint(z), z), complex_one(z.real().size(-1), z.real()), what);
}
ComplexTensor random_parts(Dice& dice, const Shape& shape) {
  return {dice.floats(shape).to(f64), dice.floats(shape).to(f64)};
}

TEST(HostMatrices, ComplexEquationsAreRealOnesOfTwiceTheSize) {
  Dice dice(5);
  for (std::int64_t n : {1, 2, 5, 12, 20}) {
    const ComplexTensor a = random_parts(dice, {2, n, n}), b = random_parts(dice, {2, n, 3});
    const std::string what = concat(n, " rows");
    expect_equal(product(a, solve(a, b)), b, what);
    expect_equal(product(a, inverse(a)), complex_one(n, a.real()), what);
    // |det A|^2 is the real determinant.
    const ComplexTensor whole = determinant(a);
    const Tensor square = whole.real() * whole.real() + whole.imag() * whole.imag();
    const Tensor wanted = determinant(twice(a));
    for (double value : (square / wanted - 1.0).to_vector<double>()) ASSERT_NEAR(value, 0, 1e-9);
    const ComplexLogDeterminant log = log_determinant(a);
    const Tensor size = exp(log.log_magnitude);
    for (const Tensor& off :
         {log.direction.real() * size - whole.real(), log.direction.imag() * size - whole.imag()})
      for (double value : (off / size).to_vector<double>()) ASSERT_NEAR(value, 0, 1e-10);
    const ComplexTensor definite = [&] {
      ComplexTensor sum = product(a, adjoint(a));
      return ComplexTensor{sum.real() + one(n).to(f64), sum.imag()};
    }();
    const ComplexTensor low = cholesky(definite), high = cholesky(definite, true);
    expect_equal(product(low, adjoint(low)), definite, what);
    expect_equal(product(adjoint(high), high), definite, what);
    expect_equal(adjoint(low), high, what);
    expect_equal(product(low, solve_triangular(low, b)), b, what);
    expect_equal(product(high, solve_triangular(high, b, {.upper = true})), b, what);
    // One matrix for many right sides.
    const ComplexTensor first = {a.real().select(0, 0), a.imag().select(0, 0)};
    expect_equal(product({first.real().unsqueeze(0), first.imag().unsqueeze(0)}, solve(first, b)),
                 b, what);
  }
  // Of i the determinant of [[0, 1], [1, 0]] times it.
  const ComplexTensor swap = {zeros({2, 2}), Tensor::from(std::vector<float>{0, 1, 1, 0}, {2, 2})};
  EXPECT_EQ(determinant(swap).real().item<float>(), 1);
  const ComplexLuFactors lu = lu_factor(swap);
  EXPECT_EQ(lu.pivots.to_vector<std::int32_t>(), (std::vector<std::int32_t>{2, 2}));
  EXPECT_EQ(lu.rows.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0}));
}

TEST(HostMatrices, ComplexFactorsMultiplyToTheMatrix) {
  Dice dice(6);
  for (auto [m, n] : {std::pair{1, 1}, {4, 4}, {7, 3}, {3, 6}, {30, 20}}) {
    const ComplexTensor a = random_parts(dice, {2, m, n});
    const std::string what = concat(m, " x ", n);
    for (bool complete : {false, true}) {
      auto [q, r] = qr(a, complete);
      expect_equal(product(q, r), a, what);
      expect_orthonormal(q, what);
      for (double value : tril(r.real(), -1).to_vector<double>()) ASSERT_EQ(value, 0);
      const ComplexSingularValues parts = svd(a, complete);
      expect_orthonormal(parts.left, what);
      expect_orthonormal(parts.right, what);
      const std::int64_t k = std::min(m, n);
      auto first = [&](const ComplexTensor& z) {
        return ComplexTensor{z.real().slice(-1, 0, k), z.imag().slice(-1, 0, k)};
      };
      expect_equal(product(times(first(parts.left), parts.values), adjoint(first(parts.right))), a,
                   what);
      for (double value : (svdvals(a) - parts.values).to_vector<double>())
        ASSERT_NEAR(value, 0, 1e-12);
    }
    auto [factors, tau] = geqrf(a);
    auto [whole, tall] = qr(a, true);
    expect_equal(reflected(factors, tau, a, true), tall, what);
    expect_equal(reflected(factors, tau, tall), a, what);
    if (m >= n) expect_equal(householder_product(factors, tau), qr(a).first, what);
  }
  // LAPACK's signs: of (3i, 4) R is -5 and tau = (beta - alpha) / beta.
  const ComplexTensor column = {Tensor::from(std::vector<double>{3, 0}, {2, 1}),
                                Tensor::from(std::vector<double>{0, 4}, {2, 1})};
  auto [factors, tau] = geqrf(column);
  EXPECT_NEAR(factors.real().to_vector<double>()[0], -5, 1e-15);
  EXPECT_NEAR(tau.real().item<double>(), 1.6, 1e-15);
}

TEST(HostMatrices, HermitianMatricesAreTurnedToTheirRealValues) {
  Dice dice(7);
  for (std::int64_t n : {1, 2, 5, 16, 33}) {
    const ComplexTensor half = random_parts(dice, {2, n, n});
    const ComplexTensor a = {half.real() + turned(half.real()), half.imag() - turned(half.imag())};
    for (bool upper : {false, true}) {
      auto keep = [&](const Tensor& x) {
        return upper ? triu(x) : tril(x);
      };  // the half that is read
      const ComplexTensor given = {keep(a.real()), keep(a.imag())};
      auto [values, vectors] = eigh(given, upper);
      expect_equal(product(a, vectors), times(vectors, values), concat(n));
      expect_orthonormal(vectors, concat(n));
      for (double value : (eigvalsh(given, upper) - values).to_vector<double>())
        ASSERT_NEAR(value, 0, 1e-12);
    }
  }
}

TEST(HostMatrices, VectorsOfAnyMatrixAreOnlyScaledByIt) {
  Dice dice(8);
  for (std::int64_t n : {1, 2, 5, 16, 33})
    for (bool is_real : {true, false}) {
      const ComplexTensor drawn = random_parts(dice, {3, n, n});
      const ComplexTensor a = {drawn.real(), is_real ? drawn.imag() * 0.0 : drawn.imag()};
      const ComplexTensor given = {drawn.real(), is_real ? Tensor() : drawn.imag()};
      auto [values, vectors] = eig(given);
      const ComplexTensor scaled = {
          vectors.real() * values.real().unsqueeze(1) - vectors.imag() * values.imag().unsqueeze(1),
          vectors.real() * values.imag().unsqueeze(1) +
              vectors.imag() * values.real().unsqueeze(1)};
      expect_equal(product(a, vectors), scaled, concat(n));
      const Tensor length =
          sum(vectors.real() * vectors.real() + vectors.imag() * vectors.imag(), {1});
      for (double value : (length - 1.0).to_vector<double>()) ASSERT_NEAR(value, 0, 1e-13);
      const ComplexTensor alone = eigvals(given);
      // Their sum is the trace.
      const Tensor trace = sum(diagonal(a.real(), 0, 1, 2), {1});
      for (double value : (sum(alone.real(), {1}) - trace).to_vector<double>())
        ASSERT_NEAR(value, 0, 1e-12);
    }
  // A quarter turn has the values i and -i, in this order.
  const Tensor turn = Tensor::from(std::vector<double>{0, -1, 1, 0}, {2, 2});
  auto [values, vectors] = eig({turn, {}});
  EXPECT_EQ(values.real().to_vector<double>(), (std::vector<double>{0, 0}));
  EXPECT_EQ(values.imag().to_vector<double>(), (std::vector<double>{1, -1}));
  // Rows and columns of very different sizes: values 1 and 3.
  const Tensor uneven = Tensor::from(std::vector<double>{2, 1e12, 1e-12, 2}, {2, 2});
  std::vector<double> found = eigvals({uneven, {}}).real().to_vector<double>();
  std::ranges::sort(found);
  EXPECT_NEAR(found[0], 1, 1e-14);
  EXPECT_NEAR(found[1], 3, 1e-14);
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
