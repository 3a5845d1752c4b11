#include "runtime/base/hash.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_set>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace tilewright::hash_test {
namespace {

TEST(Hash, TheSameValuesGiveTheSameHashInEveryProcess) {
  // Pinned: a change here makes every stored key stale.
  Hash hash = Hasher().add("tilewright").add(42).add(1.5).finish();
  EXPECT_EQ(hash, Hasher().add(std::string_view("tilewright")).add(42).add(1.5).finish());
  EXPECT_EQ(hash.hex(), "f4467d50a29968d42a3a8c5f5beb23ac");
}

TEST(Hash, LengthsAndBordersArePartOfIt) {
  auto of = [](const std::vector<std::string>& words) { return Hasher().add(words).finish(); };
  EXPECT_NE(of({"ab", "c"}), of({"a", "bc"}));
  EXPECT_NE(of({"", "a"}), of({"a", ""}));
  EXPECT_NE(Hasher().add("").finish(), Hasher().finish());
  EXPECT_NE(Hasher().add("a").finish(), Hasher().add(std::string_view("a\0", 2)).finish());
  EXPECT_NE(Hasher().add(Shape{2, 3}).finish(), Hasher().add(Shape{3, 2}).finish());
  EXPECT_NE(Hasher().add(Shape{}).add(Shape{1}).finish(),
            Hasher().add(Shape{1}).add(Shape{}).finish());
}

TEST(Hash, EveryBitOfAValueChangesAboutHalfOfTheHash) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    std::uint64_t value = random();
    Hash hash = Hasher().add(value).add(1).finish();
    for (int bit = 0; bit < 64; ++bit) {
      Hash other = Hasher().add(value ^ std::uint64_t{1} << bit).add(1).finish();
      int changed = std::popcount(hash.high ^ other.high) + std::popcount(hash.low ^ other.low);
      ASSERT_GT(changed, 128 / 5) << value << " bit " << bit;
    }
  }
}

TEST(Hash, NeighbouringValuesDoNotCollideInEitherHalf) {
  std::unordered_set<std::uint64_t> high, low;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    Hash hash = Hasher().add(i % 1000).add(i / 1000).finish();
    high.insert(hash.high);
    low.insert(hash.low);
  }
  EXPECT_EQ(high.size(), 200'000U);
  EXPECT_EQ(low.size(), 200'000U);
}

TEST(Hash, PrintsBothHalvesAsThirtyTwoDigits) {
  EXPECT_EQ((Hash{0x0123456789abcdef, 0xf}).hex(), "0123456789abcdef000000000000000f");
}

TEST(Hash, ReadsBackFromItsDigitsAndFromNothingElse) {
  Hash hash = Hasher().add("any").finish();
  EXPECT_EQ(Hash::parse(hash.hex()), hash);
  for (std::string text : {std::string(), hash.hex() + "0", hash.hex().substr(1) + "G",
                           hash.hex().substr(1) + "A", hash.hex().substr(1) + " "})
    EXPECT_FALSE(Hash::parse(text)) << text;
}

TEST(Hash, EnumsAndNumbersOfEqualValueAreEqual) {
  EXPECT_EQ(Hasher().add(f32).finish(), Hasher().add(static_cast<int>(f32)).finish());
  EXPECT_NE(Hasher().add(0.0).finish(), Hasher().add(-0.0).finish()) << "by bits, not by value";
}

}  // namespace
}  // namespace tilewright::hash_test
