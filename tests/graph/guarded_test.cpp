// Values of the host that are guarded, numbers that are data, and what no guard sees.
#include "graph/tensor/guarded.h"

#include <gmock/gmock.h>

#include <limits>
#include <string>
#include <vector>

#include "graph/compile/compile.h"
#include "runtime/base/error.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::guarded_test {
namespace {

TEST(GuardedValue, HasAPlanForEachOfItsValues) {
  Guarded<bool> doubles(true, "doubles");
  int runs = 0;
  auto scaled = [&](const Tensor& x) { return ++runs, doubles.get() ? x * 2 : x * 3; };
  std::string here = concat("guarded_test.cpp:", __LINE__ - 1, ")");
  Compiled fast = compile(scaled);
  Tensor x = ramp({4});
  for (int turn = 0; turn < 3; ++turn)
    for (bool value : {true, false}) {
      doubles = value;
      expect_near(fast(x), x * (value ? 2 : 3));
    }
  EXPECT_EQ(runs, 2);
  ASSERT_EQ(fast.recompilations().size(), 1U);
  const Recompilation why = fast.recompilations()[0];
  EXPECT_EQ(why.differences.at(0).reason, RecompileReason::guard);
  expect_contains(why.sentence(), "doubles is false, compiled for true (read at ");
  expect_contains(why.sentence(), here);
  expect_contains(fast.explain(), "guards:\n  doubles is true (read at ");
}

TEST(GuardedValue, CountsAgainstTheLimit) {
  Guarded<int> factor(1, "factor");
  Compiled fast = compile([&](const Tensor& x) { return x * factor.get(); }, {.max_signatures = 2});
  for (int value : {1, 2}) {
    factor = value;
    fast(ramp({4}));
  }
  factor = 3;
  expect_contains(error_of([&] { fast(ramp({4})); }), "factor is 3, compiled for 1");
}

TEST(GuardedValue, TellsZerosApart) {
  Guarded<double> scale(0.0, "scale");
  auto fast = compile([&](const Tensor& x) { return x + 1 / scale.get(); });
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(fast(zeros({1})).item<float>(), infinity);
  scale = -0.0;
  EXPECT_EQ(fast(zeros({1})).item<float>(), -infinity);
}

TEST(GuardedValue, MayBeNaNOrAList) {
  Guarded<float> limit(std::numeric_limits<float>::quiet_NaN(), "limit");
  Guarded<std::vector<int>> sizes({1, 2}, "sizes");
  int runs = 0;
  Compiled fast = compile([&](const Tensor& x) {
    ++runs;
    Tensor y = x;
    for (int size : sizes.get()) y = y + size;
    return limit.get() == limit.get() ? y * limit.get() : y;
  });
  Tensor x = ramp({4});
  fast(x);
  Guarded<int> other(1);  // whose changes are none of this function's
  other = 2;
  expect_near(fast(x), x + 3);
  EXPECT_EQ(runs, 1);
  sizes = {1, 2, 3};
  expect_near(fast(x), x + 6);
  EXPECT_EQ(runs, 2);
  expect_contains(fast.recompilations().at(0).sentence(),
                  "sizes is a value that cannot be printed, compiled for");
}

struct Settings {
  Guarded<int> factor{2, "factor"};
};

// A copy within the function is gone when it ends, and the original is what counts.
TEST(GuardedValue, IsReadByCopyingItInACapturedFunction) {
  Settings settings;
  int runs = 0;
  Compiled fast = compile([&](const Tensor& x) {
    ++runs;
    Settings mine = settings;
    return x * mine.factor.get();
  });
  Tensor x = ramp({4});
  fast(x);
  fast(x);
  EXPECT_EQ(runs, 1);
  settings.factor = 5;
  expect_near(fast(x), x * 5);
}

TEST(GuardedValue, ThatIsDestroyedMakesItsReadersLookAgain) {
  auto settings = std::make_unique<Settings>();
  Compiled fast = compile([&](const Tensor& x) { return x * settings->factor.get(); });
  Tensor x = ramp({4});
  fast(x);
  settings = std::make_unique<Settings>();  // the same value: the same plan
  expect_near(fast(x), x * 2);
  EXPECT_TRUE(fast.recompilations().empty());
  settings->factor = 7;  // the new one is guarded
  expect_near(fast(x), x * 7);
  settings = std::make_unique<Settings>();
  settings->factor = 9;
  expect_near(fast(x), x * 9);
  // Set once more before it goes: no plan stays behind that nothing can match.
  settings->factor = 11;
  settings = std::make_unique<Settings>();
  settings->factor = 9;
  expect_near(fast(x), x * 9);
  EXPECT_EQ(fast.report().size(), 2U);
}

TEST(GuardedValue, IsAValueWhoseCopiesAreApart) {
  Guarded<int> a(1, "a"), b = a;
  b = 2;
  EXPECT_EQ(a.get(), 1);
  a = b;
  EXPECT_EQ(a.get(), 2);
}

TEST(GuardedValue, MayBeAssignedWhatItsTypeMay) {
  Guarded<std::string> text("a");
  text = "b";
  EXPECT_EQ(text.get(), "b");
  text = {};
  EXPECT_EQ(text.get(), "");
  Guarded<std::vector<int>> list;
  list = {1, 2};
  EXPECT_EQ(list.get(), (std::vector<int>{1, 2}));
}

// How messages name a value, before and now.
template <typename T>
std::string difference(T before, T now) {
  Guarded<T> value(before, "value");
  Compiled fast = compile([&](const Tensor& x) { return value.get() == now ? x : x + 1; });
  fast(ramp({4}));
  value = now;
  fast(ramp({4}));
  return fast.recompilations().at(0).differences.at(0).found;
}

TEST(GuardedValue, IsNamedAsAnArgumentIs) {
  enum class Kind : std::uint8_t { a = 65, b };
  EXPECT_THAT(difference(1.0F, 1.0000001F), testing::HasSubstr("value is 1.0000001"));
  EXPECT_THAT(difference(1.0, 0.1), testing::HasSubstr("value is 0.1"));
  EXPECT_THAT(difference(std::int8_t{1}, std::int8_t{65}), testing::HasSubstr("value is 65"));
  EXPECT_THAT(difference(Kind::a, Kind::b), testing::HasSubstr("value is 66"));
  EXPECT_THAT(difference(std::string(), std::string("a\x01\n")),
              testing::HasSubstr("value is 'a\\x01\\n'"));
}

TEST(DynamicScalar, IsReadAtEachCallAndCompilesNothing) {
  for (DType dtype : {DType::f32, DType::f64}) {
    DynamicScalar rate(0.5, dtype);
    Tensor x = ramp({4}).to(dtype);
    Compiled fast = compile([&](const Tensor& t) { return t - rate * t; });
    for (double value : {0.5, 0.25, -3.0}) {
      rate.set(value);
      EXPECT_EQ(rate.value(), value);
      expect_near(fast(x).to(DType::f32), (x - x * value).to(DType::f32));
    }
    EXPECT_EQ(fast.report().size(), 1U);
    EXPECT_EQ(fast.report()[0].captures, 1);
  }
}

// The result of verify_capture at the first call after `change`; the call before must pass.
template <typename F, typename Change>
std::string verified(F function, Change change) {
  Compiled fast = compile(function, {.verify_capture = 1});
  Tensor x = ramp({4});
  fast(x);
  fast(x);
  change();
  return error_of([&] { fast(x); });
}

TEST(VerifyCapture, NamesTheLineOfAPlainNumberThatChanged) {
  double factor = 2;
  auto scaled = [&](const Tensor& x) { return x * factor + 1; };
  std::string here = concat("guarded_test.cpp:", __LINE__ - 1);
  std::string error = verified(scaled, [&] { factor = 3; });
  expect_contains(error, concat("[compile] verify_capture: at ", here,
                                " the function computes "
                                "'full {sizes=4, number=3}' of f32 4 where it was captured with "
                                "'full {sizes=4, number=2}' of f32 4"));
  expect_contains(
      error,
      "; something that it reads besides tensors has changed since it was captured. Hold "
      "a value of the host in a Guarded, pass a number that changes often as a tensor or "
      "a DynamicScalar, and assign to a tensor's handle rather than exchange what points "
      "to it");
}

TEST(VerifyCapture, SeesOperationsThatCameOrWent) {
  int layers = 2;
  auto stack = [&](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < layers; ++i) y = exp(y);
    return y;
  };
  expect_contains(verified(stack, [&] { layers = 3; }),
                  "computes 'exp' of f32 4, which it did not when it was captured");
  expect_contains(verified(stack, [&] { layers = 1; }),
                  "was captured with 'exp' of f32 4, which it does not compute now");
}

TEST(VerifyCapture, SeesPointersThatWereExchanged) {
  auto one = std::make_unique<Tensor>(ramp({4})), other = std::make_unique<Tensor>(ramp({4}) * 2);
  std::string error =
      verified([&](const Tensor& x) { return x + *one; }, [&] { std::swap(one, other); });
  expect_contains(error, "uses another tensor of shape 4 than when it was captured");
  expect_contains(error, "guarded_test.cpp:");
}

TEST(VerifyCapture, SeesOtherResultsAndWrites) {
  bool second = false;
  Tensor state = ramp({4}), spare = ramp({4});
  expect_contains(verified(
                      [&](const Tensor& x) {
                        Tensor a = x + 1, b = x + 2;
                        return second ? b : a;
                      },
                      [&] { second = true; }),
                  "returns another value");
  second = false;
  expect_contains(verified(
                      [&](const Tensor& x) {
                        Tensor a = x + state, b = x + spare;
                        (second ? spare : state).copy_from(a * b);
                        return a + b;
                      },
                      [&] { second = true; }),
                  "writes other tensors in place");
}

// Handles and guarded values are seen without it, and must not trouble it.
TEST(VerifyCapture, LetsPassWhatIsSeenAnyway) {
  Tensor weight = ramp({4}), cache = ramp({4});
  Guarded<int> factor(2, "factor");
  Compiled fast = compile(
      [&](const Tensor& x) {
        cache.copy_from(cache + x);
        return x * weight * factor.get() + cache;
      },
      {.mode = Mode::reduce_overhead, .verify_capture = 2});
  Tensor x = ramp({4});
  for (int call = 0; call < 8; ++call) {
    if (call == 3) weight = ramp({4}) * 5;
    if (call == 5) factor = 4;
    Tensor before = cache.clone();
    expect_near(fast(x), x * weight * factor.get() + before + x);
  }
}

TEST(VerifyCapture, IsAskedForByANumberOfCalls) {
  expect_contains(
      error_of([] { compile([](const Tensor& x) { return x; }, {.verify_capture = -1}); }),
      "verify_capture is -1");
  double factor = 2;
  Compiled fast = compile([&](const Tensor& x) { return x * factor; }, {.verify_capture = 3});
  Tensor x = ramp({4});
  fast(x);
  factor = 3;
  fast(x);
  expect_contains(error_of([&] { fast(x); }), "verify_capture");
}

}  // namespace
}  // namespace tilewright::guarded_test
