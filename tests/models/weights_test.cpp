#include <filesystem>

#include "models/weights/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::weights_test {
namespace {

using ::testing::HasSubstr;
using testing::ScratchFolder;

constexpr const char* index_name = "model.safetensors.index.json";

void save(const std::filesystem::path& path, const std::string& name, float value) {
  save_safetensors(path, {{name, Tensor::from<float>({value}, {1})}});
}
float value_of(const Weights& weights, const std::string& name) {
  Tensor into = Tensor::empty(weights.shape(name), f32);
  weights.read(name, into);
  return into.item<float>();
}
std::string error_with_index(const ScratchFolder& folder, std::string_view text) {
  folder.write(index_name, text);
  return error_of([&] { Weights::open(folder.path()); });
}

TEST(Weights, ReadsAFolderWithOneFile) {
  ScratchFolder folder;
  save(folder.path() / "model.safetensors", "a", 3);
  Weights weights = Weights::open(folder.path());
  EXPECT_EQ(weights.names(), std::vector<std::string>{"a"});
  EXPECT_EQ(value_of(weights, "a"), 3);
}

TEST(Weights, ReadsAFolderWithShards) {
  ScratchFolder folder;
  save(folder.path() / "1.safetensors", "a", 3);
  save(folder.path() / "2.safetensors", "b", 4);
  folder.write(index_name, R"({"metadata":{"total_size":8},)"
                           R"("weight_map":{"a":"1.safetensors","b":"2.safetensors"}})");
  Weights weights = Weights::open(folder.path());
  EXPECT_EQ(value_of(weights, "a"), 3);
  EXPECT_EQ(value_of(weights, "b"), 4);
}

TEST(Weights, RefusesAnEmptyFolder) {
  ScratchFolder folder;
  EXPECT_THAT(error_of([&] { Weights::open(folder.path()); }),
              HasSubstr("holds neither model.safetensors nor model.safetensors.index.json"));
}

// A file of 20 MB, of which the rest is gone after the first piece was read.
TEST(Weights, ThatAreCutWhileTheyAreReadAreAnError) {
  ScratchFolder folder;
  std::filesystem::path path = folder.path() / "model.safetensors";
  std::int64_t count = 5 << 20;
  for (DType type : {f32, bf16}) {
    save_safetensors(path, {{"a", full({count}, 1.5, f32)}});
    Safetensors file = Safetensors::open(path);
    Tensor into = Tensor::empty({count}, type);
    auto cut = [&](std::int64_t) { std::filesystem::resize_file(path, 4096); };
    EXPECT_THAT(error_of([&] { file.read("a", into, cut); }),
                HasSubstr("; another process changes it"));
  }
}

TEST(Weights, RefusesNamesOfFilesWithControlCharacters) {
  ScratchFolder folder;
  for (std::string name : {"a\\u001b]0;gone\\u0007", "a\\n", "\\u007f"}) {
    std::string error = error_with_index(folder, R"({"weight_map":{"a":")" + name + "\"}}");
    EXPECT_THAT(error, HasSubstr("only plain file names in the model's own folder are allowed"));
    for (char c : error) EXPECT_GE(c, ' ');
  }
}

TEST(Weights, RefusesFileNamesThatLeadElsewhere) {
  ScratchFolder folder;
  for (std::string name : {"../x", "/etc/passwd", "..", ".", "", "a/b", "a\\\\b", "a\\u0000b"})
    EXPECT_THAT(error_with_index(folder, R"({"weight_map":{"a":")" + name + "\"}}"),
                HasSubstr("only plain file names in the model's own folder are allowed"))
        << name;
}

TEST(Weights, ShowsTheWholeMessageForANameWithNul) {
  ScratchFolder folder;
  EXPECT_THAT(error_with_index(folder, R"({"weight_map":{"a":"a\u0000b"}})"),
              HasSubstr("the file \"a?b\"; only plain"));
}

TEST(Weights, RefusesLinksOutOfTheFolderUnlessAllowed) {
  ScratchFolder folder, elsewhere;
  save(elsewhere.path() / "w", "a", 5);
  std::filesystem::create_symlink(elsewhere.path() / "w", folder.path() / "1.safetensors");
  EXPECT_THAT(error_with_index(folder, R"({"weight_map":{"a":"1.safetensors"}})"),
              HasSubstr("is a link out of the model's folder"));
  EXPECT_EQ(value_of(Weights::open(folder.path(), {.links_may_leave = true}), "a"), 5);
}

TEST(Weights, RefusesFilesWithASecondNameWhereThatIsAskedFor) {
  ScratchFolder folder, elsewhere;
  save(folder.path() / "model.safetensors", "a", 5);
  WeightsOptions strict{.refuse_hard_links = true};
  EXPECT_EQ(value_of(Weights::open(folder.path(), strict), "a"), 5);
  std::filesystem::create_hard_link(folder.path() / "model.safetensors", elsewhere.path() / "w");
  EXPECT_THAT(error_of([&] { Weights::open(folder.path(), strict); }),
              HasSubstr("has 2 names (hard links); copy it, or clear refuse_hard_links"));
  EXPECT_EQ(value_of(Weights::open(folder.path()), "a"), 5);
}

TEST(Weights, RefusesAnIndexThatDiffersFromItsFiles) {
  ScratchFolder folder;
  save(folder.path() / "1.safetensors", "a", 3);
  save(folder.path() / "2.safetensors", "b", 4);
  EXPECT_THAT(
      error_with_index(folder, R"({"weight_map":{"a":"1.safetensors","c":"1.safetensors"}})"),
      HasSubstr("holds 1 tensors; the index places 2 there"));
  EXPECT_THAT(error_with_index(folder, R"({"weight_map":{"c":"1.safetensors"}})"),
              HasSubstr("holds tensor \"a\", which the index does not name"));
  EXPECT_THAT(
      error_with_index(folder, R"({"weight_map":{"a":"2.safetensors","b":"1.safetensors"}})"),
      HasSubstr("which the index places in another file"));
  EXPECT_THAT(error_with_index(folder, R"({"weight_map":{"a":"3.safetensors"}})"),
              HasSubstr("No such file"));
}

TEST(Weights, RefusesAnIndexOfAnotherForm) {
  ScratchFolder folder;
  EXPECT_THAT(error_with_index(folder, "{}"), HasSubstr("has no weight_map"));
  EXPECT_THAT(error_with_index(folder, R"({"weight_map":[]})"), HasSubstr("has a list"));
  EXPECT_THAT(error_with_index(folder, R"({"weight_map":{"a":1}})"), HasSubstr("has 1 at \"a\""));
  EXPECT_THAT(error_with_index(folder, R"({"weight_map":{"a":{}}})"), HasSubstr("holds an object"));
  EXPECT_THAT(error_with_index(folder, R"({"weight_map":{"a":"x","a":"y"}})"),
              HasSubstr("tensor \"a\" appears twice"));
  EXPECT_THAT(error_with_index(folder, std::string(100, '[')), HasSubstr("nested deeper than 8"));
}

TEST(Weights, ComeFromTensorsInMemoryToo) {
  auto weights = Weights::of({{"a", Tensor::from<BFloat16>({BFloat16(2.0F)}, {1})}});
  EXPECT_EQ(weights.dtype("a"), bf16);
  EXPECT_EQ(value_of(weights, "a"), 2);
  EXPECT_THAT(error_of([&] { weights.shape("b"); }), HasSubstr("there is no tensor \"b\""));
}

}  // namespace
}  // namespace tilewright::weights_test
