#include "tests/source_folder.h"

#include <algorithm>

namespace tilewright {

namespace fs = std::filesystem;

fs::path source_folder() { return TILEWRIGHT_SOURCE_DIR; }

fs::path data_folder() { return TILEWRIGHT_DATA_DIR; }

std::vector<fs::path> documents() {
  std::vector<fs::path> found;
  auto take = [&](const fs::path& path) {
    if (path.extension() == ".md") found.push_back(path);
  };
  for (const auto& entry : fs::directory_iterator(source_folder())) take(entry.path());
  for (const char* folder :
       {"docs", "runtime", "dsl", "autotune", "graph", "models", "tools", "examples", "tests"})
    for (const auto& entry : fs::recursive_directory_iterator(source_folder() / folder))
      take(entry.path());
  std::ranges::sort(found);
  return found;
}

}  // namespace tilewright
