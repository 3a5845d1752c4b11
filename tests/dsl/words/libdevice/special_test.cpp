// The error integral, the normal density's and the gamma function against C's.
#include "dsl/language/words/libdevice/special.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include "tests/dsl/words/libdevice/ulps.h"
#include "tests/errors.h"

namespace tilewright::dsl::special_test {
namespace {

// The root of a function that falls or grows, by Newton's steps from a guess of double.
template <typename F, typename D>
Wide root(F f, D slope, Wide x) {
  for (int i = 0; i < 60; ++i) {
    const Wide step = f(x) / slope(x);
    x -= std::clamp(step, Wide{-0.5}, Wide{0.5});
  }
  return x;
}
Wide density(Wide x) { return std::exp(-x * x) * 2 / std::sqrt(pi); }
Wide inverse_complement(Wide p) {
  if (!(p >= 0 && p <= 2)) return none<Wide>;
  if (p == 0 || p == 2) return p == 0 ? infinity<Wide> : -infinity<Wide>;
  if (p > 1) return -inverse_complement(2 - p);
  // The logarithm is near a parabola, so that its steps arrive from anywhere.
  return root([&](Wide x) { return std::log(std::erfc(x)) - std::log(p); },
              [](Wide x) { return -density(x) / std::erfc(x); }, 0);
}
Wide inverse_error(Wide y) {
  if (std::abs(y) > 0.5L) return std::copysign(inverse_complement(1 - std::abs(y)), y);
  if (y == 0 || std::isnan(y)) return y;
  return root([&](Wide x) { return std::erf(x) - y; }, density, 0);
}

const std::vector<Function> special{
    {"erfc", erfc, [](Wide x) { return std::erfc(x); }, 8, 32, true},
    {"erfcx", erfcx,
     [](Wide x) {
       const Wide z = 1 / (x * x),
                  series = 1 + z * (-0.5L + z * (0.75L + z * (-1.875L + z * 6.5625L)));
       return x > 100 ? series / (x * std::sqrt(pi)) : std::exp(x * x) * std::erfc(x);
     },
     1, 1024},
    {"erfinv", erfinv, inverse_error, 8, 32},
    {"erfcinv", erfcinv, inverse_complement, 1, 450},
    {"normcdf", normcdf, [](Wide x) { return std::erfc(-x / std::sqrt(Wide{2})) / 2; }, 1, 1024},
    {"normcdfinv", normcdfinv,
     [](Wide p) {
       if (!(p >= 0 && p <= 1)) return none<Wide>;
       if (std::abs(p - 0.5L) < 0.25L) return inverse_error(2 * p - 1) * std::sqrt(Wide{2});
       return (p > 0.5L ? inverse_complement(2 * (1 - p)) : -inverse_complement(2 * p)) *
              std::sqrt(Wide{2});
     },
     1, 450},
    {"tgamma", tgamma, [](Wide x) { return x == -infinity<Wide> ? none<Wide> : std::tgamma(x); }, 1,
     4500},
};

TEST(Special, FunctionsAreThoseOfC) {
  // One at a time: each is a program of many instructions.
  for (const Function& function : special) {
    expect_functions<float>({function});
    expect_functions<double>({function});
  }
}

// Near its zeros the logarithm of gamma is a difference of greater terms.
template <typename T>
void expect_log_gamma() {
  const std::vector<T> x = numbers<T>();
  const auto count = static_cast<std::int64_t>(x.size());
  in_every_way([&](Pointer x, Pointer out) { put(out, lgamma(block(x, {count}))); },
               [](const std::vector<T>& x, const std::vector<T>& out) {
                 for (std::size_t i = 0; i < x.size(); ++i) {
                   const Wide expected = std::lgamma(static_cast<Wide>(x[i]));
                   if (!std::isfinite(static_cast<T>(expected))) {
                     EXPECT_EQ(ulps(out[i], expected), 0) << x[i];
                     continue;
                   }
                   const Wide size = std::abs(static_cast<Wide>(x[i]));
                   const Wide greatest = 1 + size * std::log(size + 2) + std::abs(expected);
                   const Wide unit = sizeof(T) == 4 ? std::abs(expected) * 0x1p-23L : 0;
                   EXPECT_LE(std::abs(out[i] - expected), 1e-13L * greatest + unit) << x[i];
                 }
               },
               x, std::vector<T>(x.size()));
}

TEST(Special, LogarithmOfGammaIsThatOfC) {
  expect_log_gamma<float>();
  expect_log_gamma<double>();
}

TEST(Special, RefuseOtherTypes) {
  auto refused = [](const std::function<void(Tile)>& body, const std::string& text) {
    Kernel kernel("k", [&](Pointer p) { body(block(p, {4})); });
    EXPECT_THAT(error_of([&] { kernel.trace({i32}); }), testing::HasSubstr(text));
  };
  refused([](Tile t) { erfc(t); }, "[erfc] the operand is i32[4]; it must be floating");
  refused([](Tile t) { lgamma(t); }, "[lgamma] the operand is i32[4]; it must be floating");
}

}  // namespace
}  // namespace tilewright::dsl::special_test
