// Programs whose derivatives public reports found wrong or refused in other compilers, rewritten:
// gradients compiled are those at once, and those are compared with differences. Steps whose rates
// and betas a schedule changes (pytorch#133898) are in tests/models/optimizers/optimizer_test.cpp.
#include <gtest/gtest.h>

#include <functional>

#include "graph/compile/compile.h"
#include "graph/differentiating/check_gradients.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/linear_cross_entropy.h"
#include "graph/functions/pooling/pooling.h"
#include "graph/functions/reducing/class_losses.h"
#include "graph/functions/resampling/resize.h"
#include "graph/functions/shaping/parts.h"
#include "tests/errors.h"
#include "tests/graph/derivatives/doubles.h"
#include "tests/graph/derivatives/gradient_cases.h"

namespace tilewright::reported_programs_test {
namespace {

using testing_doubles::Doubles;
using testing_doubles::values;
using testing_doubles::vector;
using testing_gradients::tensor_of;
using testing_gradients::Tensors;
using Loss = std::function<Tensor(const Tensors&)>;

// The gradients of the loss, by the compiled function; those at once are nearly the same.
Tensors gradients_of(const Loss& loss, const Tensors& inputs, double tolerance = 1e-9) {
  check_gradients(loss, inputs);
  const Tensors at_once = grad(loss)(inputs);
  auto compiled = compile([&](const Tensors& x) { return grad(loss)(x); }, {.fullgraph = true});
  for (int call = 0; call < 2; ++call) {
    const Tensors got = compiled(inputs);
    EXPECT_EQ(got.size(), at_once.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      testing_doubles::expect_values(got[i], values(at_once[i]), tolerance);
  }
  return compiled(inputs);
}

// pytorch#193061: the parts of one table shift and scale two norms, one after the other.
TEST(ReportedPrograms, NormsThatShareATableOfShiftsAndScales) {
  const Loss loss = [](const Tensors& t) {
    const Tensors parts = chunk(t[1], 4, 1);
    Tensor h = layer_norm(t[0]) * (1 + parts[1]) + parts[0];
    h = layer_norm(h) * (1 + parts[3]) + parts[2];
    return sum(h * t[2]);
  };
  for (const std::int64_t rows : {3, 200}) {
    const Tensor x = tensor_of({{2, rows, 32}}, 1), table = tensor_of({{1, 4, 32}}, 2);
    gradients_of(loss, {x, table, tensor_of({{2, rows, 32}}, 3)}, 1e-8);
  }
}

// pytorch#180164: the elements that a slice replaced have no gradient, the others have one.
TEST(ReportedPrograms, SumsBehindASliceScatter) {
  for (const int axis : {0, 1, 2})
    for (const std::int64_t start : {0, 2}) {
      Shape part{4, 13, 33};
      part[axis] = 2;
      const Tensors got = gradients_of(
          [&](const Tensors& t) {
            return sum(slice_scatter(t[0], t[1], axis, start, start + 2).sum(axis));
          },
          {tensor_of({{4, 13, 33}}, 1), tensor_of({part}, 2)});
      const Tensor kept =
          slice_scatter(full({4, 13, 33}, 1, f64), full(part, 0, f64), axis, start, start + 2);
      EXPECT_EQ(values(got[0]), values(kept));
      EXPECT_EQ(values(got[1]), values(full(part, 1, f64)));
    }
}

// pytorch#182012
TEST(ReportedPrograms, TheSumOfADiagonalScatter) {
  const Tensors got =
      gradients_of([](const Tensors& t) { return sum(diagonal_scatter(t[0], t[1], 1)); },
                   {tensor_of({{4, 4}}, 1), tensor_of({{3}}, 2)});
  EXPECT_EQ(values(got[0]), (Doubles{1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1}));
  EXPECT_EQ(values(got[1]), (Doubles{1, 1, 1}));
}

// pytorch#185509: the way of a resized image through a convolution and a pool, chosen by a mask.
TEST(ReportedPrograms, AResizedImageConvolvedAndPooled) {
  const Tensor mask = tensor_of({{1, 4, 6, 7}}, 7) > 0;
  gradients_of(
      [&](const Tensors& t) {
        const ResizeOptions linear{.method = ResizeMethod::linear};
        const Tensor resized = resize(t[0], {{2, 9, 1.5}, {3, 10, 1.25}}, linear);
        const Tensor y = resized.slice(2, 1, 7).slice(3, 1, 8);
        const Tensor convolved = conv2d(y, t[1], t[2], {.padding = {1, 1}});
        const Tensor pooled = max_pool2d(convolved, {3, 3}, {.stride = {1, 1}, .padding = {1, 1}});
        return sum(where(mask, convolved, pooled) * t[3]);
      },
      {tensor_of({{1, 3, 6, 8}}, 1), tensor_of({{4, 3, 3, 3}}, 2), tensor_of({{4}}, 3),
       tensor_of({{1, 4, 6, 7}}, 4)});
}

// pytorch#136662: writes to a copy's column through views, and the copy is read in between.
TEST(ReportedPrograms, ViewsThatAreWrittenInAGradient) {
  const Tensors got = gradients_of(
      [](const Tensors& t) {
        Tensor a = (t[0] * 2).contiguous();
        a.slice(1, 0, 1).copy_from(t[1]);
        const Tensor before = a.clone();
        Tensor column = a.slice(1, 0, 1);
        const Tensor kept = column.clone();
        column.copy_from(kept * 0);
        return sum(a * before) + sum(kept * kept);
      },
      {tensor_of({{2, 3}}, 1), tensor_of({{2, 1}}, 2)});
  const Doubles x = values(tensor_of({{2, 3}}, 1));
  testing_doubles::expect_values(got[0], {0, 8 * x[1], 8 * x[2], 0, 8 * x[4], 8 * x[5]});
  const Doubles y = values(tensor_of({{2, 1}}, 2));
  testing_doubles::expect_values(got[1], {2 * y[0], 2 * y[1]});
}

// pytorch#93363: results that are views of a value and of an argument, written afterwards.
TEST(ReportedPrograms, ViewsOfAValueAreResultsAndAreWritten) {
  auto f = compile(
      [](const Tensor& x) {
        Tensor value = x * 3;
        Tensor row = value.slice(0, 0, 1), same = value.reshape({4});
        row.copy_from(row * row);
        return std::vector<Tensor>{row, same, grad([](const Tensor& t) {
                                     Tensor inner = t * 3;
                                     Tensor part = inner.slice(0, 0, 1);
                                     part.copy_from(part * part);
                                     return sum(inner.reshape({4}));
                                   })(x)};
      },
      {.fullgraph = true});
  const std::vector<Tensor> got = f(Tensor::from(Doubles{1, 2, 3, 4}, {2, 2}));
  EXPECT_EQ(values(got[0]), (Doubles{9, 36}));
  EXPECT_EQ(values(got[1]), (Doubles{9, 36, 9, 12}));
  EXPECT_EQ(values(got[2]), (Doubles{18, 36, 3, 3}));
}

// pytorch#139789: a plan for arguments apart is not used for arguments that share memory, one of
// which the function writes. That is an Error here, and what the call would write stays as it was.
TEST(ReportedPrograms, ArgumentsThatOverlapAndAreWritten) {
  auto f = compile([](Tensor x, const Tensor& y) {
    x.copy_from(x * 2);
    return x + y;
  });
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(values(f(vector({1, 1, 1, 1}), vector({1, 1, 1, 1}))), (Doubles{3, 3, 3, 3}));
    const Tensor base = vector({1, 1, 1, 1, 1, 1, 1, 1});
    EXPECT_EQ(values(f(base.slice(0, 0, 4), base.slice(0, 2, 6))), (Doubles{4, 4, 3, 3}));
    EXPECT_EQ(values(base), (Doubles{2, 2, 2, 2, 1, 1, 1, 1}));
    EXPECT_EQ(values(f(base.slice(0, 0, 4), base.slice(0, 4, 8))), (Doubles{5, 5, 5, 5}));
    EXPECT_EQ(values(base), (Doubles{4, 4, 4, 4, 1, 1, 1, 1}));
  }
}

// pytorch#183603: the derivative of a compiled derivative, outside and inside of compile().
TEST(ReportedPrograms, DerivativesOfCompiledDerivatives) {
  auto f = [](const Tensor& x) { return sum(x * x * x * x); };
  auto first = compile([&](const Tensor& x) { return grad(f)(x); });
  const auto second = grad([&](const Tensor& x) { return sum(first(x)); });
  const Tensor x = vector({0.5, 1.5, 2.5, 3.5});
  EXPECT_EQ(values(second(x)), (Doubles{3, 27, 75, 147}));
  EXPECT_EQ(values(compile(second)(x)), (Doubles{3, 27, 75, 147}));
}

// pytorch#160016: the first NaN is the loss' own, and its line is named.
TEST(ReportedPrograms, TheLineOfALossThatIsNaN) {
  auto compiled = compile(
      [](const Tensor& x) {
        return value_and_grad([](const Tensor& t) {
          const Tensor loss = sum(log(t));
          return loss;
        })(x);
      },
      {.detect_nan = true});
  compiled(vector({1, 2}));
  const std::string error = error_of([&] { compiled(vector({1, -2})); });
  expect_contains(error, "detect_nan");
  expect_contains(error,
                  "made by log at reported_programs_test.cpp:" + std::to_string(__LINE__ - 9));
}

// Liger-Kernel#968: losses of rows weigh each row's gradient by its own cotangent, and ignored
// targets take nothing from the others.
TEST(ReportedPrograms, LossesOfAVocabularyForEachRow) {
  const Tensor targets = Tensor::from(std::vector<std::int64_t>{3, -100, 0, 14, 7, -100}, {6});
  const Loss chunks = [&](const Tensors& t) {
    return sum(linear_cross_entropy(t[0], t[1], targets, {.reduction = LossReduction::none}) *
               t[2]);
  };
  const Loss written_out = [&](const Tensors& t) {
    return sum(cross_entropy(matmul(t[0], t[1].transpose(0, 1)), targets, {},
                             {.reduction = LossReduction::none}) *
               t[2]);
  };
  const Tensors inputs{tensor_of({{6, 10}}, 1), tensor_of({{15, 10}}, 2), tensor_of({{6}}, 3)};
  const Tensors got = gradients_of(chunks, inputs), wanted = gradients_of(written_out, inputs);
  for (std::size_t i = 0; i < 3; ++i)
    testing_doubles::expect_values(got[i], values(wanted[i]), 1e-9);
  EXPECT_NE(values(sum(got[1] * got[1]))[0], 0);
}

// tinygrad#16571: two gradients of losses for each example in one function that is called again,
// behind a copy of a permuted image.
TEST(ReportedPrograms, TwoGradientsOfLossesForEachExample) {
  const Tensor targets = Tensor::from(std::vector<std::int64_t>{1, 0, 2}, {3});
  auto losses = [&](const Tensors& weights, const Tensor& image) {
    const Tensor planes = image.permute({0, 3, 1, 2}).contiguous();
    const Tensor features = relu(conv2d(planes, weights[0])).reshape({3, 4 * 9});
    return cross_entropy(matmul(features, weights[1]), targets, {},
                         {.reduction = LossReduction::none});
  };
  auto both = [&](const Tensors& weights, const Tensor& image) {
    Tensors all = grad([&](const Tensors& w) { return sum(losses(w, image)); })(weights);
    for (const Tensor& g :
         grad([&](const Tensors& w) { return sum(losses(w, image) * 0.5); })(weights))
      all.push_back(g);
    return all;
  };
  const Tensors weights{tensor_of({{4, 3, 3, 3}}, 1), tensor_of({{36, 3}}, 2)};
  auto compiled = compile(both, {.fullgraph = true});
  for (std::size_t call = 0; call < 4; ++call) {
    const Tensor image = tensor_of({{3, 5, 5, 3}}, 3 + call);
    const Tensors got = compiled(weights, image), wanted = both(weights, image);
    for (std::size_t i = 0; i < 4; ++i)
      testing_doubles::expect_values(got[i], values(wanted[i]), 1e-10);
    for (std::size_t i = 0; i < 2; ++i)
      testing_doubles::expect_values(got[i] * 0.5, values(got[i + 2]), 1e-10);
  }
}

}  // namespace
}  // namespace tilewright::reported_programs_test
