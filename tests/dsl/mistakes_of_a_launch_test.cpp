// Typical mistakes at the launch of a kernel, and the message for each: the line of the launch.
#include <gmock/gmock.h>

#include <functional>

#include "dsl/language/kernel.h"
#include "dsl/launch/device.h"
#include "tests/dsl/mistakes.h"
#include "tests/errors.h"

namespace tilewright::dsl::mistakes_of_a_launch_test {
namespace {

using namespace testing_mistakes;

using Call = std::function<void()>;

using ::testing::HasSubstr;

// Those that are of the launch name its line.
TEST(MistakesOfALaunch, NameTheLineOfTheLaunch) {
  Kernel kernel("copy",
                [](Pointer x, Pointer y, Scalar n, Constexpr block) {
                  Tile i = block_of(block);
                  store(y + i, load(x + i, i < n), i < n);
                },
                {"x", "y", "n", "block"});
  Floats x(8), y(8);
  const Floats constant(8);
  const Kernel host = kernel.on(Device::cpu());
  struct Case {
    Call call;
    const char* expected;
  };
  const Case cases[] = {
      {[&] { host.launch(1, x, y, 8); }, "[copy] there are 3 arguments; the kernel takes 4"},
      {[&] { host.launch(1, x, 8, y, 8); }, "[copy] the argument for y is a number; it must be a"},
      {[&] { host.launch(1, x, y, 8, 8.0F); }, "[copy] the argument for block is f32; a Constexpr"},
      {[&] { host.launch(1, x, constant, 8, 8); }, "[copy] the argument for y is const"},
      {[&] { host.launch(1, x, x, 8, 8); }, "overlap, and the kernel writes y"},
      {[&] { host.launch(1, static_cast<float*>(nullptr), y, 8, 8); },
       "[copy] the pointer for x is null"},
      {[&] { host.launch(Grid(-1), x, y, 8, 8); }, "[copy] the grid is -1 x 1 x 1"},
  };
  for (const Case& mistake : cases) {
    const std::string message = error_of(mistake.call);
    EXPECT_THAT(message, HasSubstr(mistake.expected));
    EXPECT_THAT(message, HasSubstr("(launched at mistakes_of_a_launch_test.cpp:"));
  }
}

}  // namespace
}  // namespace tilewright::dsl::mistakes_of_a_launch_test
