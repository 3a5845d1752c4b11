// Functions whose formulas lose digits, infinities or NaN where they are written down plainly:
// eager and compiled against their values in double.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "graph/compile/compile.h"
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "graph/tensor/capture.h"
#include "runtime/cpu/parallel.h"
#include "tests/errors.h"
#include "tests/every_device.h"

namespace tilewright::functions_test {
namespace {

using Floats = std::vector<float>;

constexpr float infinity = std::numeric_limits<float>::infinity();
const float none = std::numeric_limits<float>::quiet_NaN();

// From both sides of 0 over all magnitudes, and what is no number.
Floats arguments() {
  Floats result = {0, -0.0F, infinity, -infinity, none};
  for (float x = 1e-38F; x < 1e38F; x *= 1.7F) result.insert(result.end(), {x, -x});
  return result;
}

void expect_close(float got, double wanted, float x, const char* how) {
  if (std::isnan(wanted)) {
    EXPECT_TRUE(std::isnan(got)) << how << " of " << x;
    return;
  }
  const auto rounded = static_cast<float>(wanted);
  if (std::isinf(rounded) || std::isinf(got)) {
    EXPECT_EQ(got, rounded) << how << " of " << x;
    return;
  }
  constexpr double steps = 8 * 0x1p-24;
  EXPECT_LE(std::abs(got - wanted), steps * std::abs(wanted) + 1e-37) << how << " of " << x;
}

void expect_values(const std::function<Tensor(const Tensor&)>& function,
                   const std::function<double(double)>& wanted) {
  const Floats x = arguments();
  Tensor tensor = Tensor::from(x, {static_cast<std::int64_t>(x.size())});
  Floats eager = function(tensor).to_vector<float>();
  Floats compiled = compile(function)(tensor).to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    expect_close(eager[i], wanted(x[i]), x[i], "eager");
    expect_close(compiled[i], wanted(x[i]), x[i], "compiled");
  }
}

// Between ln of the largest f32 and 128 one in nine was a NaN on GPUs.
TEST(Functions, ExpIsInfiniteWhereF32Ends) {
  Floats x;
  for (float value = 88.7F; value < 130; value += 0.0137F) x.push_back(value);
  Tensor tensor = Tensor::from(x, {static_cast<std::int64_t>(x.size())});
  Floats got = compile([](const Tensor& t) { return exp(t); })(tensor).to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i)
    expect_close(got[i], std::exp(static_cast<double>(x[i])), x[i], "exp");
}

TEST(Functions, TanhshrinkIsWhatTanhTakesAway) {
  Floats x = {-3, -0.5F, 0, 0.5F, 3, infinity, -infinity, none};
  Tensor tensor = Tensor::from(x, {8});
  auto function = [](const Tensor& t) { return tanhshrink(t); };
  for (const Tensor& y : {function(tensor), compile(function)(tensor)}) {
    Floats got = y.to_vector<float>();
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(got[i], x[i] - std::tanh(x[i]), 1e-6F) << x[i];
    EXPECT_EQ(Floats(got.begin() + 5, got.begin() + 7), (Floats{infinity, -infinity}));
    EXPECT_TRUE(std::isnan(got[7]));
  }
}

TEST(Functions, Expm1KeepsTheDigitsOfSmallArguments) {
  expect_values([](const Tensor& x) { return expm1(x); }, [](double x) { return std::expm1(x); });
  EXPECT_EQ(expm1(Tensor::scalar<std::int64_t>(0)).dtype(), f32);
}

TEST(Functions, Log1pKeepsTheDigitsOfSmallArguments) {
  expect_values([](const Tensor& x) { return log1p(x); }, [](double x) { return std::log1p(x); });
  EXPECT_EQ(log1p(Tensor::scalar(-1.0F)).item<float>(), -infinity);
}

TEST(Functions, SoftplusIsLinearAboveItsThreshold) {
  expect_values([](const Tensor& x) { return softplus(x); },
                [](double x) { return x > 20 ? x : std::log1p(std::exp(x)); });
  expect_values([](const Tensor& x) { return softplus(x, 2, 5); },
                [](double x) { return 2 * x > 5 ? x : std::log1p(std::exp(2 * x)) / 2; });
}

// For unsigned numbers, quotients rounded towards 0 are also rounded down: no signs are looked at.
TEST(Functions, NaturalsAreDividedAsTheyAre) {
  for (DType dtype : {DType::u8, DType::i32})
    for (auto divide : {remainder, floor_divide}) {
      graph::Capture capture;
      Tensor a = capture.placeholder(dtype, {8}), b = capture.placeholder(dtype, {8});
      const std::string text = print(run_passes(capture.finish({divide(a, b)}).graph));
      EXPECT_EQ(text.find("where") != std::string::npos, dtype == DType::i32) << text;
    }
}

// As its operand's, where that is 0, and the quotient's.
TEST(Functions, SignsOfZerosArePyTorchs) {
  auto signs = [](const Tensor& x) {
    std::vector<bool> result;
    for (float y : x.to_vector<float>()) result.push_back(std::signbit(y));
    return result;
  };
  auto expect_signs = [&](auto function, const Tensor& x, const std::vector<bool>& wanted) {
    EXPECT_EQ(signs(function(x)), wanted);
    EXPECT_EQ(signs(compile(function)(x)), wanted);
  };
  using Signs = std::vector<bool>;
  Tensor zeros_of_both = Tensor::from(Floats{-0.0F, 0.0F, -0.0F, 0.0F, -0.0F}, {5});
  const Signs as_they_are = {true, false, true, false, true};
  expect_signs([](const Tensor& x) { return clamp(x, 0, 1); }, zeros_of_both, as_they_are);
  expect_signs([](const Tensor& x) { return clamp(x, -1, -0.0); }, zeros_of_both, as_they_are);
  expect_signs([](const Tensor& x) { return relu(x); }, zeros_of_both, as_they_are);
  expect_signs([](const Tensor& x) { return x + zeros({5}); }, zeros_of_both, Signs(5, false));
  expect_signs([](const Tensor& x) { return x - zeros({5}); }, zeros_of_both, as_they_are);
  expect_signs([](const Tensor& x) { return layer_norm(x * 0.0, ones({5}), zeros({5})); },
               Tensor::from(Floats{-1, -1, -1, -1, -1}, {5}), Signs(5, false));
  Tensor by = Tensor::from(Floats{5, -5, 5, -5, -5}, {5});
  expect_signs([=](const Tensor& x) { return floor_divide(x, by); },
               Tensor::from(Floats{2, -2, -0.0F, 0.0F, 0.5F}, {5}),
               {false, false, true, true, true});  // the last is -1
}

TEST(Functions, VariancesHoldWhereTheirSquaresLeaveF32) {
  const float most = std::numeric_limits<float>::max();
  struct Case {
    Floats x;
    double stddev;
  };
  for (const auto& [x, wanted] :
       {Case{{1e-30F, -1e-30F, 3e-30F}, 2e-30}, Case{{1e20F, -1e20F, 3e19F}, 1.0148891565092219e20},
        Case{{3e38F, 3e38F}, 0}, Case{{most, most, 0}, 0.57735026918962573 * most},
        Case{{1e-42F, 3e-42F}, 1.4139e-42}, Case{{0.1F, 0.1F, 0.1F}, 0}}) {
    Tensor t = Tensor::from(x, {static_cast<std::int64_t>(x.size())});
    auto root = [](const Tensor& y) { return stddev(y); };
    for (const Tensor& y : {root(t), compile(root)(t)})
      EXPECT_NEAR(y.item<float>(), wanted, 1e-6 * wanted + 1e-45) << x[0];
  }
  Tensor wide = Tensor::from(Floats{1e38F, 2e38F, 2.5e38F}, {3}).to(bf16);
  EXPECT_NEAR(stddev(wide).to(f32).item<float>(), 7.64e37, 3e35);
  Tensor large = Tensor::from(Floats{3e38F, 3e38F}, {2});
  EXPECT_EQ(var(large).item<float>(), 0);
  EXPECT_EQ(var_mean(large).second.item<float>(), 3e38F);
  EXPECT_EQ(var(Tensor::from(Floats{1e30F, 3e30F}, {2})).item<float>(), infinity);
  EXPECT_TRUE(std::isnan(var(Tensor::from(Floats{1, infinity}, {2})).item<float>()));
}

TEST(Functions, ExtremaOfBoolNeedAnElementOnEveryAxis) {
  Tensor none_inside = zeros({2, 0}, DType::boolean);
  for (bool greatest : {false, true})
    expect_contains(error_of([&] { greatest ? amax(none_inside) : amin(none_inside); }),
                    "axis 1 of shape 2x0 is empty");
  EXPECT_EQ(amax(none_inside, {0}).shape(), (Shape{0}));
  EXPECT_EQ(any(none_inside).to(f32).item<float>(), 0);
}

// Sums are one above the number that the bias takes off, and 16 bits do not hold them: rounded
// before the bias is added, the result would be 0.
TEST(Functions, LinearRoundsSumsOf16BitsWithTheirBias) {
  struct Narrow {
    DType dtype;
    std::int64_t whole;  // above which only even numbers are
  };
  for (auto [dtype, whole] : {Narrow{f16, 2048}, Narrow{bf16, 256}})
    for (std::int64_t rows : {1, 2, 70})
      for (std::int64_t columns : {1, 3, 64}) {
        Tensor x = ones({rows, whole + 1}, dtype), w = ones({columns, whole + 1}, dtype);
        Tensor b = full({columns}, -whole, dtype);
        const Floats ones_everywhere(static_cast<std::size_t>(rows * columns), 1);
        auto plain = compile(
            [](const Tensor& t, const Tensor& u, const Tensor& c) { return linear(t, u, c); });
        auto frozen = compile([=](const Tensor& t) { return linear(t, w, b); }, {.freezing = true});
        auto between = compile([=](const Tensor& t) { return linear(t * 1, w, b) * 2; });
        for (const Tensor& y : {linear(x, w, b), plain(x, w, b), frozen(x), between(x) / 2}) {
          EXPECT_EQ(y.dtype(), dtype);
          EXPECT_EQ(y.to(f32).to_vector<float>(), ones_everywhere)
              << dtype << " " << rows << " " << columns;
        }
      }
}

// A compiled function of long and of many rows, compiled again for each number of threads.
TEST(Functions, OfRowsHaveTheSameBitsOnAnyNumberOfThreads) {
  TILEWRIGHT_ON_THE_HOST_ONLY("a number of threads");
  struct Restore {
    int count = thread_count();
    ~Restore() { set_thread_count(count); }
  } restore;
  Floats x(3 << 16);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) * 0.7F) + 0.1F;
  using Function = Tensor (*)(const Tensor& t);
  const Function functions[] = {[](const Tensor& t) { return sum(t); },
                                [](const Tensor& t) { return mean(t, {0}); },
                                [](const Tensor& t) { return stddev(t, {-1}); },
                                [](const Tensor& t) { return softmax(t, -1); },
                                [](const Tensor& t) { return layer_norm(t); },
                                [](const Tensor& t) { return rms_norm(t); }};
  for (const Shape& shape : {Shape{1, 3 << 16}, Shape{3, 1 << 16}, Shape{1 << 10, 192}})
    for (std::size_t i = 0; i < std::size(functions); ++i) {
      Tensor operand = Tensor::from(x, shape);
      Floats first;
      for (int threads : {1, 2, 3, 8}) {
        set_thread_count(threads);
        Floats now = compile(functions[i])(operand).to_vector<float>();
        if (threads == 1) first = now;
        EXPECT_TRUE(now == first) << "function " << i << " of " << shape << ", " << threads;
      }
    }
}

}  // namespace
}  // namespace tilewright::functions_test
