#include "runtime/base/thread_end.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tilewright::thread_end_test {
namespace {

void add_one(void* number) { ++*static_cast<std::atomic<int>*>(number); }

TEST(ThreadEnd, IsCalledOnceByEachThreadThatNotedIt) {
  ThreadEnd end(add_one);
  std::atomic<int> ends = 0;
  for (int i = 0; i < 3; ++i)
    std::thread([&] {
      end.note(&ends);
      end.note(&ends);
    }).join();
  std::thread([] {}).join();
  EXPECT_EQ(ends, 3);
}

TEST(ThreadEnd, IsCalledWithWhatWasNotedLast) {
  ThreadEnd end(add_one);
  std::atomic<int> first = 0;
  std::atomic<int> last = 0;
  std::thread([&] {
    end.note(&first);
    end.note(&last);
  }).join();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(last, 1);
}

}  // namespace
}  // namespace tilewright::thread_end_test
