// Philox against the vectors that its authors published with it (Random123, kat_vectors).
#include "runtime/base/random/philox.h"

#include <gtest/gtest.h>

namespace tilewright::philox_test {
namespace {

using Words = std::array<std::uint32_t, 4>;

TEST(Philox, GivesThePublishedWords) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, RandomBitsAreItsFirstWordsForAPlaceOf64Bits) {
  EXPECT_EQ(random_bits(0, 0), 0xe169c58d6627e8d5);
  const Words words = philox({0x89abcdef, 0x01234567, 0, 0}, {0x76543210, 0xfedcba98});
  EXPECT_EQ(random_bits(0xfedcba9876543210, 0x0123456789abcdef),
            words[0] | std::uint64_t{words[1]} << 32);
}

}  // namespace
}  // namespace tilewright::philox_test
