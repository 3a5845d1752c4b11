// The mappings of this process, as the kernel lists them: code is what is executable.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace tilewright {

struct Mappings {
  std::int64_t all = 0, executable = 0;
  std::int64_t code_bytes = 0;  // of executable ones; neighbours may be one mapping
  std::string writable_code;    // the first such line
};

inline Mappings mappings() {
  Mappings found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    ++found.all;
    const std::string rights = line.substr(line.find(' ') + 1, 4);
    if (rights[2] != 'x') continue;
    ++found.executable;
    const std::size_t dash = line.find('-');
    found.code_bytes += static_cast<std::int64_t>(std::stoull(line.substr(dash + 1), nullptr, 16) -
                                                  std::stoull(line, nullptr, 16));
    if (rights[1] == 'w' && found.writable_code.empty()) found.writable_code = line;
  }
  return found;
}

}  // namespace tilewright
