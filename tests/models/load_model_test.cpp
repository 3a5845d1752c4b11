// Loading a model from a folder: one that is cut meanwhile, links out of it, and the cache of
// Hugging Face.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "models/decoder/language_model.h"
#include "models/decoder/load_model.h"
#include "models/tokenizer/tokenizer.h"
#include "models/weights/safetensors.h"
#include "models/weights/weights.h"
#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::load_model_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::ScratchFolder;

// Changes that another process makes to a folder while it is loaded.
TEST(LoadModel, OfAFolderThatIsCutMeanwhileSucceedsOrSaysSo) {
  TILEWRIGHT_TRAINED_MODEL(trained, "stories260K");
  ScratchFolder folder;
  auto fill = [&] {
    for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"})
      fs::copy_file(*trained / name, folder.path() / name, fs::copy_options::overwrite_existing);
    fs::permissions(folder.path() / "model.safetensors", fs::perms::owner_all);
  };
  int refused = 0;
  for (int round = 0; round < 50; ++round) {
    fill();
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(100 * (round % 25)));
      fs::resize_file(folder.path() / "model.safetensors", 4096);
    });
    if (round == 0) other.join();  // it is cut already
    std::string error = error_of([&] { load_model(folder.path()); });
    if (other.joinable()) other.join();
    refused += error != "no error";
    if (error == "no error") continue;
    EXPECT_TRUE(error.find("another process changes it") != error.npos ||
                error.find("cut short") != error.npos)
        << error;
  }
  EXPECT_GT(refused, 0);
}

TEST(LoadModel, ReadsNoFileThroughALinkOutOfItsFolder) {
  TILEWRIGHT_TRAINED_MODEL(trained, "stories260K");
  for (std::string linked : {"config.json", "tokenizer.json", "model.safetensors"}) {
    ScratchFolder folder;
    for (std::string name : {"config.json", "tokenizer.json", "model.safetensors"})
      if (name == linked)
        fs::create_symlink(fs::canonical(*trained) / name, folder.path() / name);
      else
        fs::copy_file(*trained / name, folder.path() / name);
    auto load = [&](bool links_may_leave) {
      Tokenizer::open(folder.path() / "tokenizer.json", {.links_may_leave = links_may_leave});
      load_model(folder.path(), {.links_may_leave = links_may_leave});
    };
    EXPECT_THAT(error_of([&] { load(false); }),
                HasSubstr(linked + ": is a link out of the model's folder"));
    EXPECT_EQ(error_of([&] { load(true); }), "no error");
  }
}

TEST(LoadModel, ReadsAFolderOfTheHuggingFaceCache) {
  TILEWRIGHT_TRAINED_MODEL(trained, "stories260K");
  ScratchFolder cache;
  fs::path repository = cache.path() / "models--karpathy--stories";
  fs::path snapshot = repository / "snapshots" / "1f2e";
  fs::create_directories(repository / "blobs");
  fs::create_directories(snapshot);
  int blob = 0;
  for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"}) {
    std::string hash = concat("blob", ++blob);
    fs::copy_file(*trained / name, repository / "blobs" / hash);
    fs::create_symlink(fs::path("../../blobs") / hash, snapshot / name);
  }
  fs::create_directory_symlink(snapshot, cache.path() / "by_another_name");
  for (const fs::path& folder : {snapshot, cache.path() / "by_another_name"}) {
    EXPECT_EQ(Tokenizer::open(folder / "tokenizer.json").size(), 512);
    EXPECT_EQ(load_model(folder)->vocabulary(), 512);
  }
}

}  // namespace
}  // namespace tilewright::load_model_test
