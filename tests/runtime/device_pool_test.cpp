#include "runtime/device_pool.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

#include "runtime/base/error.h"

namespace tilewright::device_pool_test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kib = 1 << 10, mib = 1 << 20;

// A device with so much memory, that notices what is wrong.
class Source final : public SegmentSource {
 public:
  explicit Source(std::int64_t bytes) : left_(bytes) {}
  ~Source() override { EXPECT_TRUE(segments_.empty()) << "segments were not given back"; }
  void* allocate(std::int64_t bytes) override {
    ++asked;
    if (bytes > left_ || asked == failing) return nullptr;
    left_ -= bytes;
    next_ += bytes + mib;
    segments_[next_ - bytes] = bytes;
    return reinterpret_cast<void*>(next_ - bytes);
  }
  void free(void* segment) noexcept override {
    auto found = segments_.find(reinterpret_cast<std::int64_t>(segment));
    EXPECT_NE(found, segments_.end());
    if (found == segments_.end()) return;
    left_ += found->second;
    segments_.erase(found);
  }
  bool has(std::int64_t begin, std::int64_t bytes) const {
    auto after = segments_.upper_bound(begin);
    return after != segments_.begin() &&
           begin + bytes <= std::prev(after)->first + std::prev(after)->second;
  }
  std::size_t segments() const { return segments_.size(); }
  std::int64_t asked = 0, failing = 0;

 private:
  std::map<std::int64_t, std::int64_t> segments_;
  std::int64_t left_, next_ = mib;
};

const char stream[2] = {};

TEST(DevicePool, CutsSmallBlocksFromOneSegment) {
  Source source(64 * mib);
  DevicePool pool(source);
  void* a = pool.take(1, stream, "");
  void* b = pool.take(513, stream, "");
  EXPECT_EQ(static_cast<char*>(b) - static_cast<char*>(a), 512);
  DevicePoolStatistics statistics = pool.statistics();
  EXPECT_EQ(statistics.used_bytes, 3 * 512);
  EXPECT_EQ(statistics.segment_bytes, 2 * mib);
  pool.give_back(a);
  EXPECT_EQ(pool.take(100, stream, ""), a);
  pool.give_back(a);
  pool.give_back(b);
  EXPECT_EQ(pool.statistics().used_bytes, 0);
  EXPECT_EQ(pool.statistics().peak_used_bytes, 3 * 512);
}

TEST(DevicePool, MakesOneBlockOfNeighbours) {
  Source source(2 * mib);
  DevicePool pool(source);
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(pool.take(512 * kib, stream, ""));
  for (int i : {2, 0, 3, 1}) pool.give_back(blocks[static_cast<std::size_t>(i)]);
  EXPECT_NE(pool.take(1000 * kib, stream, ""), nullptr);
  EXPECT_EQ(source.asked, 1);
  pool.give_back(blocks[0]);
}

TEST(DevicePool, UsesALargeSegmentAgainForABlockThatNearlyFillsIt) {
  Source source(1024 * mib);
  DevicePool pool(source);
  void* large = pool.take(200 * mib, stream, "");
  pool.give_back(large);
  EXPECT_EQ(pool.take(190 * mib, stream, ""), large);
  pool.give_back(large);
  void* smaller = pool.take(100 * mib, stream, "");
  EXPECT_NE(smaller, large);
  EXPECT_EQ(source.asked, 2);
  pool.give_back(smaller);
}

TEST(DevicePool, KeepsBlocksWithTheirStream) {
  Source source(64 * mib);
  DevicePool pool(source);
  void* a = pool.take(kib, stream, "");
  pool.give_back(a);
  void* b = pool.take(kib, stream + 1, "");
  EXPECT_NE(a, b);
  EXPECT_EQ(pool.take(kib, stream, ""), a);
  pool.give_back(a);
  pool.give_back(b);
}

TEST(DevicePool, HandsOverWhatAStreamHad) {
  Source source(64 * mib);
  DevicePool pool(source);
  void* used = pool.take(kib, stream, "");
  void* free = pool.take(kib, stream, "");
  void* after = pool.take(kib, stream, "");
  pool.give_back(free);
  pool.hand_over(stream, stream + 1);
  EXPECT_EQ(pool.take(kib, stream + 1, ""), free);
  pool.give_back(used);
  EXPECT_EQ(pool.take(kib, stream + 1, ""), used);
  for (void* block : {used, free, after}) pool.give_back(block);
  EXPECT_EQ(source.asked, 1);
  pool.release_cached();
  EXPECT_EQ(source.segments(), 0U);
}

TEST(DevicePool, AsksAgainAfterGivingFreeSegmentsBack) {
  Source source(40 * mib);
  DevicePool pool(source);
  void* a = pool.take(30 * mib, stream, "");
  pool.give_back(a);
  EXPECT_EQ(source.segments(), 1U);
  void* b = pool.take(39 * mib, stream, "");
  EXPECT_NE(b, nullptr);
  EXPECT_EQ(source.segments(), 1U);
  EXPECT_EQ(pool.take(1, stream, ""), nullptr);
  pool.give_back(b);
  pool.release_cached();
  EXPECT_EQ(source.segments(), 0U);
  EXPECT_EQ(pool.statistics().segment_bytes, 0);
}

TEST(DevicePool, SaysWhoHasTheMemory) {
  Source source(64 * mib);
  DevicePool pool(source);
  void* a = pool.take(20 * mib, stream, "weights");
  void* b = pool.take(40 * kib, stream, "");
  EXPECT_EQ(pool.shortage(),
            "20 MiB are in use (by weights 20 MiB, tensors 40 KiB), 2.0 MiB lie free in pieces");
  pool.give_back(a);
  pool.give_back(b);
  EXPECT_THAT(pool.shortage(), HasSubstr("0 bytes are in use, 22 MiB lie free"));
}

TEST(DevicePool, WritesBytesAsPeopleDo) {
  EXPECT_EQ(bytes_text(17), "17 bytes");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(12 * kib), "12 KiB");
  EXPECT_EQ(bytes_text(std::int64_t{3} << 30), "3.0 GiB");
}

// Random use, with a source that fails once at every possible moment: blocks lie in segments, apart
// from each other, and a failure is null and no more.
TEST(DevicePool, GivesBlocksThatLieApart) {
  for (std::int64_t failing = 0; failing < 40; ++failing) {
    Source source(300 * mib);
    source.failing = failing;
    DevicePool pool(source);
    std::mt19937_64 random(static_cast<std::uint64_t>(failing));
    std::map<std::int64_t, std::int64_t> live;  // bytes by begin
    for (int step = 0; step < 2000; ++step) {
      if (live.size() > 20 || (!live.empty() && random() % 3 == 0)) {
        auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
        pool.give_back(reinterpret_cast<void*>(victim->first));
        live.erase(victim);
        continue;
      }
      auto bytes = static_cast<std::int64_t>(random() % (std::uint64_t{1} << random() % 26));
      auto begin =
          reinterpret_cast<std::int64_t>(pool.take(bytes, stream + random() % 2, "random"));
      if (begin == 0) continue;
      ASSERT_EQ(begin % 256, 0);
      ASSERT_TRUE(source.has(begin, bytes));
      auto after = live.lower_bound(begin);
      if (after != live.end()) {
        ASSERT_LE(begin + bytes, after->first);
      }
      if (after != live.begin()) {
        ASSERT_LE(std::prev(after)->first + std::prev(after)->second, begin);
      }
      ASSERT_TRUE(live.emplace(begin, std::max<std::int64_t>(bytes, 1)).second);
    }
    for (const auto& [begin, bytes] : live) pool.give_back(reinterpret_cast<void*>(begin));
    EXPECT_EQ(pool.statistics().used_bytes, 0);
  }
}

}  // namespace
}  // namespace tilewright::device_pool_test
