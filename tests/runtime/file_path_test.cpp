// Names of files, made of what programs have and compared with it.
#include "runtime/files/file_path.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <type_traits>

namespace tilewright::file_path_test {
namespace {

namespace fs = std::filesystem;

TEST(FilePath, IsMadeOfStringsAndPaths) {
  const FilePath made[] = {"a/b",
                           std::string("a/b"),
                           std::string_view("a/b"),
                           u8"a/b",
                           std::u8string(u8"a/b"),
                           fs::path("a") / "b",
                           FilePath("a") / "b"};
  for (const FilePath& path : made) {
    EXPECT_EQ(path, "a/b");
    EXPECT_EQ(path, fs::path("a/b"));
    EXPECT_NE(path, std::string("a/c"));
    EXPECT_EQ(path.filename(), "b");
    EXPECT_EQ(fs::path(path), fs::path("a/b"));
  }
  static_assert(!std::is_constructible_v<FilePath, std::nullptr_t>);
  static_assert(!std::is_constructible_v<FilePath, int>);
}

TEST(FilePath, HasTheLastPartOfItsName) {
  EXPECT_EQ(FilePath("model.onnx").filename(), "model.onnx");
  EXPECT_EQ(FilePath("/").filename(), "");
  EXPECT_EQ(FilePath("a/").filename(), "");
  EXPECT_EQ(FilePath("a") / "/b", "/b");
}

TEST(FilePath, IsPrintedAsItIs) {
  std::ostringstream text;
  text << FilePath("a b");
  EXPECT_EQ(text.str(), "a b");
}

}  // namespace
}  // namespace tilewright::file_path_test
