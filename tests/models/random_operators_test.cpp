// Random tensors and dropout of exported programs and of modules: drawn from the default generator,
// new in each call, and the same again for the same seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/compile/compile.h"
#include "graph/functions/random/random.h"
#include "models/layers/layers.h"
#include "tests/errors.h"
#include "tests/models/exported_call.h"

namespace tilewright::random_operators_test {
namespace {

using ::testing::HasSubstr;
using testing::integers;
using testing::OneCall;
using Floats = std::vector<float>;

Floats floats(const Tensor& x) { return x.to(f32).to_vector<float>(); }
double mean_of(const Floats& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}
double deviation_of(const Floats& x) {
  double squares = 0;
  for (float each : x) squares += std::pow(each - mean_of(x), 2);
  return std::sqrt(squares / static_cast<double>(x.size()));
}

struct Drawn {
  OneCall call;
  double mean, deviation;
};
std::vector<Drawn> calls() {
  const auto size = integers({50, 80});
  Tensor x = full({50, 80}, 0.25, f32).clone();
  const double coin = std::sqrt(0.25 * 0.75);
  return {
      {OneCall("aten.rand.default").with("size", size), 0.5, std::sqrt(1 / 12.0)},
      {OneCall("aten.randn.default").with("size", size), 0, 1},
      {OneCall("aten.randint.default").with("high", std::int64_t{10}).with("size", size), 4.5,
       std::sqrt(99 / 12.0)},
      {OneCall("aten.randint.low")
           .with("low", std::int64_t{-10})
           .with("high", std::int64_t{10})
           .with("size", size),
       -0.5, std::sqrt(399 / 12.0)},
      {OneCall("aten.multinomial.default")
           .with("self", (arange(1, 5).to(f32) * 0.5).expand({50, 4}).contiguous())
           .with("num_samples", std::int64_t{80})
           .with("replacement", true),
       2, 1},
      {OneCall("aten.rand_like.default").with("self", x), 0.5, std::sqrt(1 / 12.0)},
      {OneCall("aten.randn_like.default").with("self", x), 0, 1},
      {OneCall("aten.randint_like.default").with("self", x).with("high", std::int64_t{10}), 4.5,
       std::sqrt(99 / 12.0)},
      {OneCall("aten.randint_like.low_dtype")
           .with("self", x)
           .with("low", std::int64_t{-10})
           .with("high", std::int64_t{10}),
       -0.5, std::sqrt(399 / 12.0)},
      {OneCall("aten.bernoulli.default").with("self", x), 0.25, coin},
      {OneCall("aten.bernoulli.p").with("self", x).with("p", 0.75), 0.75, coin},
      {OneCall("aten.bernoulli.Tensor").with("self", x).with("p", x), 0.25, coin},
      {OneCall("aten.uniform.default").with("self", x).with("from", -1.0).with("to", 5.0), 2,
       std::sqrt(36 / 12.0)},
      {OneCall("aten.normal_functional.default").with("self", x).with("mean", 3.0).with("std", 2.0),
       3, 2},
      {OneCall("aten.dropout.default").with("input", x).with("p", 0.25).with("train", true), 0.25,
       0.25 / 0.75 * coin},
      {OneCall("aten.native_dropout.default").with("input", x).with("p", 0.25).with("train", true),
       0.25, 0.25 / 0.75 * coin}};
}

TEST(RandomOperators, DrawNewNumbersOfTheirDistributionAndTheSameForASeed) {
  manual_seed(1234);
  std::vector<Floats> first;
  for (const Drawn& each : calls()) {
    first.push_back(floats(each.call.one()));
    const double error = each.deviation / std::sqrt(4000.0);
    EXPECT_NEAR(mean_of(first.back()), each.mean, 5 * error);
    EXPECT_NEAR(deviation_of(first.back()), each.deviation, 0.06 * each.deviation);
    EXPECT_NE(floats(each.call.one()), first.back());
  }
  manual_seed(1234);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Drawn each = calls()[i];
    EXPECT_EQ(floats(each.call.one()), first[i]) << i;
    each.call.one();
  }
}

TEST(RandomOperators, PermutationsAndDropoutWithoutTraining) {
  Tensor order = OneCall("aten.randperm.default").with("n", std::int64_t{50}).one();
  std::vector<std::int64_t> places = order.to_vector<std::int64_t>();
  std::ranges::sort(places);
  for (std::int64_t i = 0; i < 50; ++i) EXPECT_EQ(places[static_cast<std::size_t>(i)], i);
  Tensor x = rand({10});
  auto kept = OneCall("aten.native_dropout.default")
                  .with("input", x)
                  .with("p", 0.5)
                  .with("train", false)
                  .all();
  EXPECT_EQ(floats(kept[0]), floats(x));
  EXPECT_EQ(floats(kept[1]), Floats(10, 1));
  EXPECT_THAT(error_of([&] {
                OneCall("aten.rand.default")
                    .with("size", integers({2}))
                    .with("generator", std::int64_t{1})
                    .one();
              }),
              HasSubstr("programs draw from the default"));
}

struct Net : Module {
  Linear linear{8, 8};
  Dropout dropout{0.5};
  Net() {
    register_module("linear", linear);
    register_module("dropout", dropout);
  }
  Tensor forward(const Tensor& x) const { return dropout(linear(x)); }
};

TEST(DropoutModule, DropsWhileItIsTrainedAndACompiledModuleFollows) {
  manual_seed(2);
  Net net;
  auto fast = compile(net);
  Tensor x = ones({64, 8}).clone(), kept = net.linear(x);
  auto zeros_of = [](const Tensor& y) { return std::ranges::count(floats(y), 0.0F); };
  Tensor first = fast(x).clone();
  EXPECT_NEAR(static_cast<double>(zeros_of(first)), 256, 80);
  EXPECT_NE(floats(fast(x)), floats(first));
  net.eval();
  EXPECT_EQ(floats(fast(x)), floats(kept));
  EXPECT_EQ(floats(net.forward(x)), floats(kept));
  net.train();
  EXPECT_GT(zeros_of(fast(x)), 100);
  EXPECT_THAT(error_of([] { Dropout(-0.1); }), HasSubstr("[dropout] the probability is -0.1"));
}

TEST(RandomOperators, DrawnWithoutReplacementAreNoTwoOfARow) {
  auto drawn = [](const Tensor& weights, std::int64_t count) {
    return OneCall("aten.multinomial.default").with("self", weights).with("num_samples", count);
  };
  Tensor weights = Tensor::from(Floats{0, 3, 0, 1, 2, 0, 0.5F}, {7});
  int first_is_greatest = 0;
  for (int repeat = 0; repeat < 200; ++repeat) {
    auto numbers = drawn(weights, 4).one().to_vector<std::int64_t>();
    first_is_greatest += numbers[0] == 1;
    std::ranges::sort(numbers);
    ASSERT_EQ(numbers, (std::vector<std::int64_t>{1, 3, 4, 6}));
  }
  EXPECT_NEAR(first_is_greatest, 200 * 3 / 6.5, 30);
  auto said = [&](const Tensor& x, std::int64_t count) {
    return error_of([&] { drawn(x, count).one(); });
  };
  EXPECT_THAT(said(weights, 8), HasSubstr("[multinomial] 8 draws of 7 elements"));
  EXPECT_THAT(said(ones({2}, i64), 1), HasSubstr("floats with one axis or two are wanted"));
}

}  // namespace
}  // namespace tilewright::random_operators_test
