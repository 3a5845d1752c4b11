// Folders for the tests of models: a scratch folder that goes away, and the folder of small models
// (tests/data).
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "tests/scratch_folder.h"
#include "tests/source_folder.h"

namespace tilewright::testing {

using tilewright::read_file;
using tilewright::ScratchFolder;

// TILEWRIGHT_TEST_MODELS, else those of the tree.
inline std::filesystem::path models_root() {
  const char* chosen = std::getenv("TILEWRIGHT_TEST_MODELS");
  return chosen ? chosen : data_folder() / "models";
}

inline std::optional<std::filesystem::path> trained_model(std::string_view name) {
  std::filesystem::path root = models_root();
  std::error_code ignored;
  if (!std::filesystem::exists(root / name / "config.json", ignored)) return std::nullopt;
  return root / name;
}

#define TILEWRIGHT_TRAINED_MODEL(variable, name)            \
  auto variable = tilewright::testing::trained_model(name); \
  ASSERT_TRUE(variable.has_value())                         \
      << "no model " << name << " in " << tilewright::testing::models_root()

}  // namespace tilewright::testing
