#include "tools/read_text.h"

#include <fstream>
#include <iostream>
#include <sstream>

#include "runtime/base/error.h"

namespace tilewright::tools {

std::string read_text(const std::string& command, const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream file(path);
  require(file.good(), "[", command, "] cannot read \"", path,
          "\"; name a file of tile IR, or - for input");
  text << file.rdbuf();
  return text.str();
}

}  // namespace tilewright::tools
