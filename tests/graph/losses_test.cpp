// Losses against values by hand, and compiled for every device against one operation at a time.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/compile/compile.h"
#include "graph/tensor/tensor.h"
#include "tests/errors.h"

namespace tilewright::losses_test {
namespace {

Tensor waves(std::int64_t rows, std::int64_t classes) {
  std::vector<float> x(static_cast<std::size_t>(rows * classes));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 4 * std::sin(static_cast<float>(i * i % 7919));
  return Tensor::from(x, {rows, classes});
}
Tensor targets(const std::vector<std::int64_t>& x) {
  return Tensor::from(x, {static_cast<std::int64_t>(x.size())});
}

// -log of the probability of each target.
std::vector<double> losses_of(const Tensor& logits, const std::vector<std::int64_t>& target) {
  std::vector<float> x = logits.to_vector<float>();
  auto classes = static_cast<std::size_t>(logits.size(1));
  std::vector<double> losses;
  for (std::size_t row = 0; row < target.size(); ++row) {
    double total = 0;
    for (std::size_t c = 0; c < classes; ++c) total += std::exp(double{x[row * classes + c]});
    losses.push_back(std::log(total) - x[row * classes + static_cast<std::size_t>(target[row])]);
  }
  return losses;
}

TEST(CrossEntropy, IsTheMeanOfNegativeLogProbabilities) {
  Tensor x = waves(3, 5);
  std::vector<double> each = losses_of(x, {4, 0, 2});
  Tensor t = targets({4, 0, 2});
  EXPECT_NEAR(cross_entropy(x, t).item<float>(), (each[0] + each[1] + each[2]) / 3, 1e-5);
  EXPECT_NEAR(cross_entropy(x, t, {.reduction = LossReduction::sum}).item<float>(),
              each[0] + each[1] + each[2], 1e-5);
  Tensor rows = cross_entropy(x, t.to(DType::i32), {.reduction = LossReduction::none});
  EXPECT_EQ(rows.shape(), (Shape{3}));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(rows.to_vector<float>()[i], each[i], 1e-5);
}

TEST(CrossEntropy, CountsIgnoredRowsNothing) {
  Tensor x = waves(3, 5);
  std::vector<double> each = losses_of(x, {4, 0, 2});
  EXPECT_NEAR(cross_entropy(x, targets({4, -100, 2})).item<float>(), (each[0] + each[2]) / 2, 1e-5);
  EXPECT_NEAR(cross_entropy(x, targets({4, 0, 2}), {.ignore_index = 4}).item<float>(),
              (each[1] + each[2]) / 2, 1e-5);
}

TEST(CrossEntropy, SpreadsAShareOfTheTargetOverAllClasses) {
  Tensor x = waves(1, 4);
  double expected = 0.9 * losses_of(x, {1})[0];
  for (std::int64_t c = 0; c < 4; ++c) expected += 0.1 / 4 * losses_of(x, {c})[0];
  EXPECT_NEAR(cross_entropy(x, targets({1}), {.label_smoothing = 0.1}).item<float>(), expected,
              1e-5);
}

// PyTorch's results for one sample, with a target that has an axis or none, for images and for
// probabilities.
TEST(CrossEntropy, IsThatOfScoresOfAnyRank) {
  const Tensor x = Tensor::from(std::vector<float>{0.3F, -0.2F, 0.7F}, {3});
  auto loss = [](const Tensor& scores, const Tensor& classes) {
    return cross_entropy(scores, classes);
  };
  for (const Tensor& target : {targets({0}), targets({0}).reshape({})}) {
    EXPECT_EQ(loss(x, target).shape(), Shape{});
    EXPECT_NEAR(loss(x, target).item<float>(), 1.1308714, 1e-6);
    EXPECT_NEAR(compile(loss)(x, target).item<float>(), 1.1308714, 1e-6);
  }
  const Tensor image = x.reshape({1, 3, 1});
  EXPECT_NEAR(loss(image, targets({1}).reshape({1, 1})).item<float>(), 1.6308714, 1e-6);
  const Tensor shares = Tensor::from(std::vector<float>{0.5F, 0.5F, 0}, {1, 3});
  EXPECT_NEAR(loss(x.reshape({1, 3}), shares).item<float>(), 1.3808714, 1e-6);
}

TEST(CrossEntropy, TakesTargetsOfAByte) {
  const Tensor x = waves(3, 5), t = targets({4, 0, 2});
  auto loss = [](const Tensor& scores, const Tensor& classes) {
    return cross_entropy(scores, classes);
  };
  for (const Tensor& got : {loss(x, t.to(DType::u8)), compile(loss)(x, t.to(DType::u8))})
    EXPECT_EQ(got.item<float>(), loss(x, t).item<float>());
  expect_contains(error_of([&] {
                    loss(x, targets({4, 5, 2}).to(DType::u8));
                  }),
                  "target 5 is outside 5 classes");
  expect_contains(error_of([&] { loss(x, t.to(DType::i8)); }), "must be i32, i64 or u8");
}

TEST(CrossEntropy, RefusesWhatDoesNotFit) {
  Tensor x = waves(2, 3), t = targets({0, 1});
  expect_contains(error_of([&] { cross_entropy(x.reshape({6}), t); }),
                  "[cross_entropy] targets are 2, scores are 1x6");
  expect_contains(error_of([&] { cross_entropy(ones({}), t); }), "the scores have no axes");
  expect_contains(error_of([&] {
                    cross_entropy(t.reshape({1, 2}), targets({0}));
                  }),
                  "must be of a floating type");
  expect_contains(error_of([&] {
                    cross_entropy(x, targets({0, 1, 2}));
                  }),
                  "there must be one target a row, [2]");
  expect_contains(error_of([&] { cross_entropy(x, t.to(DType::f32)); }), "targets are f32");
  expect_contains(error_of([&] { cross_entropy(x, t, {.label_smoothing = 2}); }),
                  "label_smoothing is 2");
  expect_contains(error_of([&] {
                    cross_entropy(x, targets({0, 3}));
                  }),
                  "[cross_entropy] target 3 is outside 3 classes");
  expect_contains(error_of([&] { cross_entropy(x, targets({-1, 0})); }), "target -1 is outside");
}

// Targets that are computed are not checked by default: the logit of one outside reads 0, and none
// of another row's.
TEST(CrossEntropy, OfComputedTargetsOutsideTheClassesReadsZero) {
  const Tensor x = waves(3, 5), t = targets({4, -2, 2});
  auto loss = [](const Tensor& a, const Tensor& b) {
    return cross_entropy(a, b + 1, {.reduction = LossReduction::none});
  };
  const std::vector<float> got = compile(loss, {.fullgraph = true})(x, t).to_vector<float>(),
                           totals = log(sum(exp(x), {1})).to_vector<float>();
  EXPECT_NEAR(got[0], totals[0], 1e-5);
  EXPECT_NEAR(got[1], totals[1], 1e-5);
  EXPECT_NEAR(got[2], losses_of(x, {0, 0, 3})[2], 1e-5);
  auto checked = compile(loss, {.index_checks = IndexChecks::all});
  expect_contains(error_of([&] { checked(x, t); }), "is outside 5 classes");
}

TEST(CrossEntropy, CompiledIsTheSameForEveryDeviceAndLength) {
  for (const char* device : {"cpu", "emulated:sm_80", "emulated:sm_90a"})
    for (std::int64_t classes : {10, 5000, 40'000})
      for (DType dtype : {DType::f32, DType::bf16}) {
        Tensor x = waves(3, classes).to(dtype), t = targets({classes - 1, -100, 7});
        auto loss = [](const Tensor& a, const Tensor& b) {
          return cross_entropy(a, b, {.label_smoothing = 0.1});
        };
        Compiled fast = compile(loss, {.fullgraph = true, .device = Device::parse(device)});
        float expected = loss(x, t).to(DType::f32).item<float>();
        EXPECT_NEAR(fast(x, t).to(DType::f32).item<float>(), expected,
                    dtype == DType::f32 ? 1e-4 * expected : 1e-2 * expected)
            << device << ", " << classes << " classes";
      }
}

// One pass over the logits and one more over the losses of the rows.
// A row is gone through twice: the next one comes meanwhile, where it is long enough to be worth
// it.
TEST(CrossEntropy, AsksForTheNextRow) {
  auto loss = [](const Tensor& x, const Tensor& t) {
    return cross_entropy(x, t, {.reduction = LossReduction::none});
  };
  for (std::int64_t classes : {1000, 3000}) {
    CompiledFunction fast(
        [&](const std::vector<Tensor>& a) { return std::vector<Tensor>{loss(a[0], a[1])}; },
        {.fullgraph = true, .device = Device::cpu()});
    Tensor x = waves(5, classes), t = targets({4, 0, 2, 1, 999});
    EXPECT_EQ(fast.call({x, t}).front().shape(), Shape{5});
    // The prefetch is in an array of all rows, at a computed row: this program's and one.
    EXPECT_EQ(fast.dump().find("prefetch_desc") != std::string::npos, classes == 3000)
        << fast.dump();
  }
}

TEST(CrossEntropy, KeepsNothingAsLongAsARow) {
  Compiled fast = compile([](const Tensor& a, const Tensor& b) { return cross_entropy(a, b); },
                          {.device = Device::emulated("sm_90a")});
  fast(waves(3, 40'000), targets({1, 2, 3}));
  EXPECT_LT(fast.report()[0].arena_bytes, 4096);
  std::string text = fast.dump();
  std::size_t loops = 0;
  for (std::size_t at = 0; (at = text.find(" loop ", at)) != std::string::npos; ++at) ++loops;
  EXPECT_EQ(loops, 1u) << text;
}

}  // namespace
}  // namespace tilewright::losses_test
