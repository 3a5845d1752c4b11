// Losses of elements and distances against their formulas in double, eager and compiled.
#include "graph/functions/reducing/element_losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "graph/compile/compile.h"
#include "graph/functions/reducing/distances.h"
#include "tests/errors.h"

namespace tilewright::element_losses_test {
namespace {

using Floats = std::vector<float>;
using Loss = std::function<Tensor(const Tensor&, const Tensor&, LossReduction)>;
using Formula = std::function<double(double, double)>;

void expect_elements(const Tensor& y, const std::vector<double>& wanted) {
  Floats got = y.to(f32).to_vector<float>();
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], 2e-6 * std::abs(wanted[i]) + 1e-6) << i;
}

void expect_loss(const Loss& loss, const Formula& formula, const Floats& x, const Floats& t) {
  const auto count = static_cast<std::int64_t>(x.size());
  Tensor input = Tensor::from(x, {count}), target = Tensor::from(t, {count});
  std::vector<double> each;
  double total = 0;
  for (std::size_t i = 0; i < x.size(); ++i) total += each.emplace_back(formula(x[i], t[i]));
  for (auto [reduction, wanted] :
       {std::pair(LossReduction::none, each), std::pair(LossReduction::sum, std::vector{total}),
        std::pair(LossReduction::mean, std::vector{total / static_cast<double>(count)})}) {
    auto function = [&](const Tensor& a, const Tensor& b) { return loss(a, b, reduction); };
    expect_elements(function(input, target), wanted);
    expect_elements(compile(function)(input, target), wanted);
  }
  Tensor narrow = loss(input.to(bf16), target.to(bf16), LossReduction::sum);
  Tensor wide = loss(input.to(bf16).to(f32), target.to(bf16).to(f32), LossReduction::sum);
  EXPECT_EQ(narrow.to(f32).item<float>(), wide.to(bf16).to(f32).item<float>());
}

const Floats any = {-3, -0.5F, 0.25F, 2, 90}, other = {1, -0.75F, 0.25F, -2, 3};
const Floats signs = {1, -1, 1, -1, 1};
const Floats shares = {0.25F, 0.5F, 0.01F, 0.9F, 0.75F}, truths = {0, 1, 0.5F, 1, 0.25F};

TEST(ElementLosses, OfDifferences) {
  expect_loss([](auto& x, auto& t, auto r) { return mse_loss(x, t, r); },
              [](double x, double t) { return (x - t) * (x - t); }, any, other);
  expect_loss([](auto& x, auto& t, auto r) { return l1_loss(x, t, r); },
              [](double x, double t) { return std::abs(x - t); }, any, other);
  expect_loss([](auto& x, auto& t, auto r) { return smooth_l1_loss(x, t, r, 0.5); },
              [](double x, double t) {
                double d = std::abs(x - t);
                return d < 0.5 ? d * d : d - 0.25;
              },
              any, other);
  expect_loss([](auto& x, auto& t, auto r) { return smooth_l1_loss(x, t, r, 0); },
              [](double x, double t) { return std::abs(x - t); }, any, other);
  expect_loss([](auto& x, auto& t, auto r) { return huber_loss(x, t, r, 2); },
              [](double x, double t) {
                double d = std::abs(x - t);
                return d <= 2 ? d * d / 2 : 2 * (d - 1);
              },
              any, other);
}

TEST(ElementLosses, OfProbabilities) {
  auto log = [](double x) { return std::fmax(std::log(x), -100); };
  expect_loss([](auto& x, auto& t, auto r) { return binary_cross_entropy(x, t, {}, r); },
              [&](double x, double t) { return -t * log(x) - (1 - t) * log(1 - x); }, shares,
              truths);
  auto logistic = [](double x, double t) {
    return std::fmax(x, 0) - x * t + std::log1p(std::exp(-std::abs(x)));
  };
  expect_loss(
      [](auto& x, auto& t, auto r) { return binary_cross_entropy_with_logits(x, t, {}, r); },
      logistic, any, truths);
  Tensor x = Tensor::from(Floats{0, 1}, {2}), t = Tensor::from(Floats{0, 1}, {2});
  expect_elements(binary_cross_entropy(x, t), {0});
  expect_elements(binary_cross_entropy(x, 1 - t), {100});
  Tensor weight = Tensor::from(Floats{2, 3}, {2}), positive = Tensor::from(Floats{5, 7}, {2});
  expect_elements(binary_cross_entropy_with_logits(x, t, weight, LossReduction::none, positive),
                  {2 * logistic(0, 0), 3 * 7 * logistic(1, 1)});
}

TEST(ElementLosses, OfDivergence) {
  auto of = [](LossReduction r) {
    return DivergenceOptions{r == LossReduction::mean  ? DivergenceReduction::mean
                             : r == LossReduction::sum ? DivergenceReduction::sum
                                                       : DivergenceReduction::none,
                             false};
  };
  expect_loss([&](auto& x, auto& t, auto r) { return kl_div(x, t, of(r)); },
              [](double x, double t) { return t == 0 ? 0 : t * (std::log(t) - x); }, any, truths);
  Tensor x = Tensor::from(Floats{-1, -2, -3, -4}, {2, 2}),
         t = Tensor::from(Floats{-2, -2, -1, -1}, {2, 2});
  double total = std::exp(-2) * -1 + std::exp(-1) * 5;
  expect_elements(kl_div(x, t, {DivergenceReduction::batchmean, true}), {total / 2});
}

TEST(ElementLosses, OfDensities) {
  auto poisson = [](bool log_input, bool full) {
    return [=](const Tensor& x, const Tensor& t, LossReduction r) {
      return poisson_nll_loss(x, t, {log_input, full, 1e-8, r});
    };
  };
  const Floats rates = {0.5F, 1, 2, 3, 4}, counts = {0, 1, 2, 5, 3};
  expect_loss(
      poisson(true, false), [](double x, double t) { return std::exp(x) - t * x; }, rates, counts);
  expect_loss(
      poisson(false, true),
      [](double x, double t) {
        double more = t <= 1 ? 0 : t * std::log(t) - t + std::log(2 * std::numbers::pi * t) / 2;
        return x - t * std::log(x + 1e-8) + more;
      },
      rates, counts);
  Tensor x = Tensor::from(Floats{1, 2, 3, 4}, {2, 2}), variance = Tensor::from(Floats{4, 0}, {2});
  auto value = [](double d, double v) { return 0.5 * (std::log(v) + d * d / v); };
  expect_elements(gaussian_nll_loss(x, 2, variance, {.reduction = LossReduction::none}),
                  {value(1, 4), value(0, 4), value(1, 1e-6), value(2, 1e-6)});
  expect_elements(
      gaussian_nll_loss(x, 2, ones({2, 2}), {.full = true, .reduction = LossReduction::none}),
      {0.5 + 0.9189385, 0.9189385, 0.5 + 0.9189385, 2 + 0.9189385});
}

TEST(ElementLosses, OfMargins) {
  expect_loss([](auto& x, auto& t, auto r) { return soft_margin_loss(x, t, r); },
              [](double x, double t) { return std::log1p(std::exp(-t * x)); }, any, signs);
  expect_loss([](auto& x, auto& t, auto r) { return margin_ranking_loss(x, 0.5, t, 0.25, r); },
              [](double x, double t) { return std::fmax(0, 0.25 - t * (x - 0.5)); }, any, signs);
  const Floats also_none = {1, -1, 0, -1, 1};
  expect_loss(
      [](auto& x, auto& t, auto r) { return hinge_embedding_loss(x, t, 1.5, r); },
      [](double x, double t) { return (t != -1 ? x : 0) + (t != 1 ? std::fmax(0, 1.5 - x) : 0); },
      any, also_none);
}

TEST(ElementLosses, RefuseWhatDoesNotFit) {
  Tensor x = ones({2}), whole = ones({2}, i64);
  expect_contains(error_of([&] { mse_loss(whole, x); }), "[mse_loss] the input is i64");
  expect_contains(error_of([&] { smooth_l1_loss(x, x, LossReduction::sum, -1); }), "beta is -1");
  expect_contains(error_of([&] { huber_loss(x, x, LossReduction::sum, 0); }), "delta is 0");
  expect_contains(error_of([&] { kl_div(ones({}), ones({}), {DivergenceReduction::batchmean}); }),
                  "[kl_div] the input has no axes");
  expect_contains(error_of([&] { pairwise_distance(ones({}), ones({})); }), "have no axes");
}

// PyTorch 2.15 refuses the same, and broadcasts in the last lines.
TEST(ElementLosses, RefuseTargetsThatWouldBroadcast) {
  const Tensor x = full({3}, 0.5, f32), column = full({3, 1}, 0.5, f32), one = ones({1});
  expect_contains(error_of([&] { binary_cross_entropy(x, column); }),
                  "[binary_cross_entropy] the input is 3, the target 3x1");
  expect_contains(error_of([&] { binary_cross_entropy_with_logits(x, column); }),
                  "[binary_cross_entropy_with_logits] the input is 3, the target 3x1");
  expect_contains(error_of([&] { binary_cross_entropy_with_logits(x, one); }),
                  "they must have one shape");
  expect_contains(error_of([&] { soft_margin_loss(x, column); }),
                  "[soft_margin_loss] the input is 3, the target 3x1");
  expect_contains(error_of([&] { margin_ranking_loss(x, column, x); }),
                  "an operand of shape 3x1 is beside the input 3");
  EXPECT_EQ(soft_margin_loss(x, one, LossReduction::none).shape(), (Shape{3}));
  EXPECT_EQ(margin_ranking_loss(x, x, one, 0, LossReduction::none).shape(), (Shape{3}));
  EXPECT_EQ(mse_loss(x, column, LossReduction::none).shape(), (Shape{3, 3}));
  EXPECT_EQ(binary_cross_entropy_with_logits(x, 1, {}, LossReduction::none).shape(), (Shape{3}));
}

TEST(Distances, BetweenRows) {
  Tensor a = Tensor::from(Floats{1, 2, 2, 0, 3, 4}, {2, 3}),
         b = Tensor::from(Floats{2, 1, -2, 0, 0, 0}, {2, 3});
  auto cosine = [](const Tensor& x, const Tensor& y) { return cosine_similarity(x, y); };
  expect_elements(cosine(a, b), {0, 0});
  expect_elements(compile(cosine)(a, a), {1, 1});
  auto apart = [](const Tensor& x, const Tensor& y) { return pairwise_distance(x, y, 2, 0); };
  expect_elements(apart(a, b), {std::sqrt(18), 5});
  expect_elements(compile(apart)(a, b), {std::sqrt(18), 5});
  expect_elements(pairwise_distance(a, b, 1, 0.5, true),
                  {1 - 0.5 + 1.5 + 4.5 - 1 + 1, 0.5 + 3.5 + 4.5});
  EXPECT_EQ(pairwise_distance(a, b, 1, 0.5, true).shape(), (Shape{2, 1}));
}

TEST(Distances, MakeLosses) {
  Tensor a = Tensor::from(Floats{3, 4, 1, 0}, {2, 2}), b = Tensor::from(Floats{4, 3, 1, 1}, {2, 2});
  Tensor t = Tensor::from(std::vector<std::int64_t>{1, -1}, {2});
  auto cosines = [&](const Tensor& x, const Tensor& y) {
    return cosine_embedding_loss(x, y, t, 0.25, LossReduction::none);
  };
  expect_elements(cosines(a, b), {1 - 24.0 / 25, std::sqrt(0.5) - 0.25});
  expect_elements(compile(cosines)(a, b), {1 - 24.0 / 25, std::sqrt(0.5) - 0.25});
  TripletOptions options = {.margin = 2, .eps = 0, .reduction = LossReduction::none};
  Tensor c = zeros({2, 2});
  expect_elements(triplet_margin_loss(a, b, c, options), {std::fmax(0, std::sqrt(2) - 5 + 2), 2});
  options.swap = true;
  expect_elements(triplet_margin_loss(a, c, b, options), {5 - std::sqrt(2) + 2, 1 - 1 + 2});
}

}  // namespace
}  // namespace tilewright::element_losses_test
