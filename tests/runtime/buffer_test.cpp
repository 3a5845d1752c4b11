#include "runtime/buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/cpu/system_memory.h"

namespace tilewright::buffer_test {
namespace {

TEST(Buffer, MemoryIsAlignedAndWritableToItsLastByteForAnySize) {
  for (std::int64_t size : {0L, 1L, 63L, 64L, 65L, 1000L, 4096L, 1L << 20, (2L << 20) - 1, 2L << 20,
                            (2L << 20) + 1, 5'000'000L, 9L << 20}) {
    auto buffer = Buffer::allocate(size);
    EXPECT_EQ(buffer->size_bytes(), size);
    EXPECT_NE(buffer->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64, 0U) << size;
    std::memset(buffer->data(), 0x5a, static_cast<std::size_t>(size));
  }
}

TEST(Buffer, LargeBlocksBeginAtAHugePage) {
  auto buffer = Buffer::allocate(3 << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % huge_page_bytes, 0U);
}

TEST(Buffer, AFreedBlockServesTheNextRequestOfItsClassWithoutTheSystem) {
  release_cached_memory();
  void* first = Buffer::allocate(10'000)->data();
  std::int64_t allocations = pool_statistics().system_allocations;
  EXPECT_EQ(Buffer::allocate(10'001)->data(), first);
  EXPECT_EQ(pool_statistics().system_allocations, allocations);
}

TEST(Buffer, StatisticsFollowLiveAndCachedBytes) {
  release_cached_memory();
  PoolStatistics before = pool_statistics();
  auto a = Buffer::allocate(4096);
  auto b = Buffer::allocate(8192);
  PoolStatistics live = pool_statistics();
  EXPECT_EQ(live.live_bytes - before.live_bytes, 4096 + 8192);
  EXPECT_GE(live.peak_live_bytes, live.live_bytes);
  a.reset();
  EXPECT_EQ(pool_statistics().cached_bytes, 4096);
  EXPECT_EQ(pool_statistics().live_bytes - before.live_bytes, 8192);
  release_cached_memory();
  EXPECT_EQ(pool_statistics().cached_bytes, 0);
  EXPECT_EQ(pool_statistics().live_bytes - before.live_bytes, 8192);
  EXPECT_EQ(pool_statistics().peak_live_bytes, live.peak_live_bytes);
}

TEST(SystemMemory, HasNoMoreToGiveThanTheMachineHas) {
  const std::int64_t all = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  EXPECT_GT(available_bytes(), 0);
  EXPECT_LT(available_bytes(), all);
}

TEST(Buffer, SizeClassesWasteAtMostAQuarter) {
  for (std::int64_t size = 1; size < (std::int64_t{1} << 40); size += size / 7 + 1) {
    std::int64_t block = block_size_for(size);
    ASSERT_GE(block, size);
    ASSERT_EQ(block % 64, 0);
    ASSERT_EQ(block_size_for(block), block) << "a class is its own class";
    std::int64_t unit = size > huge_page_bytes ? huge_page_bytes : 64;
    ASSERT_LE(block, size + std::max(size / 4, unit)) << size;
    ASSERT_EQ(block % unit, 0);
  }
}

TEST(Buffer, MemoryThatTheSystemLacksIsAnErrorThatNamesTheBytes) {
  auto kept = Buffer::allocate(1000);
  Buffer::allocate(5000);  // leaves a cached block, which goes back before giving up
  for (std::int64_t size : {std::int64_t{1} << 50, std::numeric_limits<std::int64_t>::max()}) try {
      Buffer::allocate(size);
      FAIL() << size;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::StartsWith(concat(
                                    "[buffer] the system has no memory for ", size, " bytes; ",
                                    pool_statistics().live_bytes, " bytes are in use")));
    }
  EXPECT_NE(Buffer::allocate(5000)->data(), nullptr) << "usable afterwards";
}

TEST(Buffer, NegativeSizesAreErrors) {
  EXPECT_THROW(Buffer::allocate(-1), Error);
  EXPECT_THROW(Buffer::wrap(nullptr, -1), Error);
}

TEST(Buffer, WrappedMemoryIsTheUsersAndKeepsItsOwnerAlive) {
  auto owner = std::make_shared<int>(7);
  std::weak_ptr<int> alive = owner;
  alignas(64) char bytes[128];
  std::int64_t live = pool_statistics().live_bytes;
  auto buffer = Buffer::wrap(bytes, sizeof bytes, std::move(owner));
  EXPECT_EQ(buffer->data(), bytes);
  EXPECT_EQ(buffer->size_bytes(), 128);
  EXPECT_EQ(pool_statistics().live_bytes, live);
  EXPECT_FALSE(alive.expired());
  buffer.reset();
  EXPECT_TRUE(alive.expired());
}

TEST(Buffer, WrappedMemoryMustBeAligned) {
  alignas(64) char bytes[128];
  try {
    Buffer::wrap(bytes + 4, 64);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("lies 4 bytes past a multiple of 64; memory aligned to 64"));
  }
}

TEST(Buffer, ThreadsShareThePoolWithoutSharingBlocks) {
  std::vector<std::thread> threads;
  std::atomic<int> broken{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        auto size = static_cast<std::size_t>(64 + (i * 37 + t * 11) % 3000);
        auto buffer = Buffer::allocate(static_cast<std::int64_t>(size));
        auto* bytes = static_cast<unsigned char*>(buffer->data());
        std::memset(bytes, t + 1, size);
        if (bytes[0] != t + 1 || bytes[size - 1] != t + 1) ++broken;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken.load(), 0);
}

}  // namespace
}  // namespace tilewright::buffer_test
