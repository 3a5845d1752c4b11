// Angles, hyperbolic functions, roots and powers of ten against C's.
#include "dsl/language/words/libdevice/elementary.h"

#include <cmath>

#include <gmock/gmock.h>

#include "runtime/base/half.h"
#include "tests/dsl/words/libdevice/ulps.h"
#include "tests/errors.h"

namespace tilewright::dsl::elementary_test {
namespace {

// sin(pi x) by what x is beyond a whole number of half turns.
Wide sine_of_pi(Wide x) {
  if (std::isinf(x)) return none<Wide>;
  const Wide rest = std::fmod(std::abs(x), Wide{2});
  const Wide sine = rest == 0 || rest == 1         ? 0
                    : rest == 0.5L                 ? 1
                    : rest == 1.5L                 ? -1
                    : rest > 0.75L && rest < 1.25L ? std::sin(pi * (1 - rest))
                    : rest >= 1.25L                ? std::sin(pi * (rest - 2))
                                                   : std::sin(pi * rest);
  return std::signbit(x) ? -sine : sine;
}
Wide cosine_of_pi(Wide x) {
  if (std::isinf(x)) return none<Wide>;
  const Wide rest = std::fmod(std::abs(x), Wide{2});
  return rest > 0.25L && rest < 0.75L   ? std::sin(pi * (0.5L - rest))
         : rest > 1.25L && rest < 1.75L ? std::sin(pi * (rest - 1.5L))
                                        : std::cos(pi * rest);
}

const std::vector<Function> elementary{
    {"asin", asin, [](Wide x) { return std::asin(x); }, 4, 4},
    {"acos", acos, [](Wide x) { return std::acos(x); }, 4, 4},
    {"sinpi", sinpi, sine_of_pi, 3, 3},
    {"cospi", cospi, cosine_of_pi, 3, 3},
    {"sinh", sinh, [](Wide x) { return std::sinh(x); }, 4, 4},
    {"cosh", cosh, [](Wide x) { return std::cosh(x); }, 4, 4},
    {"asinh", asinh, [](Wide x) { return std::asinh(x); }, 4, 4},
    {"acosh", acosh, [](Wide x) { return std::acosh(x); }, 4, 4},
    {"atanh", atanh, [](Wide x) { return std::atanh(x); }, 4, 4},
    {"cbrt", cbrt, [](Wide x) { return std::cbrt(x); }, 3, 3},
    {"rcbrt", rcbrt, [](Wide x) { return 1 / std::cbrt(x); }, 3, 3},
    {"exp10", exp10, [](Wide x) { return std::pow(Wide{10}, x); }, 3, 4},
    {"log10", log10, [](Wide x) { return std::log10(x); }, 1, 4},
};

TEST(Elementary, FunctionsAreThoseOfC) {
  expect_functions<float>(elementary);
  expect_functions<double>(elementary);
}

const std::vector<PairFunction> of_two{
    {"atan2", atan2, [](Wide y, Wide x) { return std::atan2(y, x); }, 4},
    {"hypot", hypot, [](Wide x, Wide y) { return std::hypot(x, y); }, 3},
    {"rhypot", rhypot, [](Wide x, Wide y) { return 1 / std::hypot(x, y); }, 4},
};

TEST(Elementary, FunctionsOfTwoAreThoseOfC) {
  expect_pairs<float>(of_two);
  expect_pairs<double>(of_two);
}

// Those of 16 bits are those of f32, rounded once.
TEST(Elementary, FunctionsOf16BitsAreRoundedOnce) {
  std::vector<Half> x;
  for (int i = 0; i < 256; ++i) x.push_back(Half(static_cast<float>(i - 128) / 96.0F));
  in_every_way(
      [](Pointer x, Pointer out) {
        Tile t = block(x, {256});
        put(out, cbrt(t));
        put(out + 256, asin(t));
      },
      [](const std::vector<Half>& x, const std::vector<Half>& out) {
        for (std::size_t i = 0; i < 256; ++i) {
          const float v = static_cast<float>(x[i]);
          EXPECT_NEAR(static_cast<float>(out[i]), std::cbrt(v), 0x1p-11F * std::abs(std::cbrt(v)));
          if (std::abs(v) > 1) {
            EXPECT_TRUE(std::isnan(static_cast<float>(out[256 + i])));
          } else {
            EXPECT_NEAR(static_cast<float>(out[256 + i]), std::asin(v),
                        0x1.02p-11F * std::abs(std::asin(v)) + 0x1p-26F);
          }
        }
      },
      x, std::vector<Half>(512));
}

TEST(Elementary, RefuseOtherTypes) {
  auto refused = [](const std::function<void(Tile)>& body, const std::string& text) {
    Kernel kernel("k", [&](Pointer p) { body(block(p, {4})); });
    EXPECT_THAT(error_of([&] { kernel.trace({i32}); }), testing::HasSubstr(text));
  };
  refused([](Tile t) { asin(t); }, "[asin] the operand is i32[4]; it must be floating, of 16 bits");
  refused([](Tile t) { hypot(t, t); }, "[hypot] the operand is i32[4]; it must be floating");
}

}  // namespace
}  // namespace tilewright::dsl::elementary_test
