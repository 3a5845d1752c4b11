// Functions that compile() takes: the number of tensors, and the type of the result.
#include "graph/compile/calls/callable.h"

#include <gtest/gtest.h>

#include <functional>

#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::callable_test {
namespace {

constexpr Mode modes[] = {Mode::default_, Mode::reduce_overhead, Mode::max_autotune,
                          Mode::max_autotune_no_cudagraphs};

TEST(Callable, SeveralResultsComeBackAsTheFunctionReturnsThem) {
  Tensor x = ramp({2, 4}), y = ramp({2, 4}, 0.02F);
  for (Mode mode : modes)
    for (Backend backend : {Backend::eager, Backend::tilewright}) {
      Options options{.mode = mode, .backend = backend};
      auto pair = compile(
          [](const Tensor& x, const Tensor& y) { return std::pair(x + y, sum(x * y, {1})); },
          options);
      for (int call = 0; call < 2; ++call) {
        auto [added, dot] = pair(x, y);
        expect_near(added, x + y);
        expect_near(dot, sum(x * y, {1}));
      }
      auto tuple = compile([](const Tensor& x) { return std::tuple(x, x * 2, exp(x)); }, options);
      auto [same, doubled, power] = tuple(x);
      expect_near(same, x);
      expect_near(doubled, x * 2);
      expect_near(power, exp(x));
      auto array = compile(
          [](const Tensor& x) {
            return std::array<Tensor, 2>{x + 1, x - 1};
          },
          options);
      std::array<Tensor, 2> both = array(x);
      expect_near(both[1], x - 1);
      auto list = compile(
          [](const Tensor& x) {
            return std::vector<Tensor>{x + 1, x + 1, x * 3};
          },
          options);
      std::vector<Tensor> three = list(x);
      ASSERT_EQ(three.size(), 3u);
      expect_near(three[1], x + 1);
      expect_near(three[2], x * 3);
    }
}

struct Halves {
  Tensor weight = ramp({4, 4});
  std::pair<Tensor, Tensor> forward(const Tensor& x) const {
    return {linear(x, weight).slice(1, 0, 2), linear(x, weight).slice(1, 2, 4)};
  }
};

TEST(Callable, AForwardMayReturnSeveralToo) {
  Halves module;
  auto fast = compile(module);
  Tensor x = ramp({2, 4});
  auto [left, right] = fast(x);
  expect_near(left, module.forward(x).first);
  expect_near(right, module.forward(x).second);
}

TEST(Callable, UpToSixteenTensorsAreParametersAndMoreAreAList) {
  auto seven = compile([](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d,
                          const Tensor& e, const Tensor& f,
                          const Tensor& g) { return a + b + c + d + e + f + g; });
  Tensor x = ramp({4});
  expect_near(seven(x, x, x, x, x, x, x), x * 7);
  auto all = compile([](const std::vector<Tensor>& tensors) {
    Tensor total = tensors[0];
    for (std::size_t i = 1; i < tensors.size(); ++i) total = total + tensors[i];
    return total;
  });
  expect_near(all(std::vector<Tensor>(20, x)), x * 20);
  expect_near(all(x, x), x * 2);
  auto any = compile([](const auto&... each) { return cat({each...}, 0); });
  EXPECT_EQ(any(x, x, x).shape(), Shape{12});
}

TEST(Callable, AnEmptyFunctionIsToldAtOnce) {
  const std::string told = "[compile] the function is empty; pass a callable";
  EXPECT_EQ(error_of([] { compile(std::function<Tensor(const Tensor&)>()); }), told);
  EXPECT_EQ(error_of([] { compile(static_cast<Tensor (*)(const Tensor&)>(nullptr)); }), told);
  EXPECT_EQ(error_of([] { compile(std::function<Tensor(std::pair<Tensor, Tensor>)>()); }), told);
}

TEST(Callable, AWrongNumberOfTensorsSaysHowManyItTakesAndHowManyCame) {
  Tensor x = ramp({4});
  auto two = compile([](const Tensor& a, const Tensor& b) { return a + b; });
  expect_contains(error_of([&] { two(x); }),
                  "[compile] the function takes 2 tensors and the call has 1");
  auto one = compile([](const Tensor& a) { return a; });
  expect_contains(error_of([&] { one(); }),
                  "[compile] the function takes 1 tensor and the call has 0; pass one for each");
  struct Either {
    Tensor operator()(const Tensor& a, const Tensor& b = Tensor::scalar(1.0F)) const {
      return a + b;
    }
  };
  auto either = compile(Either{});
  expect_near(either(x), x + 1);
  expect_contains(error_of([&] { either(x, x, x); }), "takes 1 or 2 tensors and the call has 3");
}

}  // namespace
}  // namespace tilewright::callable_test
