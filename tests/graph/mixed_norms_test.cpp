// Normalisations with parameters of other dtypes and shapes, at once and compiled.
#include "graph/functions/normalising/mixed_norms.h"

#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::mixed_norms_test {
namespace {

using namespace testing_loops;

TEST(MixedNorms, DivideByTheRootOfTheMeanSquare) {
  const Tensor x = Tensor::from(Floats{3, 4}, {1, 2}), weight = Tensor::from(Floats{1, 2}, {2});
  auto both = [](const Tensors& t) {
    const RmsNormResult y = mixed_rms_norm(t[0], 1, t[1], {.eps = 0});
    return Tensors{y.output, y.rstd};
  };
  expect_at_once_and_compiled(both, {x, weight}, [](const Tensors& got) {
    expect_close(got[0], {1, 2}, {0.8485281F, 2.2627417F}, 1e-6F);
    expect_close(got[1], {1, 1}, {0.2828427F}, 1e-6F);
  });
}

TEST(MixedNorms, HaveTheDtypeOfTheWeightWhereThatIsAsked) {
  const Tensor x = Tensor::from(Floats{3, 4}, {1, 2}).to(f16), weight = ones({2});
  EXPECT_EQ(mixed_rms_norm(x, 1, weight).output.dtype(), f16);
  const Tensor y =
      mixed_rms_norm(x, 1, weight, {.computed_in = f64, .has_dtype_of_weight = true}).output;
  EXPECT_EQ(y.dtype(), f32);
  // Rounded to f16 in between.
  EXPECT_EQ(y.to_vector<float>(), y.to(f16).to(f32).to_vector<float>());
}

TEST(MixedNorms, OfLayersTakeParametersThatBroadcast) {
  const Tensor x = Tensor::from(Floats{1, 3, 5, 5}, {2, 2});
  auto all = [](const Tensors& t) {
    const NormResult y = mixed_layer_norm(t[0], 1, full({1}, 2.0), full({2, 1}, 1.0), 1);
    return Tensors{y.output, y.mean, y.rstd};
  };
  expect_at_once_and_compiled(all, {x}, [](const Tensors& got) {
    // The variance 1 and eps 1 give 1 / sqrt(2).
    expect_close(got[0], {2, 2}, {-0.4142136F, 2.4142136F, 1, 1}, 1e-6F);
    expect_close(got[1], {2, 1}, {2, 5}, 1e-6F);
    expect_close(got[2], {2, 1}, {0.7071068F, 1}, 1e-6F);
  });
}

TEST(MixedNorms, OfBatchesMoveRunningStatisticsByTheVarianceOverTheCount) {
  const Tensor x = Tensor::from(Floats{1, 3}, {2, 1});
  auto all = [](const Tensors& t) {
    const BatchNormResult y = mixed_batch_norm(t[0], full({1}, 2.0), full({1}, 1.0), zeros({1}),
                                               full({1}, 5.0), {.kept = 0.75, .eps = 0});
    return Tensors{y.output, y.running_mean, y.running_variance};
  };
  expect_at_once_and_compiled(all, {x}, [](const Tensors& got) {
    expect_close(got[0], {2, 1}, {-1, 3}, 1e-6F);
    expect_close(got[1], {1}, {0.5F}, 1e-6F);
    expect_close(got[2], {1}, {4}, 1e-6F);
  });
}

TEST(MixedNorms, CentreScaleAndKeepZeros) {
  const Tensor x = Tensor::from(Floats{3, 4, 0, 0}, {2, 2});
  expect_near([](const Tensors& t) { return Tensors{normalize_or_zero(t[0], 2, 1)}; }, {x}, {2, 2},
              {0.6F, 0.8F, 0, 0});
  expect_near([](const Tensors& t) { return Tensors{mean_variance_norm(t[0], {0})}; }, {x}, {2, 2},
              {1, 1, -1, -1});
}

TEST(MixedNorms, SayWhatDoesNotFit) {
  const Tensor x = ones({2, 2});
  expect_contains(error_of([&] { mixed_rms_norm(x.to(i64), 1, x); }), "[rms_norm] x is i64");
  expect_contains(error_of([&] { mixed_layer_norm(x, 2, x); }), "the axis must be one of x");
  expect_contains(error_of([&] { mixed_batch_norm(ones({2}), x, x, x, x); }),
                  "[batch_norm] x is 2");
}

}  // namespace
}  // namespace tilewright::mixed_norms_test
