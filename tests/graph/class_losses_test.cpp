// Losses of classes against loops in double, eager and compiled.
#include "graph/functions/reducing/class_losses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "graph/compile/compile.h"
#include "tests/errors.h"

namespace tilewright::class_losses_test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;
using Loss = std::function<Tensor(const Tensor&, const Tensor&)>;

constexpr std::size_t samples = 3, classes = 4;
const Floats scores = {0.5F, -1, 2, 0.25F, 1, 1.5F, -2, 0, 3, -0.5F, 0.75F, 1};
Tensor score_table() { return Tensor::from(scores, {3, 4}); }
Tensor integers(const Integers& x, const Shape& shape) { return Tensor::from(x, shape); }

void expect_loss(const Loss& loss, const Tensor& x, const Tensor& t,
                 const std::vector<double>& wanted) {
  for (const Tensor& y : {loss(x, t), compile(loss)(x, t)}) {
    Floats got = y.to_vector<float>();
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 2e-6) << i;
  }
}

TEST(ClassLosses, OfLogarithms) {
  Tensor t = integers({2, 0, 3}, {3});
  auto none = [](const Tensor& x, const Tensor& y) {
    return nll_loss(x, y, {.reduction = LossReduction::none});
  };
  expect_loss(none, score_table(), t, {-2, -1, -1});
  expect_loss([](const Tensor& x, const Tensor& y) { return nll_loss(x, y); }, score_table(), t,
              {-4.0 / 3});
  Tensor weight = Tensor::from(Floats{1, 2, 3, 4}, {4});
  auto weighted = [&](const Tensor& x, const Tensor& y) {
    return nll_loss(x, y, {.weight = weight, .ignore_index = 0});
  };
  expect_loss(weighted, score_table(), t, {(3 * -2 + 4 * -1) / 7.0});
  EXPECT_TRUE(std::isnan(nll_loss(score_table(), integers({-100, -100, -100}, {3})).item<float>()));
  // Places behind the classes, and one sample.
  Tensor images = Tensor::from(scores, {1, 2, 3, 2});
  expect_loss(none, images, integers({0, 1, 1, 0, 0, -100}, {1, 3, 2}),
              {-0.5, 0, -3, -0.25, -1, 0});
  expect_loss(none, score_table().select(0, 1), integers({1}, {}), {-1.5});
  EXPECT_EQ(nll_loss(score_table().to(bf16), t.to(i32)).dtype(), bf16);
  expect_loss([](const Tensor& x, const Tensor& y) { return nll_loss(x, y); }, score_table(),
              t.to(u8), {-4.0 / 3});
}

// Logarithms of probabilities of score_table().
std::vector<double> log_probabilities() {
  std::vector<double> result;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k)
      sum += std::exp(double{scores[i / classes * classes + k]});
    result.push_back(scores[i] - std::log(sum));
  }
  return result;
}

TEST(ClassLosses, OfEntropyWithWeights) {
  const Floats weight = {1, 2, 3, 4};
  const std::vector<double> p = log_probabilities();
  Tensor given = Tensor::from(weight, {4});
  auto smooth = [&](std::size_t i) {
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) sum -= p[i * classes + k] * weight[k];
    return 0.1 / 4 * sum;
  };
  std::vector<double> each = {0.9 * 3 * -p[2] + smooth(0), 0.9 * 1 * -p[4] + smooth(1), 0};
  for (auto reduction : {LossReduction::none, LossReduction::mean}) {
    auto loss = [&](const Tensor& x, const Tensor& t) {
      return cross_entropy(x, t, given, {7, reduction, 0.1});
    };
    std::vector<double> wanted = each;
    if (reduction == LossReduction::mean) wanted = {(each[0] + each[1]) / (3 + 1)};
    expect_loss(loss, score_table(), integers({2, 0, 7}, {3}), wanted);
  }
  // Without a weight as the one of tensor.h, also with places behind the classes.
  Tensor t = integers({2, 0, 3}, {3});
  EXPECT_NEAR(cross_entropy(score_table(), t, Tensor()).item<float>(),
              cross_entropy(score_table(), t).item<float>(), 1e-6);
  Tensor images = score_table().reshape({1, 3, 4}).permute({0, 2, 1});
  EXPECT_NEAR(cross_entropy(images, t.reshape({1, 3}), Tensor()).item<float>(),
              cross_entropy(score_table(), t).item<float>(), 1e-6);
  EXPECT_EQ(cross_entropy(score_table().select(0, 0), integers({1}, {}), given).shape(), Shape{});
}

TEST(ClassLosses, OfEntropyWithProbabilities) {
  const Floats truth = {0.25F, 0.25F, 0.5F, 0, 1, 0, 0, 0, 0.5F, 0, 0, 0.5F};
  const std::vector<double> p = log_probabilities();
  std::vector<double> wanted(samples);
  for (std::size_t i = 0; i < scores.size(); ++i)
    wanted[i / classes] -= p[i] * (truth[i] * 0.8 + 0.2 / 4);
  auto loss = [](const Tensor& x, const Tensor& t) {
    return cross_entropy(x, t, Tensor(),
                         {.reduction = LossReduction::none, .label_smoothing = 0.2});
  };
  expect_loss(loss, score_table(), Tensor::from(truth, {3, 4}), wanted);
  Tensor mean =
      cross_entropy(score_table(), Tensor::from(truth, {3, 4}), Tensor(), {.label_smoothing = 0.2});
  EXPECT_NEAR(mean.item<float>(), (wanted[0] + wanted[1] + wanted[2]) / 3, 1e-6);
}

TEST(ClassLosses, OfMargins) {
  const Integers t = {2, 0, 3};
  const Floats weight = {1, 2, 3, 4};
  for (double order : {1.0, 2.0}) {
    std::vector<double> wanted;
    for (std::size_t i = 0; i < samples; ++i) {
      auto own = static_cast<std::size_t>(t[i]);
      double total = 0;
      for (std::size_t k = 0; k < classes; ++k) {
        double over = std::fmax(0, 0.5 - scores[i * classes + own] + scores[i * classes + k]);
        if (k != own) total += weight[own] * std::pow(over, order);
      }
      wanted.push_back(total / classes);
    }
    auto loss = [&](const Tensor& x, const Tensor& y) {
      return multi_margin_loss(x, y, {order, 0.5, Tensor::from(weight, {4}), LossReduction::none});
    };
    expect_loss(loss, score_table(), integers(t, {3}), wanted);
  }
  EXPECT_EQ(multi_margin_loss(score_table().select(0, 0), integers({2}, {})).shape(), Shape{});
}

TEST(ClassLosses, OfSeveralLabels) {
  const Integers t = {2, 0, -1, 3, 1, -1, 2, 0, -1, 3, 2, 1};
  std::vector<double> wanted;
  for (std::size_t i = 0; i < samples; ++i) {
    std::vector<std::size_t> own;
    for (std::size_t k = 0; k < classes && t[i * classes + k] >= 0; ++k)
      own.push_back(static_cast<std::size_t>(t[i * classes + k]));
    double total = 0;
    for (std::size_t target : own)
      for (std::size_t k = 0; k < classes; ++k)
        if (std::ranges::find(own, k) == own.end())
          total += std::fmax(0, 1 - scores[i * classes + target] + scores[i * classes + k]);
    wanted.push_back(total / classes);
  }
  auto loss = [](const Tensor& x, const Tensor& y) {
    return multilabel_margin_loss(x, y, LossReduction::none);
  };
  expect_loss(loss, score_table(), integers(t, {3, 4}), wanted);
  EXPECT_NEAR(multilabel_margin_loss(score_table().select(0, 0), integers(t, {3, 4}).select(0, 0))
                  .item<float>(),
              wanted[0], 1e-6);
}

// As PyTorch takes them, for which a score without axes is one of one class.
TEST(ClassLosses, OfMarginsTakeOneScore) {
  const Tensor x = full({}, 0.3), none = integers({0}, {}), ignored = integers({-1}, {});
  for (const Tensor& target : {none, integers({0}, {1})}) {
    EXPECT_EQ(multi_margin_loss(x, target).shape(), Shape{});
    EXPECT_EQ(multi_margin_loss(x, target).item<float>(), 0);
    EXPECT_EQ(multilabel_margin_loss(x, target).item<float>(), 0);
  }
  EXPECT_EQ(multilabel_margin_loss(x, ignored).item<float>(), 0);
  expect_contains(error_of([&] { multi_margin_loss(x, integers({1}, {})); }),
                  "target 1 is outside 1 classes");
  expect_contains(error_of([&] {
                    multi_margin_loss(x, integers({0, 0}, {2}));
                  }),
                  "targets are 2, scores are 1x1");
}

TEST(ClassLosses, OfSeveralSigmoids) {
  const Floats truth = {1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1}, weight = {1, 2, 3, 4};
  std::vector<double> wanted(samples);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    double z = truth[i] == 1 ? -scores[i] : scores[i];
    wanted[i / classes] += weight[i % classes] * std::log1p(std::exp(z)) / classes;
  }
  auto loss = [&](const Tensor& x, const Tensor& y) {
    return multilabel_soft_margin_loss(x, y, Tensor::from(weight, {4}), LossReduction::none);
  };
  expect_loss(loss, score_table(), Tensor::from(truth, {3, 4}), wanted);
}

TEST(ClassLosses, RefuseWhatDoesNotFit) {
  Tensor x = score_table(), t = integers({2, 0, 3}, {3});
  expect_contains(error_of([&] { nll_loss(x, t.to(f32)); }), "[nll_loss] targets are f32");
  expect_contains(error_of([&] { nll_loss(t, t); }), "[nll_loss] the input is i64");
  expect_contains(error_of([&] {
                    nll_loss(x, integers({2, 0}, {2}));
                  }),
                  "targets are 2, scores are 3x4");
  expect_contains(error_of([&] {
                    nll_loss(x, integers({2, 0, 4}, {3}));
                  }),
                  "target 4 is outside 4");
  expect_contains(error_of([&] { nll_loss(x, t, {.weight = ones({3})}); }), "the weight is 3");
  expect_contains(error_of([&] { cross_entropy(x, ones({3}), Tensor()); }),
                  "probabilities must have the shape of the scores");
  expect_contains(error_of([&] { cross_entropy(x, t, Tensor(), {.label_smoothing = -1}); }),
                  "label_smoothing is -1");
  expect_contains(error_of([&] { nll_loss(ones({}), t); }), "the scores have no axes");
  expect_contains(error_of([&] {
                    multi_margin_loss(ones({1, 2, 3}), t);
                  }),
                  "they must be [C] or [N, C]");
  expect_contains(error_of([&] { multilabel_margin_loss(x, t); }), "[multilabel_margin_loss]");
  expect_contains(error_of([&] { multilabel_soft_margin_loss(ones({}), ones({})); }), "no axes");
}

}  // namespace
}  // namespace tilewright::class_losses_test
