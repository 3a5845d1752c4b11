#include "runtime/files/private_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/cache_folder.h"
#include "tests/errors.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace {
std::string made_by_another;  // a folder that another process makes just before this one does
}  // namespace

extern "C" int mkdir(const char* path, mode_t mode) noexcept {
  if (path == made_by_another) ::syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

namespace tilewright::private_folder_test {
namespace {

namespace fs = std::filesystem;

class PrivateFolder : public testing::Test {
 protected:
  PrivateFolder() { fs::create_directories(inner); }
  static void set_mode(const fs::path& path, mode_t mode) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  std::string reason() const { return not_private(inner).value_or("none"); }
  ScratchFolder folder;
  fs::path outer = folder.path() / "outer", inner = outer / "inner";
};

TEST_F(PrivateFolder, IsOneThatNobodyElseCanWriteTo) {
  EXPECT_EQ(reason(), "none");
  for (mode_t mode : {0777U, 0707U, 01777U, 0770U}) {
    set_mode(inner, mode);
    EXPECT_EQ(reason(), inner.string() + " may be written by others");
  }
}

TEST_F(PrivateFolder, HasNoFolderAboveItThatOthersCanWriteTo) {
  set_mode(outer, 0777);
  EXPECT_EQ(reason(), outer.string() + " may be written by others");
  set_mode(outer, 01777);
  EXPECT_EQ(reason(), "none") << "as /tmp: what lies there cannot be replaced";
}

// Where each user has a group of the same number, as many systems set up, files are made for both.
TEST_F(PrivateFolder, MayBeWrittenByTheGroupThatHasItsUsersNumber) {
  set_mode(outer, 0770);
  for (gid_t group : {::geteuid(), 65534U}) {
    // Others than root can give folders to their own groups alone.
    if (::chown(outer.c_str(), ::geteuid(), group) != 0) continue;
    EXPECT_EQ(reason(),
              group == ::geteuid() ? "none" : outer.string() + " may be written by others");
  }
}

TEST_F(PrivateFolder, MayBeReachedByLinksOfTheUserToSuchFolders) {
  fs::path link = folder.path() / "link";
  fs::create_directory_symlink("outer", link);
  EXPECT_EQ(not_private(link / "inner").value_or("none"), "none");
  set_mode(outer, 0777);
  EXPECT_EQ(not_private(link / "inner").value_or("none"),
            (folder.path() / "outer").string() + " may be written by others");
  fs::create_directory_symlink("round", folder.path() / "round");
  EXPECT_EQ(not_private(folder.path() / "round").value_or("none"),
            (folder.path() / "round").string() + " is not a folder");
}

TEST_F(PrivateFolder, IsNoOtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  ASSERT_EQ(::chown(outer.c_str(), 65534, 65534), 0);
  EXPECT_EQ(reason(), outer.string() + " is another user's");
  ASSERT_EQ(::chown(outer.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(inner.c_str(), 65534, 65534), 0);
  EXPECT_EQ(reason(), inner.string() + " is another user's");
}

TEST_F(PrivateFolder, CachesAreKeptInNoOtherAndTheReasonIsTold) {
  Setting cache("TILEWRIGHT_CACHE_DIR", inner.c_str());
  EXPECT_EQ(cache_folder("part"), inner / "part");
  EXPECT_EQ(fs::status(inner / "part").permissions(), fs::perms::owner_all);
  set_mode(outer, 0777);
  EXPECT_EQ(cache_folder("part"), fs::path());
  EXPECT_EQ(find_cache_folder("part").why_not, outer.string() + " may be written by others");
  Setting relative("TILEWRIGHT_CACHE_DIR", "here");
  EXPECT_EQ(find_cache_folder("part").why_not,
            "the folder \"here\" of TILEWRIGHT_CACHE_DIR is not an absolute path");
  for (const char* word : {"off", "OFF"}) {
    Setting off("TILEWRIGHT_CACHE_DIR", word);
    EXPECT_EQ(find_cache_folder("part").why_not, "TILEWRIGHT_CACHE_DIR is off");
  }
}

// Runs in a process of its own, because the message is printed once per process.
TEST(PrivateFolderDeathTest, ThatNothingIsKeptInARelativeFolderIsSaidOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Setting relative("TILEWRIGHT_CACHE_DIR", "here");
  EXPECT_EXIT(
      {
        cache_folder("part");
        cache_folder("other");
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "^tilewright: nothing is kept: the folder \"here.*\" of TILEWRIGHT_CACHE_DIR is not an "
      "absolute path\n$");
}

TEST_F(PrivateFolder, NothingIsMadeWhereOthersCouldChangeIt) {
  set_mode(outer, 0777);
  EXPECT_EQ(make_private(outer / "new" / "part").value_or("none"),
            outer.string() + " may be written by others");
  EXPECT_FALSE(fs::exists(outer / "new"));
  set_mode(outer, 01777);
  EXPECT_EQ(make_private(outer / "new" / "part").value_or("none"), "none");
  EXPECT_EQ(fs::status(outer / "new").permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(outer / "new" / "part").permissions(), fs::perms::owner_all);
  fs::create_symlink("inner", outer / "link");
  EXPECT_EQ(make_private(outer / "link" / "part").value_or("none"), "none") << "one's own link";
  EXPECT_TRUE(fs::is_directory(inner / "part"));
  folder.write("file", "");
  EXPECT_EQ(make_private(folder.path() / "file" / "part").value_or("none"),
            (folder.path() / "file" / "part").string() + " cannot be looked at: Not a directory");
}

TEST_F(PrivateFolder, MayBeMadeByAnotherProcessAtTheSameTime) {
  made_by_another = inner / "new";
  const auto problem = make_private(inner / "new" / "part");
  made_by_another.clear();
  EXPECT_EQ(problem.value_or("none"), "none");
  EXPECT_TRUE(fs::is_directory(inner / "new" / "part"));
}

// As in /tmp: somebody has put a link there that leads to a folder of the user's.
TEST_F(PrivateFolder, NothingIsMadeBehindAnotherUsersLink) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give links away";
  set_mode(outer, 01777);
  fs::create_directory(folder.path() / "victim");
  fs::path link = outer / "c";
  fs::create_directory_symlink(folder.path() / "victim", link);
  ASSERT_EQ(::lchown(link.c_str(), 65534, 65534), 0);
  Setting cache("TILEWRIGHT_CACHE_DIR", link.c_str());
  EXPECT_EQ(find_cache_folder("part").why_not, link.string() + " is another user's");
  EXPECT_TRUE(fs::is_empty(folder.path() / "victim"));
  EXPECT_EQ(open_to_anybody(link / "new" / "tuning.db").value_or("none"),
            link.string() + " is another user's link, in a folder of everybody");
}

TEST_F(PrivateFolder, AFileToBeWrittenMayBeInTheFolderOfAGroupButNotOfEverybody) {
  fs::path file = inner / "shared.db";
  auto reason_of_file = [&] { return open_to_anybody(file).value_or("none"); };
  set_mode(inner, 0770);
  EXPECT_EQ(reason_of_file(), "none");
  set_mode(inner, 0777);
  EXPECT_EQ(reason_of_file(), inner.string() + " may be written by everybody");
  set_mode(inner, 01777);
  EXPECT_EQ(reason_of_file(), "none");
  fs::create_symlink("elsewhere", file);
  EXPECT_EQ(reason_of_file(), file.string() + " is a link in a folder of everybody");
  fs::create_directory_symlink(outer, inner / "own");
  EXPECT_EQ(open_to_anybody(inner / "own" / "a.db").value_or("none"), "none") << "one's own link";
  if (::geteuid() != 0) return;
  fs::remove(file);
  folder.write("outer/inner/shared.db", "");
  ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
  EXPECT_EQ(reason_of_file(), file.string() + " is another user's, in a folder of everybody");
}

}  // namespace
}  // namespace tilewright::private_folder_test
