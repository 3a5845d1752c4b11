// Folders for the tests of models: a scratch folder that goes away, and the folder of trained
// models, which is not part of the project.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace tilewright::testing {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tilewright-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(std::string_view name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// TILEWRIGHT_TEST_MODELS, else ../shared/models beside the checkout.
inline std::optional<std::filesystem::path> trained_model(std::string_view name) {
  const char* chosen = std::getenv("TILEWRIGHT_TEST_MODELS");
  std::filesystem::path root =
      chosen ? chosen : std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "../shared/models";
  std::error_code ignored;
  if (!std::filesystem::exists(root / name / "config.json", ignored)) return std::nullopt;
  return root / name;
}

// Skips the test, visibly, where the model is not there.
#define TILEWRIGHT_TRAINED_MODEL(variable, name)            \
  auto variable = tilewright::testing::trained_model(name); \
  if (!variable)                                            \
  GTEST_SKIP() << "no folder " << name << " in TILEWRIGHT_TEST_MODELS or ../shared/models"

}  // namespace tilewright::testing
