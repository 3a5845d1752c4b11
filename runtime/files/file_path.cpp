#include "runtime/files/file_path.h"

#include <filesystem>

namespace tilewright {

FilePath FilePath::operator/(std::string_view name) const {
  return std::filesystem::path(name_) / name;
}

std::string_view FilePath::filename() const {
  return std::string_view(name_).substr(name_.rfind('/') + 1);
}

}  // namespace tilewright
