// A thread that is cancelled while it reads a file of a program: the system unwinds its stack,
// which no handler of the library may stop.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "models/exported/archive.h"
#include "runtime/base/error.h"
#include "tests/models/zip_archive.h"
#include "tests/scratch_folder.h"

// The address sanitizer's handler of a rethrown exception reads the stack that is being unwound.
#if !defined(__SANITIZE_ADDRESS__)

namespace tilewright::cancelled_load_test {
namespace {

struct Load {
  std::filesystem::path path;
  std::atomic<bool> has_begun = false;
};

void* open_archive(void* argument) {
  Load& load = *static_cast<Load*>(argument);
  load.has_begun = true;
  exported::Archive::open(load.path);
  return nullptr;
}

TEST(CancelledLoad, EndsTheThreadAlone) {
  std::vector<testing::ZipEntry> entries;
  for (int i = 0; i < 60'000; ++i)
    entries.push_back({.name = concat("m/", i), .content = std::string(1, 'x')});
  ScratchFolder folder;
  Load load{folder.write("m.pt2", testing::zip_archive(entries))};
  // Its entries are read one by one, which takes ten times as long as each wait here.
  for (int milliseconds : {1, 3, 5}) {
    load.has_begun = false;
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, open_archive, &load), 0);
    while (!load.has_begun) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    pthread_cancel(thread);
    void* result = nullptr;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
  }
  EXPECT_EQ(exported::Archive::open(load.path).entries().size(), entries.size());
}

}  // namespace
}  // namespace tilewright::cancelled_load_test

#endif
