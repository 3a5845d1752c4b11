#include "runtime/files/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "tests/errors.h"
#include "tests/scratch_folder.h"

namespace tilewright::atomic_file_test {
namespace {

namespace fs = std::filesystem;

void write_whole(const fs::path& path, std::string_view text) {
  AtomicFile file(path, "test");
  file.write(text.data(), text.size());
  file.commit();
}

mode_t mode_of(const fs::path& path) {
  struct stat facts {};
  EXPECT_EQ(::lstat(path.c_str(), &facts), 0);
  return facts.st_mode;
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AtomicFile, AppearsWholeOrNotAtAll) {
  ScratchFolder folder;
  fs::path path = folder.write("a", "old");
  {
    AtomicFile file(path, "test");
    file.write("new", 3);
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  write_whole(path, "new");
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

void make_two_hours_old(const fs::path& path) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
}

TEST(AtomicFile, WhatKilledWritersLeftIsRemovedByTheNextOne) {
  ScratchFolder folder;
  pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(folder.path() / "a", "test");
    file.write("half", 4);
    ::_exit(0);  // as if it were killed: nothing is tidied up
  }
  ::waitpid(child, nullptr, 0);
  ASSERT_EQ(files_in(folder.path()), 1U);
  const fs::path left = fs::directory_iterator(folder.path())->path();
  write_whole(folder.path() / "a", "whole");
  EXPECT_TRUE(fs::exists(left)) << "its writer may be slow";
  make_two_hours_old(left);
  write_whole(folder.path() / "b", "whole");
  EXPECT_TRUE(fs::exists(left)) << "it is another file's";
  write_whole(folder.path() / "a", "whole");
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(files_in(folder.path()), 2U);
}

TEST(AtomicFile, WhatIsNotLeftBehindStays) {
  ScratchFolder folder;
  const std::string name = "a.0123456789ab.part";
  for (const char* other : {"a.part", "a.0123456789xy.part", "a.0123456789abc.part", ".part",
                            "a.0123456789ab.part.txt", "movie.mp4.part"})
    make_two_hours_old(folder.write(other, "x"));
  fs::create_directory(folder.path() / "a.aaaaaaaaaaaa.part");
  fs::create_symlink("a.part", folder.path() / "a.bbbbbbbbbbbb.part");
  {
    AtomicFile alive(folder.path() / "b", "test");
    for (const auto& entry : fs::directory_iterator(folder.path()))
      if (entry.path().filename().string().starts_with("b.")) make_two_hours_old(entry.path());
    const std::size_t before = files_in(folder.path());
    remove_abandoned(folder.path(), "");
    EXPECT_EQ(files_in(folder.path()), before);
    make_two_hours_old(folder.write(name, "x"));
    remove_abandoned(folder.path(), "");
    EXPECT_EQ(files_in(folder.path()), before);
    alive.write("whole", 5);
    alive.commit();
  }
  EXPECT_EQ(read_file(folder.path() / "b"), "whole");
  if (::geteuid() != 0) return;
  const fs::path theirs = folder.write(name, "x");
  make_two_hours_old(theirs);
  ASSERT_EQ(::chown(theirs.c_str(), 65534, 65534), 0);
  remove_abandoned(folder.path(), "");
  EXPECT_TRUE(fs::exists(theirs)) << "it is another user's";
}

TEST(AtomicFile, ANewFileHasTheModeThatTheUmaskLeaves) {
  ScratchFolder folder;
  mode_t before = ::umask(027);
  write_whole(folder.path() / "a", "x");
  EXPECT_EQ(::umask(before), 027U) << "it is not changed";
  EXPECT_EQ(mode_of(folder.path() / "a") & 0777, 0640U);
}

TEST(AtomicFile, AFileThatIsReplacedHandsOnItsMode) {
  ScratchFolder folder;
  fs::path path = folder.write("a", "secret");
  for (mode_t mode : {0600U, 0664U, 0755U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    write_whole(path, "x");
    EXPECT_EQ(mode_of(path) & 0777, mode);
  }
}

TEST(AtomicFile, ALinkStaysAndWhatItLeadsToIsReplaced) {
  ScratchFolder folder;
  fs::create_directory(folder.path() / "far");
  folder.write("far/target", "old");
  fs::create_symlink("far/target", folder.path() / "near");
  fs::create_symlink(folder.path() / "near", folder.path() / "first");
  write_whole(folder.path() / "first", "new");
  EXPECT_TRUE(S_ISLNK(mode_of(folder.path() / "first")));
  EXPECT_TRUE(S_ISLNK(mode_of(folder.path() / "near")));
  EXPECT_EQ(read_file(folder.path() / "far/target"), "new");
  fs::create_symlink("not_yet", folder.path() / "empty");
  write_whole(folder.path() / "empty", "made");
  EXPECT_EQ(read_file(folder.path() / "not_yet"), "made");
  fs::create_symlink("round", folder.path() / "round");
  expect_contains(error_of([&] { AtomicFile(folder.path() / "round", "test"); }),
                  "is a link after too many others");
}

TEST(AtomicFile, ALinkOfAnotherUserInAFolderOfEverybodyIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a link of another user";
  ScratchFolder folder;
  fs::path victim = folder.write("victim", "mine");
  fs::create_directory(folder.path() / "tmp");
  ASSERT_EQ(::chmod((folder.path() / "tmp").c_str(), 01777), 0);
  fs::path link = folder.path() / "tmp/trace.json";
  fs::create_symlink(victim, link);
  ASSERT_EQ(::lchown(link.c_str(), 65534, 65534), 0);
  expect_contains(error_of([&] { AtomicFile(link, "test"); }),
                  "is a link that another user has put into a folder of everybody");
  EXPECT_EQ(read_file(victim), "mine");
}

// Without the sticky bit others could replace whole files there: the kernel follows such links too.
TEST(AtomicFile, ALinkOfAnotherUserWhereEverybodyMayReplaceFilesIsFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a link of another user";
  ScratchFolder folder;
  fs::create_directory(folder.path() / "shared");
  ASSERT_EQ(::chmod((folder.path() / "shared").c_str(), 0777), 0);
  fs::path target = folder.write("target", "old"), link = folder.path() / "shared/link";
  fs::create_symlink(target, link);
  ASSERT_EQ(::lchown(link.c_str(), 65534, 65534), 0);
  write_whole(link, "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(target), "new");
}

TEST(AtomicFile, APipeIsWrittenToAndStaysAPipe) {
  ScratchFolder folder;
  fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_contains(error_of([&] { write_whole(pipe, "x"); }), "[test] cannot write to");
  int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  AtomicFile(pipe, "test");  // as a check whether it can be written
  write_whole(pipe, "through");
  char text[16] = {};
  EXPECT_EQ(::read(reader, text, sizeof text), 7);
  EXPECT_STREQ(text, "through");
  ::close(reader);
  EXPECT_TRUE(S_ISFIFO(mode_of(pipe)));
  EXPECT_EQ(files_in(folder.path()), 1U);
}

// A folder of devices of the test's own, so that none of the machine's could be replaced.
TEST(AtomicFile, ADeviceIsWrittenToAndStaysADevice) {
  ScratchFolder folder;
  fs::path device = folder.path() / "null";
  if (::mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0)
    GTEST_SKIP() << "no device can be made here";
  int open = ::open(device.c_str(), O_WRONLY);
  if (open < 0) GTEST_SKIP() << "devices cannot be used in the folder of tests";
  ::close(open);
  write_whole(device, "gone");
  EXPECT_TRUE(S_ISCHR(mode_of(device)));
}

// As /dev/stdout is: a link to what the process has open, here a file that must not be replaced.
TEST(AtomicFile, WhatAProcessHasOpenIsWrittenTo) {
  ScratchFolder folder;
  fs::path path = folder.write("out", "before ");
  int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND);
  fs::create_symlink("/proc/self/fd/" + std::to_string(descriptor), folder.path() / "stdout");
  write_whole(folder.path() / "stdout", "through");
  ASSERT_EQ(::write(descriptor, " after", 6), 6);
  ::close(descriptor);
  EXPECT_EQ(read_file(path), "before through after");
}

TEST(AtomicFile, AFolderIsNoFile) {
  ScratchFolder folder;
  expect_contains(error_of([&] { AtomicFile(folder.path(), "test"); }),
                  "is a folder; the name of a file would be right");
}

}  // namespace
}  // namespace tilewright::atomic_file_test
