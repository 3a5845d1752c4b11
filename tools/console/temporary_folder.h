// A folder that belongs to this process alone (mkdtemp), since others could put a link where they
// foresee a name; it goes with the object.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "runtime/base/error.h"

namespace tilewright::tools {

class TemporaryFolder {
 public:
  // `beginning` of its path; six letters follow. Raises `Error` "[command] ...".
  TemporaryFolder(const char* command, const std::filesystem::path& beginning) {
    std::string name = beginning.string() + "XXXXXX";
    const bool is_made = ::mkdtemp(name.data()) != nullptr;
    const int problem = errno;
    require(is_made, "[", command, "] cannot make the folder ", name, ": ", std::strerror(problem));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tilewright::tools
