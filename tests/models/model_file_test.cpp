#include "models/files/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "models/decoder/decoder_families.h"
#include "models/tokenizer/tokenizer.h"
#include "models/weights/safetensors.h"
#include "models/weights/weights.h"
#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::model_file_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ScratchFolder;

std::string text_in(const fs::path& folder, const std::string& name,
                    ModelFileOptions options = {}) {
  return open_model_file(folder, name, "test", options)->text(1000, "test");
}
std::string error_in(const fs::path& folder, const std::string& name) {
  return error_of([&] { text_in(folder, name); });
}

TEST(ModelFile, IsReadWhereItLies) {
  ScratchFolder folder;
  folder.write("a.json", "text");
  EXPECT_EQ(text_in(folder.path(), "a.json"), "text");
  EXPECT_THAT(error_in(folder.path(), "b.json"), HasSubstr("b.json: cannot be opened: No such"));
  EXPECT_THAT(error_in(folder.path() / "none", "b.json"), HasSubstr("cannot be opened: No such"));
}

TEST(ModelFile, MayBeALinkToAnotherFileOfTheFolder) {
  ScratchFolder folder;
  folder.write("a.json", "text");
  fs::create_symlink("a.json", folder.path() / "relative");
  fs::create_symlink(folder.path() / "relative", folder.path() / "absolute");
  EXPECT_EQ(text_in(folder.path(), "relative"), "text");
  EXPECT_EQ(text_in(folder.path(), "absolute"), "text");
}

TEST(ModelFile, LiesBehindWhateverTheUserNames) {
  ScratchFolder folder, elsewhere;
  folder.write("a.json", "text");
  fs::create_symlink("a.json", folder.path() / "link");
  fs::create_directory_symlink(folder.path(), elsewhere.path() / "model");
  EXPECT_EQ(text_in(elsewhere.path() / "model", "a.json"), "text");
  EXPECT_EQ(text_in(elsewhere.path() / "model", "link"), "text");
  EXPECT_EQ(text_in(elsewhere.path() / "model/", "a.json"), "text");
}

TEST(ModelFile, IsNoLinkOutOfTheFolderUnlessAllowed) {
  ScratchFolder folder, elsewhere;
  elsewhere.write("secret", "text");
  fs::create_symlink(elsewhere.path() / "secret", folder.path() / "a.json");
  fs::create_symlink("a.json", folder.path() / "two_steps");
  for (const char* name : {"a.json", "two_steps"}) {
    EXPECT_THAT(error_in(folder.path(), name),
                HasSubstr("is a link out of the model's folder, to"));
    EXPECT_THAT(error_in(folder.path(), name), HasSubstr("; set links_may_leave (--follow-links)"));
    EXPECT_EQ(text_in(folder.path(), name, {.links_may_leave = true}), "text");
  }
  fs::create_directory(folder.path() / "inner");
  folder.write("inner/deep", "text");
  fs::create_symlink("inner/deep", folder.path() / "deep");
  EXPECT_THAT(error_in(folder.path(), "deep"), HasSubstr("is a link out of"));
}

// models--OWNER--NAME/snapshots/REVISION/config.json -> ../../blobs/HASH
TEST(ModelFile, MayBeALinkToTheBlobsOfItsOwnRepository) {
  ScratchFolder cache;
  fs::path own = cache.path() / "models--o--n", other = cache.path() / "models--o--m";
  fs::path snapshot = own / "snapshots" / "1234";
  for (const fs::path& path : {own / "blobs", other / "blobs", snapshot / "part", own / "refs"})
    fs::create_directories(path);
  std::ofstream(own / "blobs" / "abc") << "text";
  std::ofstream(other / "blobs" / "abc") << "another's";
  std::ofstream(own / "refs" / "main") << "another's";
  fs::create_symlink("../../blobs/abc", snapshot / "config.json");
  fs::create_symlink("../../../blobs/abc", snapshot / "part" / "config.json");
  fs::create_symlink("../../../models--o--m/blobs/abc", snapshot / "other.json");
  fs::create_symlink("../../refs/main", snapshot / "refs.json");
  EXPECT_EQ(text_in(snapshot, "config.json"), "text");
  EXPECT_EQ(text_in(snapshot / "part", "config.json"), "text");
  EXPECT_THAT(error_in(snapshot, "other.json"), HasSubstr("is a link out of"));
  EXPECT_THAT(error_in(snapshot, "refs.json"), HasSubstr("is a link out of"));
  // A folder that only looks like one of the cache.
  fs::create_directories(cache.path() / "snapshots" / "1");
  fs::create_directories(cache.path() / "blobs");
  std::ofstream(cache.path() / "blobs" / "abc") << "text";
  fs::create_symlink("../../blobs/abc", cache.path() / "snapshots" / "1" / "config.json");
  EXPECT_THAT(error_in(cache.path() / "snapshots" / "1", "config.json"),
              HasSubstr("is a link out of"));
}

TEST(ModelFile, IsARegularFileWithAPlainName) {
  ScratchFolder folder;
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", folder.path() / "link");
  fs::create_directory(folder.path() / "folder");
  for (const char* name : {"pipe", "link", "folder"})
    EXPECT_THAT(error_in(folder.path(), name), HasSubstr("not a regular file")) << name;
  for (const char* name : {"", ".", "..", "folder/a", "/etc/passwd", "a\nb"})
    EXPECT_THAT(error_in(folder.path(), name), HasSubstr("only plain file names")) << name;
}

// A process that puts a link in the place of the file, over and over: `open` gives the file or
// refuses, and never follows the link.
TEST(ModelFile, IsNeverWhatALinkPutThereMeanwhileLeadsTo) {
  ScratchFolder folder, elsewhere;
  elsewhere.write("secret", "secret");
  std::atomic<bool> ends = false;
  std::thread swapper([&] {
    for (int i = 0; !ends; ++i) {
      fs::path next = folder.path() / "next";
      if (i % 2 == 0)
        folder.write("next", "good");
      else
        fs::create_symlink(elsewhere.path() / "secret", next);
      fs::rename(next, folder.path() / "a.json");
    }
  });
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    std::string error = error_of([&] { text = text_in(folder.path(), "a.json"); });
    EXPECT_THAT(text, Not(HasSubstr("secret")));
  }
  ends = true;
  swapper.join();
}

TEST(ForeignFile, ThatHasBecomeShorterIsAnErrorHoweverItIsRead) {
  ScratchFolder folder;
  fs::path path = folder.write("a", std::string(100'000, 'x'));
  auto file = ForeignFile::open(path, "test");
  fs::resize_file(path, 10);
  EXPECT_THAT(error_of([&] { file->text(1 << 20, "test"); }),
              HasSubstr("ended at byte 10 of 100000; another process changes it"));
  EXPECT_THAT(error_of([&] { file->hold(Reading::copied, "test"); }),
              HasSubstr("ended at byte 10"));
  EXPECT_THAT(error_of([&] { ForeignFile::open(path, "test")->text(9, "test"); }),
              HasSubstr("10 bytes of JSON; at most 9 are allowed"));
}

// The data of `bytes` bytes, in one tensor.
std::string file_of(std::size_t bytes) {
  std::string header =
      concat(R"({"a":{"dtype":"U8","shape":[)", bytes, R"(],"data_offsets":[0,)", bytes, "]}}");
  std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(bytes, '\1');
}

TEST(Safetensors, ThatIsCutAfterItWasOpenedIsAnErrorEverywhere) {
  ScratchFolder folder;
  std::string bytes = file_of(1 << 20);
  auto open = [&] { return ForeignFile::open(folder.write("w", bytes), "test"); };
  auto cut = [&](std::size_t size) { fs::resize_file(folder.path() / "w", size); };
  for (std::size_t size : {0, 7, 8, 30}) {  // within the header
    auto file = open();
    cut(size);
    EXPECT_THAT(error_of([&] { Safetensors::of(file); }),
                HasSubstr(concat("ended at byte ", size)));
  }
  auto file = open();
  cut(4096);
  EXPECT_THAT(error_of([&] { Safetensors::of(file, {.scan_non_finite = true}); }),
              HasSubstr("ended at byte 4096 of"));
  Safetensors opened = Safetensors::of(open());
  cut(4096);
  EXPECT_THAT(error_of([&] { opened.tensor("a"); }), HasSubstr("ended at byte 4096 of"));
  Safetensors copied = Safetensors::of(open(), {.reading = Reading::copied});
  cut(4096);
  EXPECT_EQ(copied.tensor("a").to_vector<std::uint8_t>(), std::vector<std::uint8_t>(1 << 20, 1));
}

TEST(Safetensors, IsMappedOnlyWhereThatIsAskedFor) {
  ScratchFolder folder;
  std::string path = folder.write("weights_of_this_test", file_of(1 << 20)).string();
  auto is_mapped = [&] { return read_file("/proc/self/maps").find(path) != std::string::npos; };
  Safetensors file = Safetensors::open(path);
  Tensor a = file.tensor("a");
  EXPECT_FALSE(is_mapped());
  Safetensors mapped = Safetensors::open(path, {.reading = Reading::mapped});
  EXPECT_TRUE(is_mapped());
}

}  // namespace
}  // namespace tilewright::model_file_test
