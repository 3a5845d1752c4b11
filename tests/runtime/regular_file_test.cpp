#include "runtime/files/regular_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "tests/errors.h"
#include "tests/scratch_folder.h"

namespace tilewright::regular_file_test {
namespace {

namespace fs = std::filesystem;

std::string error_for(const fs::path& file) {
  return error_of([&] { read_regular_file(file, "plan", 8); });
}

TEST(RegularFile, IsReadAsItIsAndThroughLinks) {
  ScratchFolder folder;
  fs::path file = folder.write("file", std::string_view("a\0b\n", 4));
  EXPECT_EQ(read_regular_file(file, "plan", 4), std::string_view("a\0b\n", 4));
  fs::create_symlink("file", folder.path() / "link");
  EXPECT_EQ(read_regular_file(folder.path() / "link", "plan", 4).size(), 4U);
  EXPECT_EQ(read_regular_file(folder.write("empty", ""), "plan", 0), "");
}

// Files of the kernel are like that, and so are those that another process truncates: the existing
// part is read, whatever the last error was.
TEST(RegularFile, MayEndBeforeItsSize) {
  const fs::path file = "/sys/devices/system/cpu/online";
  if (!fs::is_regular_file(file)) GTEST_SKIP() << "there is no " << file;
  errno = EINTR;
  const std::string text = read_regular_file(file, "plan", 1 << 20);
  EXPECT_LT(text.size(), fs::file_size(file));
  EXPECT_EQ(text.rfind('0', 0), 0U) << text;  // the first processor
}

TEST(RegularFile, IsMappedAndKeepsWhatItHadWhenItIsReplaced) {
  ScratchFolder folder;
  const fs::path file = folder.write("file", "old bytes");
  const auto mapped = map_regular_file(file, "plan", 9);
  ASSERT_TRUE(mapped);
  auto text = [&] {
    return std::string_view(reinterpret_cast<const char*>(mapped->bytes.data()),
                            mapped->bytes.size());
  };
  EXPECT_EQ(text(), "old bytes");
  fs::rename(folder.write("other", "new"), file);
  EXPECT_EQ(text(), "old bytes");
  fs::remove(file);
  EXPECT_EQ(text(), "old bytes");
  const auto empty = map_regular_file(folder.write("empty", ""), "plan", 0);
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->bytes.empty());
  EXPECT_EQ(error_of([&] { map_regular_file("/dev/zero", "plan", 9); }),
            "[plan] /dev/zero is not a regular file; give the name of one");
  EXPECT_EQ(error_of([&] { map_regular_file(folder.write("longer", "123456789"), "plan", 8); }),
            "[plan] " + (folder.path() / "longer").string() + " has 9 bytes; at most 8 are read");
}

TEST(RegularFile, IsNoPipeDeviceOrFolder) {
  ScratchFolder folder;
  fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const fs::path& file : {pipe, fs::path("/dev/zero"), folder.path()})
    EXPECT_EQ(error_for(file),
              "[plan] " + file.string() + " is not a regular file; give the name of one");
}

TEST(RegularFile, ThatIsNotThereOrTooLongIsNamed) {
  ScratchFolder folder;
  fs::path none = folder.path() / "none", longer = folder.write("longer", "123456789");
  EXPECT_EQ(error_for(none), "[plan] cannot read " + none.string() + ": No such file or directory");
  EXPECT_EQ(error_for(longer), "[plan] " + longer.string() + " has 9 bytes; at most 8 are read");
  fs::create_symlink("loop", folder.path() / "loop");
  expect_contains(error_for(folder.path() / "loop"), "Too many levels of symbolic links");
}

}  // namespace
}  // namespace tilewright::regular_file_test
