// Products of stacks of matrices, in types other than their sums', and with operands split in two.
#include "dsl/language/words/products.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "runtime/base/half.h"
#include "tests/dsl/words/every_way.h"
#include "tests/errors.h"

namespace tilewright::dsl::products_test {
namespace {

using Floats = std::vector<float>;

std::string trace_error(const std::function<void()>& body) {
  return error_of([&] { Kernel("k", [&](Pointer) { body(); }).trace({f32}); });
}

Floats drawn(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Floats numbers(static_cast<std::size_t>(count));
  for (float& x : numbers) x = normal(generator);
  return numbers;
}

struct Sizes {
  std::int64_t stack, m, n, k;
};

// acc + a b, place by place along the stack, in double; and the sum of the magnitudes.
struct Reference {
  std::vector<double> sum, size;
};
Reference product(const Sizes& s, const Floats& a, const Floats& b, const Floats& acc) {
  Reference r{{acc.begin(), acc.end()}, {}};
  for (float x : acc) r.size.push_back(std::abs(x));
  for (std::int64_t o = 0; o < s.stack; ++o)
    for (std::int64_t i = 0; i < s.m; ++i)
      for (std::int64_t j = 0; j < s.n; ++j)
        for (std::int64_t k = 0; k < s.k; ++k) {
          const auto at = static_cast<std::size_t>((o * s.m + i) * s.n + j);
          const double x = a[static_cast<std::size_t>((o * s.m + i) * s.k + k)];
          const double y = b[static_cast<std::size_t>((o * s.k + k) * s.n + j)];
          r.sum[at] += x * y;
          r.size[at] += std::abs(x * y);
        }
  return r;
}

void expect_near(const Reference& wanted, const Floats& out, double relative) {
  for (std::size_t i = 0; i < out.size(); ++i)
    ASSERT_NEAR(out[i], wanted.sum[i], relative * wanted.size[i]) << "element " << i;
}

TEST(Dot, MultipliesStacksPlaceByPlace) {
  for (const Sizes& s : {Sizes{1, 4, 8, 16}, Sizes{2, 16, 16, 16}, Sizes{3, 5, 7, 9},
                         Sizes{8, 16, 8, 32}, Sizes{4, 1, 3, 2}})
    in_every_way(
        [&](Pointer a, Pointer b, Pointer acc, Pointer out) {
          put(out, dot(block(a, {s.stack, s.m, s.k}), block(b, {s.stack, s.k, s.n}),
                       block(acc, {s.stack, s.m, s.n})));
        },
        [&](const Floats& a, const Floats& b, const Floats& acc, const Floats& out) {
          expect_near(product(s, a, b, acc), out, 1e-6);
        },
        drawn(s.stack * s.m * s.k, 1), drawn(s.stack * s.k * s.n, 2), drawn(s.stack * s.m * s.n, 3),
        Floats(static_cast<std::size_t>(s.stack * s.m * s.n)));
}

TEST(Dot, OfStacksAddsUpInALoop) {
  const Sizes s{4, 16, 16, 48};
  in_every_way(
      [&](Pointer a, Pointer b, Pointer out) {
        Desc left = make_desc(a, {s.stack, s.m, s.k}, {s.m * s.k, s.k, 1});
        Desc right = make_desc(b, {s.stack, s.k, s.n}, {s.k * s.n, s.n, 1});
        Var acc = zeros({s.stack, s.m, s.n}, f32);
        for (Tile i : range(0, s.k, 16))
          acc = dot(load(left, {0, 0, i}, {s.stack, s.m, 16}),
                    load(right, {0, i, 0}, {s.stack, 16, s.n}), acc);
        put(out, acc);
      },
      [&](const Floats& a, const Floats& b, const Floats& out) {
        expect_near(product(s, a, b, Floats(out.size())), out, 1e-6);
      },
      drawn(s.stack * s.m * s.k, 1), drawn(s.stack * s.k * s.n, 2),
      Floats(static_cast<std::size_t>(s.stack * s.m * s.n)));
}

TEST(Dot, OfStacksOfSmallIntegersIsExact) {
  const Sizes s{2, 8, 8, 32};
  auto whole = [](std::int64_t count, unsigned seed) {
    std::vector<std::int8_t> numbers;
    for (float x : drawn(count, seed)) numbers.push_back(static_cast<std::int8_t>(x * 40));
    return numbers;
  };
  in_every_way(
      [&](Pointer a, Pointer b, Pointer out) {
        put(out, dot(block(a, {s.stack, s.m, s.k}), block(b, {s.stack, s.k, s.n})));
      },
      [&](const std::vector<std::int8_t>& a, const std::vector<std::int8_t>& b,
          const std::vector<std::int32_t>& out) {
        Floats none(out.size());
        Reference r = product(s, Floats(a.begin(), a.end()), Floats(b.begin(), b.end()), none);
        for (std::size_t i = 0; i < out.size(); ++i)
          ASSERT_EQ(out[i], static_cast<std::int32_t>(r.sum[i]));
      },
      whole(s.stack * s.m * s.k, 1), whole(s.stack * s.k * s.n, 2),
      std::vector<std::int32_t>(static_cast<std::size_t>(s.stack * s.m * s.n)));
}

TEST(Dot, RoundsOnceMoreToTheTypeThatIsAskedFor) {
  in_every_way(
      [](Pointer a, Pointer b, Pointer out) {
        Tile x = cast(block(a, {16, 16}), f16), y = cast(block(b, {16, 16}), f16);
        Tile half = dot(x, y, f16);
        put(out, cast(dot(x, y, half, InputPrecision::ieee, f16), f32));
      },
      [](const Floats& a, const Floats& b, const Floats& out) {
        // Products of eighths are exact in f32, so each step is rounded alike in every way.
        Reference once = product({1, 16, 16, 16}, a, b, Floats(256));
        for (std::size_t i = 0; i < out.size(); ++i) {
          const double half = rounded_to(f16, once.sum[i]);
          ASSERT_EQ(out[i], rounded_to(f16, once.sum[i] + half));
        }
      },
      [] {
        Floats x = drawn(256, 1);
        for (float& e : x) e = std::round(e * 8) / 8;
        return x;
      }(),
      [] {
        Floats x = drawn(256, 2);
        for (float& e : x) e = std::round(e * 8) / 8;
        return x;
      }(),
      Floats(256));
}

TEST(Dot, AsTf32x3KeepsNearlyAllDigitsOfF32) {
  const Sizes s{1, 16, 16, 64};
  in_every_way(
      [&](Pointer a, Pointer b, Pointer out) {
        put(out, dot(block(a, {s.m, s.k}), block(b, {s.k, s.n}), 0, InputPrecision::tf32x3));
      },
      [&](const Floats& a, const Floats& b, const Floats& out) {
        expect_near(product(s, a, b, Floats(out.size())), out, 0x1p-19);
      },
      drawn(s.m * s.k, 1), drawn(s.k * s.n, 2), Floats(static_cast<std::size_t>(s.m * s.n)));
}

TEST(Dot, AsTf32x3KeepsInfinitiesAndNaN) {
  Floats a(256, 1.1F), b(256, 0);
  for (std::size_t i = 0; i < 16; ++i) b[i * 17] = 1;  // the identity
  a[0] = INFINITY;
  a[16] = -INFINITY;
  a[32] = std::bit_cast<float>(0x7f800001U);  // a NaN that is an infinity in its upper bits
  a[48] = 3.4028234e38F;
  in_every_way(
      [](Pointer a, Pointer b, Pointer out) {
        put(out, dot(block(a, {16, 16}), full({16, 16}, 1.0, f32) + block(b, {16, 16}), 0,
                     InputPrecision::tf32x3));
      },
      [](const Floats&, const Floats&, const Floats& out) {
        for (std::size_t i = 0; i < 16; ++i) {
          ASSERT_EQ(out[i], INFINITY);
          ASSERT_EQ(out[16 + i], -INFINITY);
          ASSERT_TRUE(std::isnan(out[32 + i]));
          ASSERT_GT(out[48 + i], 3.4e38F);
        }
      },
      a, b, Floats(256));
}

TEST(Dot, NamesStacksThatDoNotFit) {
  EXPECT_THAT(trace_error([] {
                dot(zeros({2, 4, 8}, f32), zeros({3, 8, 4}, f32));
              }),
              testing::HasSubstr("[dot] the stacks differ in size: a is 2x4x8, b is 3x8x4; each "
                                 "matrix of a is multiplied by the one of b at its place"));
  EXPECT_THAT(trace_error([] {
                dot(zeros({2, 4, 8}, f32), zeros({8, 4}, f32));
              }),
              testing::HasSubstr("[dot] the operands are f32[2x4x8] and f32[8x4]; both must have "
                                 "two axes, or both three"));
  EXPECT_THAT(trace_error([] {
                dot(zeros({2, 4, 8}, f32), zeros({2, 4, 8}, f32));
              }),
              testing::HasSubstr("[dot] inner sizes differ: a is 4x8, b is 4x8"));
}

TEST(Dot, NamesResultsThatDoNotFit) {
  EXPECT_THAT(trace_error([] {
                dot(zeros({4, 8}, f16), zeros({8, 4}, f16), i32);
              }),
              testing::HasSubstr("[dot] the result is to be i32, the sums are f32; both must be "
                                 "floating, or both whole numbers"));
  EXPECT_THAT(
      trace_error([] {
        dot(zeros({4, 8}, f16), zeros({8, 4}, f16), zeros({4, 4}, f32), InputPrecision::ieee, f16);
      }),
      testing::HasSubstr("[dot] the accumulator is f32[4x4]; it must be f16 as the result"));
}

}  // namespace
}  // namespace tilewright::dsl::products_test
