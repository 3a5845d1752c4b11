#include "tests/source_folder.h"

namespace tilewright {

std::filesystem::path source_folder() { return TILEWRIGHT_SOURCE_DIR; }

}  // namespace tilewright
