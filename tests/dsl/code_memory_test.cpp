// Memory with compiled code is never both writable and executable: what could write over code could
// run anything.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "dsl/language/kernel.h"
#include "dsl/language/tile.h"

namespace tilewright::dsl {
namespace {

struct Mappings {
  int executable = 0;
  std::string writable_too;  // the first such line
};

Mappings mappings() {
  Mappings found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::string rights = line.substr(line.find(' ') + 1, 4);
    if (rights[2] != 'x') continue;
    ++found.executable;
    if (rights[1] == 'w' && found.writable_too.empty()) found.writable_too = line;
  }
  return found;
}

TEST(CodeMemory, IsNeverWritableAndExecutable) {
  const int before = mappings().executable;
  std::vector<float> x(64, 2), y(64);
  for (int times = 1; times <= 8; ++times) {
    Kernel scaled("scaled", [times](Pointer from, Pointer to) {
      Tile i = arange(0, 64);
      store(to + i, exp(load(from + i)) * times);
    });
    scaled.launch(1, x, y);
    EXPECT_EQ(mappings().writable_too, "");
  }
  EXPECT_GT(mappings().executable, before) << "no code was made";
}

}  // namespace
}  // namespace tilewright::dsl
