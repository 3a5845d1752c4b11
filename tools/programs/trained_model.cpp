#include "tools/programs/trained_model.h"

#include <vector>

#include "runtime/base/env.h"
#include "tools/console/misuse.h"

namespace tilewright::tools {
namespace {

namespace fs = std::filesystem;

// Folders of models: of the build, and of an installation.
std::vector<fs::path> folders_of_models() {
  if (const std::string named = env::test_models(); !named.empty()) return {named};
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  return {program / "data/models", program.parent_path() / "share/tilewright/models"};
}

}  // namespace

fs::path trained_model(const std::string& command) {
  std::vector<std::string> places;
  for (const fs::path& folder : folders_of_models()) {
    fs::path model = folder / "stories260K";
    if (std::error_code none; fs::exists(model / "config.json", none)) return model;
    places.push_back(model.string());
  }
  throw Misuse(concat("[", command, "] there is no trained model in ", listed(places),
                      "; TILEWRIGHT_TEST_MODELS names the folder that stories260K is in"));
}

}  // namespace tilewright::tools
