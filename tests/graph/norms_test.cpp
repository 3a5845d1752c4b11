// Normalisations against loops in double, eager and compiled.
#include "graph/functions/reducing/norms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "graph/compile/compile.h"
#include "tests/errors.h"

namespace tilewright::norms_test {
namespace {

using Floats = std::vector<float>;

Floats waves(std::int64_t count, float shift = 0) {
  Floats x;
  for (std::int64_t i = 0; i < count; ++i)
    x.push_back(3 * std::sin(static_cast<float>(i * i % 97) + shift) + 2);
  return x;
}
// [2, 4, 3, 2]
Tensor images() { return Tensor::from(waves(48), {2, 4, 3, 2}); }
Tensor weights() { return Tensor::from(Floats{0.5F, -1, 2, 3}, {4}); }
Tensor biases() { return Tensor::from(Floats{1, 0, -2, 0.25F}, {4}); }

struct Statistics {
  double mean, variance;
};
// Statistics of the elements that belong to the group.
Statistics statistics(const Floats& x, std::size_t group,
                      const std::function<std::size_t(std::size_t)>& group_of) {
  double count = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (group_of(i) == group) count += 1, sum += x[i];
  for (std::size_t i = 0; i < x.size(); ++i)
    if (group_of(i) == group) squares += (x[i] - sum / count) * (x[i] - sum / count);
  return {sum / count, squares / count};
}

void expect_near(const Tensor& y, const std::vector<double>& wanted, double tolerance = 1e-5) {
  Floats got = y.to(f32).to_vector<float>();
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << i;
}

// x normalised within groups, with a weight and bias a channel.
std::vector<double> normalised(const std::function<std::size_t(std::size_t)>& group_of) {
  const Floats x = images().to_vector<float>(), w = weights().to_vector<float>(),
               b = biases().to_vector<float>();
  std::vector<double> result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto [mean, variance] = statistics(x, group_of(i), group_of);
    std::size_t channel = i / 6 % 4;
    result.push_back((x[i] - mean) / std::sqrt(variance + 1e-5) * w[channel] + b[channel]);
  }
  return result;
}

TEST(Norms, OfGroupsInstancesAndBatches) {
  auto group = [](const Tensor& x) { return group_norm(x, 2, weights(), biases()); };
  auto instance = [](const Tensor& x) { return instance_norm(x, weights(), biases()); };
  auto batch = [](const Tensor& x) { return batch_norm_training(x, weights(), biases()).output; };
  auto groups = normalised([](std::size_t i) { return i / 12; });
  auto instances = normalised([](std::size_t i) { return i / 6; });
  auto batches = normalised([](std::size_t i) { return i / 6 % 4; });
  expect_near(group(images()), groups);
  expect_near(compile(group)(images()), groups);
  expect_near(instance(images()), instances);
  expect_near(compile(instance)(images()), instances);
  expect_near(batch(images()), batches);
  expect_near(compile(batch)(images()), batches);
}

TEST(Norms, GiveTheirStatistics) {
  NormResult groups = native_group_norm(images(), 2);
  EXPECT_EQ(groups.mean.shape(), (Shape{2, 2}));
  const Floats x = images().to_vector<float>();
  auto group_of = [](std::size_t i) { return i / 12; };
  std::vector<double> means, roots;
  for (std::size_t group = 0; group < 4; ++group) {
    auto [mean, variance] = statistics(x, group, group_of);
    means.push_back(mean);
    roots.push_back(1 / std::sqrt(variance + 1e-5));
  }
  expect_near(groups.mean, means);
  expect_near(groups.rstd, roots);
  NormResult layers = native_layer_norm(images().reshape({2, 2, 12}).to(bf16), {12});
  EXPECT_EQ(layers.mean.shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(layers.mean.dtype(), bf16);
  EXPECT_EQ(native_layer_norm(images().to(bf16), {2}, ones({2})).mean.dtype(), f32);
  EXPECT_EQ(layers.output.dtype(), bf16);
  expect_near(layers.mean, means, 0.02);
}

TEST(Norms, OfLayersOverSeveralAxes) {
  Tensor x = images(), w = Tensor::from(waves(24, 1), {4, 3, 2}),
         b = Tensor::from(waves(24, 2), {4, 3, 2});
  const Floats all = x.to_vector<float>(), scale = w.to_vector<float>(),
               shift = b.to_vector<float>();
  auto wanted = [&](bool has_weight, bool has_bias) {
    std::vector<double> result;
    for (std::size_t i = 0; i < 48; ++i) {
      auto [mean, variance] = statistics(all, i / 24, [](std::size_t k) { return k / 24; });
      double y = (all[i] - mean) / std::sqrt(variance + 1e-5);
      result.push_back(y * (has_weight ? scale[i % 24] : 1) + (has_bias ? shift[i % 24] : 0));
    }
    return result;
  };
  auto both = [&](const Tensor& t) { return layer_norm(t, {4, 3, 2}, w, b); };
  expect_near(both(x), wanted(true, true));
  expect_near(compile(both)(x), wanted(true, true));
  expect_near(layer_norm(x, {4, 3, 2}), wanted(false, false));
  expect_near(layer_norm(x, {4, 3, 2}, {}, b), wanted(false, true));
  expect_near(native_layer_norm(x, {4, 3, 2}, w, b).output, wanted(true, true));
  expect_near(layer_norm(x.to(bf16), {4, 3, 2}, w, b), wanted(true, true), 0.1);
  expect_contains(error_of([&] { layer_norm(x, {3, 4}); }), "the normalized shape is 3x4");
  expect_contains(error_of([&] { layer_norm(x, {3, 2}, w); }), "[layer_norm] the weight is 4x3x2");
}

TEST(Norms, OfRootMeanSquares) {
  Tensor x = images(), w = Tensor::from(waves(6, 1), {3, 2});
  const Floats all = x.to_vector<float>(), scale = w.to_vector<float>();
  std::vector<double> wanted;
  for (std::size_t i = 0; i < 48; ++i) {
    double squares = 0;
    for (std::size_t k = i / 6 * 6; k < i / 6 * 6 + 6; ++k) squares += double{all[k]} * all[k];
    wanted.push_back(all[i] / std::sqrt(squares / 6 + 0x1p-23) * scale[i % 6]);
  }
  auto function = [&](const Tensor& t) { return rms_norm(t, {3, 2}, w); };
  expect_near(function(x), wanted);
  expect_near(compile(function)(x), wanted);
  expect_near(rms_norm(x.to(bf16), {3, 2}, w, 1e-7), wanted, 0.1);
}

TEST(Norms, OfBatchesMoveTheRunningStatistics) {
  Tensor mean = zeros({4}), variance = ones({4});
  BatchNormResult result =
      batch_norm_training(images(), {}, {}, mean, variance, {.momentum = 0.25});
  const Floats x = images().to_vector<float>();
  std::vector<double> means, variances;
  for (std::size_t channel = 0; channel < 4; ++channel) {
    auto s = statistics(x, channel, [](std::size_t i) { return i / 6 % 4; });
    means.push_back(0.25 * s.mean);
    variances.push_back(0.75 + 0.25 * s.variance * 12 / 11);
  }
  expect_near(result.running_mean, means);
  expect_near(result.running_variance, variances);
  expect_near(mean, {0, 0, 0, 0});
  batch_norm(images(), mean, variance, {}, {}, true, {.momentum = 0.25});
  expect_near(mean, means);
  expect_near(variance, variances);
}

TEST(Norms, OfBatchesByKnownStatistics) {
  Tensor mean = Tensor::from(Floats{1, 2, 3, 4}, {4}),
         variance = Tensor::from(Floats{1, 4, 9, 0.25F}, {4});
  auto function = [&](const Tensor& x) {
    return batch_norm(x, mean, variance, weights(), biases());
  };
  const Floats x = images().to_vector<float>(), m = mean.to_vector<float>(),
               v = variance.to_vector<float>(), w = weights().to_vector<float>(),
               b = biases().to_vector<float>();
  std::vector<double> wanted;
  for (std::size_t i = 0; i < 48; ++i) {
    std::size_t c = i / 6 % 4;
    wanted.push_back((x[i] - m[c]) / std::sqrt(v[c] + 1e-5) * w[c] + b[c]);
  }
  expect_near(function(images()), wanted);
  expect_near(compile(function)(images()), wanted);
  expect_contains(error_of([&] { batch_norm(images().slice(1, 0, 3), mean, variance); }),
                  "[batch_norm] the mean is 4");
  expect_contains(error_of([&] { instance_norm(mean); }),
                  "[instance_norm] the operand has shape 4");
  expect_contains(error_of([&] { group_norm(images().to(i64), 2); }), "the operand is i64");
  expect_contains(error_of([&] { group_norm(images(), 3); }), "there are 4 channels in 3 groups");
}

TEST(Norms, OfChannelsAround) {
  auto function = [](const Tensor& x) {
    return local_response_norm(x, 3, {.alpha = 0.5, .beta = 0.75, .k = 2});
  };
  const Floats x = images().to_vector<float>();
  std::vector<double> wanted;
  for (std::size_t i = 0; i < 48; ++i) {
    std::size_t c = i / 6 % 4;
    double squares = double{x[i]} * x[i];
    if (c > 0) squares += double{x[i - 6]} * x[i - 6];
    if (c < 3) squares += double{x[i + 6]} * x[i + 6];
    wanted.push_back(x[i] / std::pow(2 + 0.5 / 3 * squares, 0.75));
  }
  expect_near(function(images()), wanted);
  expect_near(compile(function)(images()), wanted);
  expect_contains(error_of([] { local_response_norm(images(), 0); }), "size is 0");
}

TEST(Norms, SoftmaxConvertsAndSoftminTurns) {
  Tensor x = Tensor::from(Floats{1, 2, 4}, {3});
  EXPECT_EQ(softmax(x, 0, f64).dtype(), f64);
  EXPECT_EQ(log_softmax(x.to(i64), 0, f32).dtype(), f32);
  expect_near(softmin(x, 0), {0.7053845, 0.2594965, 0.0351190}, 1e-6);
}

// PyTorch 2.15 adds the step of the dtype in which it computes.
TEST(Norms, OfRootMeanSquaresAddTheStepOfTheAccumulator) {
  const Floats x = {1e-4F, -2e-4F, 3e-4F, 4e-4F};
  const std::vector<double> wanted = {0.2269159406, -0.4538318813, 0.6807478666, 0.9076637626};
  Tensor line = Tensor::from(x, {1, 4});
  expect_near(rms_norm(line, Shape{4}), wanted);
  expect_near(rms_norm(line.to(f16), Shape{4}).to(f32), wanted, 1e-3);
  expect_near(rms_norm(line.to(bf16), Shape{4}).to(f32), wanted, 4e-3);
  Tensor small = Tensor::from<double>({1e-9, -2e-9, 3e-9, 4e-9}, {1, 4});
  expect_near(rms_norm(small, Shape{4}).to(f32),
              {0.0660034224, -0.1320068448, 0.1980102672, 0.2640136896});
}

TEST(Norms, OfEmptyRowsAreEmpty) {
  for (const auto& function : {+[](const Tensor& t) { return layer_norm(t, Shape{0}); },
                               +[](const Tensor& t) { return rms_norm(t, Shape{0}); }}) {
    EXPECT_EQ(function(zeros({3, 0})).shape(), Shape({3, 0}));
    EXPECT_EQ(compile(function)(zeros({3, 0})).shape(), Shape({3, 0}));
  }
}

TEST(BatchNorm, OfOneValueAChannelMovesNoVariance) {
  Tensor mean = zeros({3}), variance = ones({3});
  const std::string problem = error_of([&] {
    batch_norm(ones({1, 3}), mean, variance, {}, {}, true);
  });
  expect_contains(problem, "[batch_norm] x is 1x3 (at ");
  expect_contains(problem, "one value for each channel, whose variance would make the running");
  EXPECT_EQ(variance.to_vector<float>(), Floats({1, 1, 1}));
  batch_norm(ones({1, 3}), mean, variance);
  batch_norm(ones({1, 3, 2}), mean, variance, {}, {}, true);
}

TEST(LocalResponseNorm, HasTheOddChannelOnEitherSide) {
  const Tensor x = Tensor::from(Floats{1, 2, 3}, {1, 3, 1});
  auto squares = [&](bool more_behind) {
    const Tensor y =
        local_response_norm(x, 2, {.alpha = 2, .beta = 1, .k = 0, .more_behind = more_behind});
    return (x / y).to_vector<float>();
  };
  for (bool more_behind : {false, true}) {
    const Floats got = squares(more_behind),
                 wanted = more_behind ? Floats{5, 13, 9} : Floats{1, 5, 13};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5F * wanted[i]);
  }
}

}  // namespace
}  // namespace tilewright::norms_test
