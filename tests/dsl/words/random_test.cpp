// Random numbers of kernels: the published vectors of Philox, and a reference of its own.
#include "dsl/language/random.h"
#include "dsl/ir/function.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/dsl/words/every_way.h"
#include "tests/errors.h"

namespace tilewright::dsl::random_test {
namespace {

using Words = std::vector<std::uint32_t>;
using Floats = std::vector<float>;
using Block = std::array<std::uint32_t, 4>;

// As the paper writes it, without a word in common with the kernel.
Block reference(Block c, std::uint64_t seed, int rounds = 10) {
  auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t a = std::uint64_t{c[0]} * 0xD2511F53U,
                        b = std::uint64_t{c[2]} * 0xCD9E8D57U;
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(a)};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

// Triton's, in f32 as there.
float uniform(std::uint32_t bits) {
  auto x = static_cast<std::int32_t>(bits);
  if (x < 0) x = -x - 1;
  return static_cast<float>(x) * 4.6566127342e-10F;
}

TEST(Random, PhiloxGivesThePublishedVectors) {
  // Counter, key and result (Random123, kat_vectors: philox4x32 10).
  const std::vector<std::array<std::uint32_t, 10>> vectors{
      {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
       0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
       0x94fdcceb, 0x5001e420, 0x24126ea1}};
  for (const auto& v : vectors) {
    const std::uint64_t seed = std::uint64_t{v[5]} << 32 | v[4];
    EXPECT_EQ(reference({v[0], v[1], v[2], v[3]}, seed), (Block{v[6], v[7], v[8], v[9]}));
    in_every_way(
        [](Pointer seed, Pointer c, Pointer out) {
          FourTiles r = philox(load(seed), load(c + 0), load(c + 1), load(c + 2), load(c + 3));
          for (int i = 0; i < 4; ++i) store(out + i, r[static_cast<std::size_t>(i)]);
        },
        [&](const std::vector<std::uint64_t>&, const Words&, const Words& out) {
          EXPECT_EQ(out, (Words{v[6], v[7], v[8], v[9]}));
        },
        std::vector{seed}, Words{v[0], v[1], v[2], v[3]}, Words(4));
  }
}

TEST(Random, FunctionsGiveTheNumbersOfTriton) {
  constexpr std::size_t count = 100;
  constexpr std::int64_t seed = -123456789012345;
  in_every_way(
      [](Pointer bits, Pointer even, Pointer normal, Pointer wide) {
        Tile i = arange(0, count);
        auto all = [&](const Pointer& p, const FourTiles& four) {
          for (int k = 0; k < 4; ++k)
            store(p + (i + k * int{count}), four[static_cast<std::size_t>(k)]);
        };
        all(bits, randint4x(seed, i));
        all(even, rand4x(seed, i));
        all(normal, randn4x(seed, i));
        store(wide + i, randint(seed, cast(i, i64) + (std::int64_t{5} << 32), 7));
        store(wide + (i + int{count}), randint(seed, i));
      },
      [](const Words& bits, const Floats& even, const Floats& normal, const Words& wide) {
        for (std::uint32_t i = 0; i < count; ++i) {
          const Block r = reference({i, 0, 0, 0}, static_cast<std::uint64_t>(seed));
          for (std::size_t k = 0; k < 4; ++k) {
            ASSERT_EQ(bits[k * count + i], r[k]);
            ASSERT_EQ(even[k * count + i], uniform(r[k]));
            ASSERT_TRUE(even[k * count + i] >= 0 && even[k * count + i] < 1);
            const double u1 = std::max(1.0e-7F, uniform(r[k & 2])), u2 = uniform(r[k | 1]);
            const double radius = std::sqrt(-2 * std::log(u1)), angle = 6.283185307179586 * u2;
            ASSERT_NEAR(normal[k * count + i],
                        radius * (k % 2 == 0 ? std::cos(angle) : std::sin(angle)), 1e-5);
          }
          ASSERT_EQ(wide[i], reference({i, 5, 0, 0}, static_cast<std::uint64_t>(seed), 7)[0]);
          ASSERT_EQ(wide[count + i], r[0]);
        }
      },
      Words(4 * count), Floats(4 * count), Floats(4 * count), Words(2 * count));
}

TEST(Random, TheGreatestNumberStaysBelowOne) {
  in_every_way(
      [](Pointer x, Pointer out) {
        store(out + arange(0, 4), uint_to_uniform_float(load(x + arange(0, 4))));
      },
      [](const Words&, const Floats& out) {
        EXPECT_EQ(out[0], 0);
        EXPECT_LT(out[1], 1);
        EXPECT_LT(out[2], 1);
        EXPECT_EQ(out[3], 0);
      },
      Words{0, 0x7fffffff, 0x80000000, 0xffffffff}, Floats(4));
}

TEST(Random, RandAndRandnAreTheFirstOfFour) {
  constexpr std::size_t count = 8;
  in_every_way(
      [](Pointer out) {
        Tile i = arange(0, count);
        store(out + i, rand(7, i) - rand4x(7, i)[0]);
        store(out + (i + int{count}), randn(7, i) - randn4x(7, i)[0]);
      },
      [](const Floats& out) { EXPECT_EQ(out, Floats(2 * count)); }, Floats(2 * count, 1));
}

TEST(Random, RefusesWhatDoesNotFit) {
  auto refused = [](const std::function<void(Pointer)>& body, const std::string& text) {
    EXPECT_THAT(error_of([&] { Kernel("k", [&](Pointer p) { body(p); }).trace({f32}); }),
                testing::HasSubstr(text));
  };
  refused([](Pointer p) { rand(load(p), arange(0, 4)); },
          "[philox] the seed is f32; it must be integer");
  EXPECT_THAT(error_of([] { Kernel("k", [](Pointer p) { rand(p, arange(0, 4)); }).trace({i32}); }),
              testing::HasSubstr("[philox] the seed is ptr<i32>; it must be integer"));
  refused([](Pointer p) { rand(1, load(p)); }, "[randint] the offset is f32; it must be integer");
  refused([](Pointer) { rand(1, arange(0, 4), 0); },
          "[philox] there are 0 rounds; there must be one or more");
  refused([](Pointer p) { uint_to_uniform_float(load(p)); },
          "[uint_to_uniform_float] the operand is f32; it must be u32 or i32");
}

}  // namespace
}  // namespace tilewright::dsl::random_test
