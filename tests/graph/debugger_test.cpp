// The debugger of kernels on tensors, and inside functions that are captured.
#include <gmock/gmock.h>

#include "dsl/debugger/interpretation.h"
#include "graph/compile/compile.h"
#include "tests/errors.h"

namespace tilewright::debugger_test {
namespace {

dsl::Kernel doubled() {
  return dsl::Kernel("doubled",
                     [](dsl::Pointer x, dsl::Pointer y) {
                       dsl::Tile i = dsl::arange(0, 8);
                       dsl::store(y + i, dsl::load(x + i) * 2.0);
                     },
                     {"x", "y"});
}

TEST(Debugger, WritesTensors) {
  Tensor x = full({8}, 3.0), y = zeros({8});
  dsl::interpret(doubled(), 1, {x, y});
  EXPECT_THAT(y.to_vector<float>(), testing::Each(6));
}

TEST(Debugger, RefusesValuesOfAFunctionThatIsBeingCaptured) {
  Compiled function = compile([](const Tensor& x) {
    Tensor y = x * 1.0;
    dsl::interpret(doubled(), 1, {x, y});
    return y;
  });
  EXPECT_THAT(
      error_of([&] { function(full({8}, 3.0)); }),
      testing::HasSubstr("[doubled] the argument for x is a value inside compile(), which is "
                         "not there yet; debug the kernel outside"));
}

}  // namespace
}  // namespace tilewright::debugger_test
