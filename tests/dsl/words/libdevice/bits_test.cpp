// Words on bits of integers against loops and the standard library.
#include "dsl/language/words/libdevice/bits.h"

#include <gmock/gmock.h>

#include <bit>
#include <random>

#include "dsl/language/words/arranging.h"
#include "tests/dsl/words/every_way.h"
#include "tests/errors.h"

namespace tilewright::dsl::bits_test {
namespace {

template <typename T>
void expect_bits() {
  using U = std::make_unsigned_t<T>;
  std::vector<T> x{
      0, 1, static_cast<T>(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), 2, 3};
  std::mt19937_64 random(7);
  while (x.size() < 64) x.push_back(static_cast<T>(random() >> (random() % 64)));
  const auto count = static_cast<std::int64_t>(x.size());
  in_every_way(
      [&](Pointer x, Pointer counts, Pointer out) {
        Tile t = block(x, {count}), back = flip(t);
        int row = 0;
        for (const Tile& each : {popc(t), clz(t), ffs(t)}) put(counts + count * row++, each);
        row = 0;
        for (const Tile& each :
             {brev(t), mulhi(t, back), sad(t, back, t), hadd(t, back), rhadd(t, back)})
          put(out + count * row++, each);
      },
      [&](const std::vector<T>& x, const std::vector<std::int32_t>& counts,
          const std::vector<T>& out) {
        constexpr int bits = std::numeric_limits<U>::digits;
        for (std::size_t i = 0; i < x.size(); ++i) {
          const U u = static_cast<U>(x[i]);
          const T y = x[x.size() - 1 - i];
          SCOPED_TRACE(concat(std::int64_t(x[i]), " and ", std::int64_t(y), " of ", bits, " bits"));
          EXPECT_EQ(counts[i], std::popcount(u));
          EXPECT_EQ(counts[x.size() + i], std::countl_zero(u));
          EXPECT_EQ(counts[2 * x.size() + i], u == 0 ? 0 : std::countr_zero(u) + 1);
          U reversed = 0;
          for (int b = 0; b < bits; ++b)
            reversed = static_cast<U>(reversed | U((u >> b & 1) << (bits - 1 - b)));
          EXPECT_EQ(out[i], static_cast<T>(reversed));
          using Long = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
          const Long a = x[i], b = y;
          EXPECT_EQ(out[x.size() + i], static_cast<T>((a * b) >> bits));
          EXPECT_EQ(out[2 * x.size() + i], static_cast<T>((a < b ? b - a : a - b) + a));
          EXPECT_EQ(out[3 * x.size() + i], static_cast<T>((a + b) >> 1));
          EXPECT_EQ(out[4 * x.size() + i], static_cast<T>((a + b + 1) >> 1));
        }
      },
      x, std::vector<std::int32_t>(3 * x.size()), std::vector<T>(5 * x.size()));
}

TEST(Bits, BitsAreThoseOfIntegersOfEveryWidth) {
  expect_bits<std::int8_t>();
  expect_bits<std::uint8_t>();
  expect_bits<std::int16_t>();
  expect_bits<std::uint16_t>();
  expect_bits<std::int32_t>();
  expect_bits<std::uint32_t>();
  expect_bits<std::int64_t>();
  expect_bits<std::uint64_t>();
}

TEST(Bits, BytesAreChosenAndProductsAreOf24Bits) {
  using Words = std::vector<std::uint32_t>;
  in_every_way(
      [](Pointer x, Pointer y, Pointer s, Pointer out, Pointer product) {
        Tile a = block(x, {4}), b = block(y, {4});
        put(out, byte_perm(a, b, block(s, {4})));
        put(product, mul24(cast(a, i32), cast(b, i32)));
        put(product + 4, cast(mul24(a, b), i32));
      },
      [](const Words& x, const Words& y, const Words&, const Words& out,
         const std::vector<std::int32_t>& product) {
        EXPECT_EQ(out, (Words{0x44332211, 0x88776655, 0x11881188, 0x22222222}));
        for (std::size_t i = 0; i < 4; ++i) {
          auto low = [](std::uint32_t v) {
            return static_cast<std::int64_t>(static_cast<std::int32_t>(v << 8) >> 8);
          };
          EXPECT_EQ(product[i], static_cast<std::int32_t>(low(x[i]) * low(y[i])));
          EXPECT_EQ(static_cast<std::uint32_t>(product[4 + i]),
                    static_cast<std::uint32_t>(std::uint64_t{x[i] & 0xFFFFFF} * (y[i] & 0xFFFFFF)));
        }
      },
      Words(4, 0x44332211), Words(4, 0x88776655), Words{0x3210, 0x7654, 0x0F8F, 0x1111}, Words(4),
      std::vector<std::int32_t>(8));
}

TEST(Bits, RefuseOtherTypes) {
  auto refused = [](const std::function<void(Tile)>& body, const std::string& text) {
    Kernel kernel("k", [&](Pointer p) { body(block(p, {4})); });
    EXPECT_THAT(error_of([&] { kernel.trace({f32}); }), testing::HasSubstr(text));
  };
  refused([](Tile t) { popc(t); }, "[popc] the operand is f32[4]; it must be an integer");
  refused([](Tile t) { byte_perm(cast(t, i64), 1, 2); },
          "[byte_perm] the operands are i64; they must be u32");
  refused([](Tile t) { mul24(cast(t, i64), 1); },
          "[mul24] the operands are i64; they must be i32 or u32");
}

}  // namespace
}  // namespace tilewright::dsl::bits_test
