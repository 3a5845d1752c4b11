// Words of arithmetic, compared with C's functions.
#include "dsl/language/words/math.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/dsl/words/every_way.h"
#include "tests/errors.h"

namespace tilewright::dsl::math_test {
namespace {

using Floats = std::vector<float>;
using Whole = std::vector<std::int32_t>;

const float none = std::numeric_limits<float>::quiet_NaN(), infinity = HUGE_VALF;

Tile line(const Pointer& p, std::int64_t count) { return load(p + arange(0, count)); }

// `y` is within some units in the last place of `expected`, or is what it is.
template <typename T>
void expect_ulps(T y, double expected, double ulps, double x) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(y)) << "of " << x;
    return;
  }
  const T rounded = static_cast<T>(expected);
  if (std::isinf(rounded) || rounded == 0) {
    EXPECT_EQ(y, rounded) << "of " << x;
    EXPECT_EQ(std::signbit(y), std::signbit(rounded)) << "of " << x;
    return;
  }
  const double unit = std::ldexp(std::numeric_limits<T>::epsilon(), std::ilogb(expected));
  EXPECT_LE(std::abs(static_cast<double>(y) - expected), ulps * unit) << "of " << x;
}

template <typename T>
std::vector<T> arguments() {
  std::vector<T> x{T(0),    T(-0.0),  T(1),     T(-1),   T(infinity), T(-infinity),
                   T(none), T(1e-9),  T(-1e-9), T(0.34), T(-0.35),    T(0.66),
                   T(2.42), T(-87.5), T(80),    T(-30),  T(1e20),     T(-0.9999)};
  for (int i = -40; i < 40; ++i) x.push_back(T(i) / T(7));
  return x;
}

template <typename T>
void expect_function(Tile (*word)(const Operand&), double (*meaning)(double), double ulps,
                     double most = HUGE_VAL) {
  std::vector<T> x = arguments<T>();
  std::erase_if(x, [&](T v) { return std::abs(v) > most; });
  in_every_way(
      [&](Pointer x_, Pointer y) {
        auto count = static_cast<std::int64_t>(x.size());
        store(y + arange(0, count), word(line(x_, count)));
      },
      [&](const std::vector<T>& x, const std::vector<T>& y) {
        for (std::size_t i = 0; i < x.size(); ++i) expect_ulps(y[i], meaning(x[i]), ulps, x[i]);
      },
      x, std::vector<T>(x.size()));
}

TEST(Math, FunctionsAreThoseOfC) {
  expect_function<float>(expm1, std::expm1, 3);
  expect_function<float>(log1p, std::log1p, 4);
  expect_function<float>(atan, std::atan, 3);
  expect_function<double>(expm1, std::expm1, 6);
  expect_function<double>(log1p, std::log1p, 4);
  expect_function<double>(atan, std::atan, 3);
}

TEST(Math, TangentIsAsGoodAsSineAndCosine) {
  Floats x;
  for (int i = -50; i <= 50; ++i) x.push_back(static_cast<float>(i) / 33);
  in_every_way([](Pointer x, Pointer y) { store(y + arange(0, 101), tan(line(x, 101))); },
               [](const Floats& x, const Floats& y) {
                 for (std::size_t i = 0; i < x.size(); ++i)
                   EXPECT_NEAR(y[i], std::tan(x[i]), 1e-5 * (1 + std::pow(std::tan(x[i]), 2)));
               },
               x, Floats(x.size()));
}

TEST(Math, PowersAreThoseOfC) {
  Floats x, y;
  for (float a : {0.0F, -0.0F, 1.0F, -1.0F, 2.5F, -2.0F, 0.3F, infinity, -infinity, none, 1e20F})
    for (float b : {0.0F, 1.0F, -1.0F, 2.0F, 3.0F, -3.0F, 0.5F, -2.5F, infinity, -infinity, none}) {
      x.push_back(a);
      y.push_back(b);
    }
  auto count = static_cast<std::int64_t>(x.size());
  in_every_way([&](Pointer x, Pointer y,
                   Pointer z) { store(z + arange(0, count), pow(line(x, count), line(y, count))); },
               [](const Floats& x, const Floats& y, const Floats& z) {
                 for (std::size_t i = 0; i < x.size(); ++i) {
                   SCOPED_TRACE(y[i]);
                   expect_ulps(z[i], std::pow(static_cast<double>(x[i]), static_cast<double>(y[i])),
                               1, x[i]);
                 }
               },
               x, y, Floats(x.size()));
}

TEST(Math, QuotientsRoundUp) {
  EXPECT_EQ(cdiv(7, 2), 4);
  EXPECT_EQ(cdiv(-7, 2), -3);
  EXPECT_EQ(cdiv(7, -2), -3);
  EXPECT_EQ(cdiv(-7, -2), 4);
  EXPECT_EQ(cdiv(8, 2), 4);
  EXPECT_EQ(cdiv(8, 0), 0);
  Whole a, b;
  for (std::int32_t i : {-9, -8, -1, 0, 1, 7, 8, INT32_MAX})
    for (std::int32_t j : {-8, -3, 1, 3, 8, 0}) {
      a.push_back(i);
      b.push_back(j);
    }
  auto count = static_cast<std::int64_t>(a.size());
  in_every_way(
      [&](Pointer a, Pointer b, Pointer c, Pointer d) {
        store(c + arange(0, count), cdiv(line(a, count), line(b, count)));
        Tile x = cast(line(a, count), u32), y = cast(line(b, count), u32);
        store(d + arange(0, count), cdiv(x, y));
      },
      [](const Whole& a, const Whole& b, const Whole& c, const std::vector<std::uint32_t>& d) {
        for (std::size_t i = 0; i < a.size(); ++i) {
          EXPECT_EQ(c[i], b[i] == 0 ? 0 : std::ceil(double(a[i]) / b[i])) << a[i] << "/" << b[i];
          auto x = static_cast<std::uint32_t>(a[i]), y = static_cast<std::uint32_t>(b[i]);
          EXPECT_EQ(d[i], y == 0 ? 0 : x / y + (x % y != 0));
        }
      },
      a, b, Whole(a.size()), std::vector<std::uint32_t>(a.size()));
}

TEST(Math, BoundsPropagateNanOnlyWhereTheyAreTold) {
  in_every_way(
      [](Pointer x, Pointer out) {
        Tile a = line(x, 4), b = full({4}, 2.0, f32);
        using enum PropagateNan;
        auto keep = [&](std::int64_t at, const Tile& t) { store(out + (arange(0, 4) + at), t); };
        keep(0, maximum(a, b, PropagateNan::none));
        keep(4, maximum(a, b, all));
        keep(8, minimum(a, b, PropagateNan::none));
        keep(12, clamp(a, 0.0, 4.0));
        keep(16, clamp(a, 0.0, 4.0, PropagateNan::none));
      },
      [](const Floats&, const Floats& out) {
        const Floats expected{2, 2, 2, 5, none, 2, 2, 5, 2, 1, -3, 2, none, 1, 0, 4, 0, 1, 0, 4};
        for (std::size_t i = 0; i < out.size(); ++i)
          EXPECT_TRUE(out[i] == expected[i] || (std::isnan(out[i]) && std::isnan(expected[i])))
              << i << ": " << out[i];
      },
      Floats{none, 1, -3, 5}, Floats(20));
}

TEST(Math, QuotientsAndRootsAreRoundedToNearest) {
  Floats x;
  for (int i = 1; i <= 100; ++i) x.push_back(static_cast<float>(i) * 0.37F);
  in_every_way(
      [](Pointer x, Pointer q, Pointer r) {
        Tile t = line(x, 100);
        store(q + arange(0, 100), where(t < 20, fdiv(t, 3.0), div_rn(t, 3.0)));
        store(r + arange(0, 100), sqrt_rn(t));
      },
      [](const Floats& x, const Floats& q, const Floats& r) {
        for (std::size_t i = 0; i < x.size(); ++i) {
          EXPECT_EQ(q[i], x[i] / 3.0F);
          EXPECT_EQ(r[i], std::sqrt(x[i]));
        }
      },
      x, Floats(x.size()), Floats(x.size()));
}

TEST(Math, SoftmaxSumsToOne) {
  in_every_way(
      [](Pointer x, Pointer out) {
        Tile at = reshape(arange(0, 12), {3, 4});
        store(out + at, softmax(load(x + at), 1));
      },
      [](const Floats& x, const Floats& out) {
        for (std::size_t r = 0; r < 3; ++r) {
          double total = 0;
          for (std::size_t c = 0; c < 4; ++c) total += std::exp(double(x[4 * r + c]));
          for (std::size_t c = 0; c < 4; ++c)
            EXPECT_NEAR(out[4 * r + c], std::exp(double(x[4 * r + c])) / total, 1e-6);
        }
      },
      Floats{1, 2, 3, 4, -1, 0, 0, 5, 7, 7, 7, 7}, Floats(12));
}

TEST(Math, MapsAFunctionOverTilesOfOneShape) {
  in_every_way(
      [](Pointer x, Pointer out) {
        Tile t = map_elementwise([](Tile a, Tile b) { return a * b + a; }, line(x, 4), 2.0F);
        store(out + arange(0, 4), t);
      },
      [](const Floats&, const Floats& out) {
        EXPECT_EQ(out, (Floats{3, 6, 9, 12}));
      },
      Floats{1, 2, 3, 4}, Floats(4));
}

TEST(Math, RefusesWhatDoesNotFit) {
  auto refused = [](const std::function<void(Pointer)>& body, const std::string& text) {
    EXPECT_THAT(error_of([&] { Kernel("k", [&](Pointer p) { body(p); }).trace({f32}); }),
                testing::HasSubstr(text));
  };
  refused([](Pointer p) { cdiv(line(p, 4), 2.0); },
          "[cdiv] the operands are f32; they must be integers: for floating numbers write ceil(a / "
          "b)");
  refused([](Pointer) { fdiv(arange(0, 4), 2); },
          "[fdiv] the operands are i32; they must be floating");
  refused([](Pointer) { log1p(arange(0, 4)); },
          "[log1p] the operand is i32[4]; it must be floating, of 16 bits at the least");
}

}  // namespace
}  // namespace tilewright::dsl::math_test
