#include "graph/run/memory.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/property/seeds.h"

namespace tilewright::graph::memory_layout_test {
namespace {

TEST(MemoryLayout, LetsValuesOfDisjointLivesShareBytes) {
  std::vector<Lifetime> lives = {{1000, 0, 1}, {1000, 2, 3}, {1000, 1, 2}};
  MemoryLayout layout = lay_out(lives);
  EXPECT_EQ(layout.offsets[0], layout.offsets[1]);
  EXPECT_NE(layout.offsets[0], layout.offsets[2]);
  EXPECT_EQ(layout.bytes, 2048);
}

TEST(MemoryLayout, FillsTheLowestGapThatIsLargeEnough) {
  // At time 3 there are gaps of 2560 bytes at 7168 and of 2176 bytes at 12032. The first of three
  // values leaves 1024 bytes of the lower gap, too few for the second and enough for the third.
  const std::vector<Lifetime> lives = {{4096, 0, 9}, {3072, 0, 9}, {2560, 0, 1},
                                       {2304, 0, 9}, {2176, 0, 1}, {2112, 0, 9},
                                       {1536, 3, 4}, {1280, 3, 4}, {1024, 3, 4}};
  const MemoryLayout layout = lay_out(lives);
  EXPECT_EQ(layout.offsets, (std::vector<std::int64_t>{0, 4096, 7168, 9728, 12032, 14208, 7168,
                                                       12032, 8704}));
  EXPECT_EQ(layout.bytes, 16320);
}

TEST(MemoryLayout, PlacesTheLargestFirst) {
  // In order of time the small one would lie at 0 and the large one behind it.
  const MemoryLayout layout = lay_out(std::vector<Lifetime>{{64, 0, 1}, {4096, 1, 2}, {64, 2, 3}});
  EXPECT_EQ(layout.offsets, (std::vector<std::int64_t>{4096, 0, 4096}));
  EXPECT_EQ(layout.bytes, 4160);
}

TEST(MemoryLayout, NeedsNothingForNothing) { EXPECT_EQ(lay_out({}).bytes, 0); }

TEST(MemoryLayout, KeepsValuesThatLiveTogetherApartAndAligned) {
  for (std::uint64_t seed : seeds_of_test(200)) {
    std::mt19937_64 random(seed);
    std::vector<Lifetime> lives;
    std::int64_t total = 0;
    for (std::uint64_t i = 0, count = random() % 30; i < count; ++i) {
      int first = static_cast<int>(random() % 20);
      lives.push_back({static_cast<std::int64_t>(random() % 500), first,
                       first + static_cast<int>(random() % 6)});
      total += lives.back().bytes + 63;
    }
    MemoryLayout layout = lay_out(lives);
    EXPECT_LE(layout.bytes, total) << reproduction(seed);
    for (std::size_t i = 0; i < lives.size(); ++i) {
      EXPECT_EQ(layout.offsets[i] % 64, 0) << reproduction(seed);
      EXPECT_LE(layout.offsets[i] + lives[i].bytes, layout.bytes) << reproduction(seed);
      for (std::size_t j = 0; j < i; ++j) {
        bool together = lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
        bool overlap = layout.offsets[i] < layout.offsets[j] + lives[j].bytes &&
                       layout.offsets[j] < layout.offsets[i] + lives[i].bytes;
        EXPECT_FALSE(together && overlap) << reproduction(seed);
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::graph::memory_layout_test
