// Functions with a rule for their derivative: the nodes that have the rules, their text, and rules
// that need other tests than the points of special_points_test.cpp.
#include "graph/functions/differentiating/ruled_function.h"

#include <gmock/gmock.h>

#include <cmath>

#include "graph/compile/compile.h"
#include "graph/differentiating/check_gradients.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/creation.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/linear_algebra/complex_matrices.h"
#include "graph/functions/linear_algebra/factored_solving.h"
#include "graph/functions/linear_algebra/reflections.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/linear_algebra/spectra.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/special.h"
#include "graph/functions/quantisation/qparams.h"
#include "graph/functions/reducing/norms.h"
#include "graph/ir/text.h"
#include "graph/tensor/capture.h"

namespace tilewright::ruled_functions_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Doubles = std::vector<double>;
using Function = std::function<Tensor(const Tensor&)>;
using Tensors = std::vector<Tensor>;

Tensor vector(const Doubles& elements) { return Tensor::from(elements); }
Function total(Function f) {
  return [f = std::move(f)](const Tensor& x) { return sum(f(x)); };
}
Doubles values(const Tensor& x) { return x.to(f64).to_vector<double>(); }
void expect_values(const Tensor& x, const Doubles& wanted, double tolerance = 1e-12) {
  const Doubles got = values(x);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(std::abs(got[i] - wanted[i]) <= tolerance ||
                (std::isnan(got[i]) && std::isnan(wanted[i])))
        << i << ": " << got[i] << ", not " << wanted[i];
}
void expect_gradient(const Function& f, const Tensor& x, const Doubles& wanted) {
  expect_values(grad(total(f))(x), wanted);
  expect_values(compile(grad(total(f)))(x), wanted);
}

graph::Graph captured(const Function& f) {
  graph::Capture capture;
  const Tensor x = capture.placeholder(f64, {3});
  return capture.finish({f(x)}).graph;
}

TEST(RuledFunctions, AreNodesOnlyWhereDerivativesAreTaken) {
  auto f = [](const Tensor& x) { return sum(atan2(x, 1 + x)); };
  EXPECT_THAT(print(captured(f)), Not(HasSubstr("custom_formula")));
  EXPECT_THAT(print(captured(grad(f))), HasSubstr("with_rule(rule=atan2, numbers="));
}

TEST(RuledFunctions, ReadBackFromTheirText) {
  const graph::Graph graph = captured(grad([](const Tensor& x) {
    return sum(grad([](const Tensor& y) { return sum(pow(clamp(y, 0.25, 8), 2.5)); })(x));
  }));
  const std::string text = print(graph);
  EXPECT_THAT(text, HasSubstr("with_rule(rule=clamp, numbers=0.25 8, body=<"));
  EXPECT_EQ(print(graph::parse(text)), text);
}

TEST(RuledFunctions, NamesWithoutARuleAreErrorsInText) {
  EXPECT_EQ(graph::rule_named("sqrt of something"), nullptr);
  EXPECT_THROW(graph::function_with_rule_from_text("rule=no rule, numbers=, body=<>"), Error);
}

// Slopes are computed in f32, and cotangents have the operands' dtypes.
TEST(RuledFunctions, TakeFloatsOf16Bits) {
  for (DType dtype : {bf16, f16}) {
    const Tensor slope =
        grad(total([](const Tensor& x) { return erfc(x); }))(vector({0}).to(dtype));
    EXPECT_EQ(slope.dtype(), dtype);
    expect_values(slope, {-2 / std::sqrt(M_PI)}, 5e-3);
  }
}

// Elements of a branch that is not taken have a gradient of 0, whatever the slope is.
TEST(RuledFunctions, NothingComesFromABranchThatIsNotTaken) {
  expect_gradient([](const Tensor& x) { return where(x > 1, acosh(x), x * 0); },
                  vector({1, 0.5, 2}), {0, 0, 1 / std::sqrt(3.0)});
}

TEST(RuledFunctions, FakeQuantizationIsPassedStraightThroughWithinItsRange) {
  auto f = [](const Tensor& x) {
    return fake_quantize_per_tensor_affine(x, 0.1, 0, {-10, 10}) * vector({2, 2, 2}).to(f32);
  };
  expect_gradient(f, vector({0.53, 7, -1}).to(f32), {2, 0, 2});
}

TEST(RuledFunctions, DeterminantsOfSingularMatricesHaveDerivatives) {
  const Tensor x = vector({1, 2, 2, 4, 0, 0, 0, 0, 3, 1, 2, 2}).reshape({3, 2, 2});
  auto f = [](const Tensor& t) { return det(t); };
  expect_gradient(f, x, {4, -2, -2, 1, 0, 0, 0, 0, 2, -2, -1, 3});
  expect_gradient(grad(total(f)), x, {1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1, 1});
}
TEST(RuledFunctions, CofactorsOfAMatrixOfRankTwo) {
  const Tensor x = vector({1, 2, 3, 2, 4, 6, 1, 1, 1}).reshape({3, 3});
  EXPECT_EQ(det(x).item<double>(), 0);
  expect_gradient([](const Tensor& t) { return det(t); }, x, {-2, 4, -2, 1, -2, 1, 0, 0, 0});
}

// The sum of squared values is that of the elements. Projections on the first left and right
// vectors do not depend on signs; they are compared with central differences.
TEST(RuledFunctions, SingularValuesAndVectorsHaveDerivatives) {
  const Tensor x = vector({1, 2, 0, -1, 3, 1}).reshape({3, 2});
  auto squares = [](const Tensor& t) { return pow(svdvals(t), 2); };
  expect_values(grad(total(squares))(x), values(x * 2));
  expect_values(grad(total(grad(total(squares))))(x), {2, 2, 2, 2, 2, 2}, 1e-10);
  auto projections = [](const Tensor& t) {
    const SingularValues parts = svd(t);
    const Tensor u = parts.left.slice(1, 0, 1), v = parts.right.slice(1, 0, 1);
    return sum(matmul(u, u.transpose(0, 1)) * arange(0, 9, 1, f64).reshape({3, 3})) +
           sum(matmul(v, v.transpose(0, 1)) * arange(0, 4, 1, f64).reshape({2, 2}));
  };
  const Tensor slope = grad(projections)(x);
  for (int i = 0; i < 6; ++i) {
    Doubles step(6, 0.0);
    step[static_cast<std::size_t>(i)] = 1e-6;
    const Tensor by = vector(step).reshape({3, 2});
    const double difference = (projections(x + by) - projections(x - by)).item<double>() / 2e-6;
    EXPECT_NEAR(values(slope)[static_cast<std::size_t>(i)], difference, 1e-7);
  }
}

// Cubes of a clamped number, and a power whose base is at the border of its domain.
TEST(RuledFunctions, RulesHaveDerivativesThemselves) {
  auto third = [](const Function& f) { return grad(total(grad(total(grad(total(f)))))); };
  expect_values(third([](const Tensor& x) { return pow(clamp(x, -1, 1), 3); })(vector({0.5, 2})),
                {6, 0});
  expect_values(third([](const Tensor& x) { return pow(x, x); })(vector({1})), {3});
  expect_values(third([](const Tensor& x) { return sinh(x); })(vector({0})), {1});
}

Tensor waves(const Shape& shape, double step) {
  Doubles elements(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = std::sin(step * static_cast<double>(i + 1));
  return Tensor::from(elements, shape);
}

// The output, the statistics and the running ones, each by all operands that it depends on.
TEST(RuledFunctions, BatchNormDifferentiatesItsStatistics) {
  const auto all = [](const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                      const Tensor& variance) {
    const BatchNormResult r =
        batch_norm_training(x, weight, bias, mean, variance, {.momentum = 0.3, .eps = 1e-3});
    return Tensors{r.output, r.mean, r.rstd, r.running_mean, r.running_variance};
  };
  const Tensor x = waves({3, 2, 4}, 0.7), weight = waves({2}, 1.1), bias = waves({2}, 0.4),
               mean = waves({2}, 0.9), variance = square(waves({2}, 0.2));
  check_gradients(all, std::tuple(x, weight, bias, mean, variance));
  check_gradients(
      grad([&](const Tensor& t) {
        return sum(square(all(t, weight, bias, mean, variance)[0]) * waves({3, 2, 4}, 1.9));
      }),
      x);
}

// The gradient of a convolution's weight is one of x and of the gradient, and has both.
TEST(RuledFunctions, WeightsOfConvolutionsHaveSecondDerivatives) {
  const auto of_weight = [](const Tensor& x, const Tensor& weight) {
    auto loss = [&](const Tensor& w) {
      return sum(square(conv2d(
          x, w, {}, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2})));
    };
    return grad(loss)(weight);
  };
  check_gradients(of_weight, std::tuple(waves({2, 4, 6, 7}, 0.3), waves({2, 2, 3, 2}, 0.8)));
}

// The loss is the sum of L and of the square of U, weighed by sines; gradients by PyTorch 2.15, for
// matrices that are square, wider, higher, and two of them.
TEST(RuledFunctions, LuFactorsHavePyTorchsGradients) {
  const auto loss = [](const Tensor& a) {
    const LuParts parts = lu(a);
    return sum(parts.lower * waves(parts.lower.shape(), 1.1)) +
           sum(square(parts.upper) * waves(parts.upper.shape(), 0.4));
  };
  const Doubles square = {-0.330314302699263,  2.052980167122849,  1.1810266257427673,
                          -1.6634292546648408, 1.0234537111953181, 0,
                          -1.548946772963421,  0.7894706343641322, 0.8057698442012989};
  Doubles two = square;
  two.insert(two.end(), {-0.4051019736530208, -0.9813139846113281, -0.49018338221206154,
                         1.1330544386006454, -0.25984069083702804, 0, 1.5795264287069781,
                         0.4333432550367903, -0.39588037476644883});
  expect_values(grad(loss)(waves({3, 3}, 0.7)), square);
  expect_values(grad(loss)(waves({2, 3, 3}, 0.7)), two);
  expect_values(
      grad(loss)(waves({2, 4}, 0.7)),
      {0.980993242119512, 1.1674216440123328, 1.422152039961313, 0.6982250830314363,
       0.880153764460248, -0.45254432270250755, -0.34331336876298607, 0.052403882111764596});
  expect_values(grad(loss)(waves({4, 2}, 0.7)),
                {-0.4241966709193772, -0.9051881914616358, 1.0279275873735094, -0.4821256185169988,
                 1.399712743321965, -1.928512730468764, -0.6399264669972315, -1.2342754964242493});
  // Far from where other rows would be taken.
  check_gradients(grad(loss), waves({3, 3}, 0.7) + eye(3, {}, f64) * 3);
}

// Products of reflections, whose factors may be any numbers.
TEST(RuledFunctions, ReflectionsHaveDerivativesByAllOperands) {
  const Tensor vectors = waves({2, 4, 3}, 0.3), tau = waves({2, 3}, 0.8);
  for (const bool left : {false, true})
    for (const bool transpose : {false, true}) {
      const auto product = [=](const Tensor& v, const Tensor& t, const Tensor& x) {
        return ormqr(v, t, x, {.left = left, .transpose = transpose});
      };
      const Tensor x = waves(left ? Shape{2, 4, 2} : Shape{2, 2, 4}, 1.3);
      check_gradients(product, std::tuple(vectors, tau, x));
    }
  const auto of_vectors = grad([&](const Tensor& v, const Tensor& t) {
    return sum(square(householder_product(v, t)) * waves({2, 4, 3}, 1.7));
  });
  check_gradients(of_vectors, std::tuple(vectors, tau));
}

// One half of the matrix is read, and the gradient is symmetric, as PyTorch's.
TEST(RuledFunctions, SymmetricSpectraHaveSymmetricGradients) {
  const Tensor slope = grad([](const Tensor& a) {
    const auto [values, vectors] = eigh(a);
    return sum(square(vectors) * waves({3, 3}, 0.6)) + sum(values * waves({3}, 1.2));
  })(waves({3, 3}, 0.7));
  expect_values(slope - slope.transpose(0, 1), Doubles(9, 0));
  EXPECT_GT(sum(abs(tril(slope, -1))).item<double>(), 0.1);
}

// The phases of vectors are free: a function of them may not depend on these.
TEST(RuledFunctions, SpectraHaveDerivatives) {
  const auto of_values = [](const ComplexTensor& values) {
    return sum(values.real() * waves({2, 4}, 0.4)) +
           sum(square(values.imag()) * waves({2, 4}, 1.1));
  };
  const auto by_both = [&](const Tensor& a) {
    const auto [values, vectors] = eig(ComplexTensor(a));
    return of_values(values) + sum(square(abs(vectors)) * waves({2, 4, 4}, 0.6));
  };
  const auto by_values = [&](const Tensor& a) { return of_values(eigvals(ComplexTensor(a))); };
  const Tensor a = waves({2, 4, 4}, 0.7) + diag_embed(vector({-3, -1, 2, 4}));
  const auto by_parts = [&](const Tensor& real, const Tensor& imaginary) {
    const auto [values, vectors] = eig(ComplexTensor(real, imaginary));
    return of_values(values) + sum(square(abs(vectors)) * waves({2, 4, 4}, 0.6));
  };
  check_gradients(by_values, a);
  check_gradients(by_both, a);
  check_gradients(by_parts, std::tuple(a, waves({2, 4, 4}, 0.9)));
  check_gradients(grad(by_both), a);
}

}  // namespace
}  // namespace tilewright::ruled_functions_test
