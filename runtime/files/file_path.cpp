#include "runtime/files/file_path.h"

#include <filesystem>

namespace tilewright {

FilePath FilePath::operator/(std::string_view name) const {
  return std::filesystem::path(name_) / name;
}

}  // namespace tilewright
