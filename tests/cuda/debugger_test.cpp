// The debugger of kernels on the memory of a GPU, on the fake driver.
#include <gmock/gmock.h>

#include "dsl/debugger/first_difference.h"
#include "dsl/debugger/interpretation.h"
#include "dsl/language/words/naming.h"
#include "graph/tensor/tensor.h"
#include "tests/cuda/fake_driver.h"
#include "tests/errors.h"

namespace tilewright::dsl::debugger_test {
namespace {

using cuda::FakeDriver;
using testing::Each;
using testing::HasSubstr;

Kernel affine() {
  return Kernel("affine",
                [](Pointer x, Pointer y, Scalar n) {
                  Tile i = program_id(0) * 32 + cast(arange(0, 32), i64);
                  store(y + i, load(x + i, i < n) * 2.0 + 1.0, i < n);
                },
                {"x", "y", "n"});
}

TEST(DebuggerOnAGpu, InterpretsOnCopiesAndWritesBack) {
  FakeDriver fake;
  const Device gpu = Device::cuda(0);
  Tensor x = tilewright::full({100}, 3.0).to(gpu), y = tilewright::zeros({100}).to(gpu);
  interpret(affine(), 4, {x, y, 100}, {.races = true, .unwritten = {"y"}, .complete = {"y"}});
  EXPECT_THAT(y.to_vector<float>(), Each(7));
  EXPECT_THAT(x.to_vector<float>(), Each(3));
  EXPECT_THAT(
      error_of([&] {
        interpret(affine(), 4, {x, y, 101});
      }),
      HasSubstr("[load] program (3, 0, 0), element 4: index 100 of x is outside: it has 100"));
}

TEST(DebuggerOnAGpu, RefusesTensorsOfTwoPlaces) {
  FakeDriver fake;
  Tensor x = tilewright::full({100}, 3.0).to(Device::cuda(0)), y = tilewright::zeros({100});
  EXPECT_THAT(error_of([&] {
                interpret(affine(), 4, {x, y, 100});
              }),
              HasSubstr("[affine] the tensor for y lies on the host, the kernel runs on cuda:0"));
}

TEST(DebuggerOnAGpu, ComparesWithItsCode) {
  FakeDriver fake;
  const Device gpu = Device::cuda(0);
  Tensor x = tilewright::full({100}, 3.0).to(gpu), y = tilewright::zeros({100}).to(gpu);
  EXPECT_FALSE(first_difference(affine(), gpu, 4, {x, y, 100}).has_value());
  EXPECT_THAT(y.to_vector<float>(), Each(0));
  Kernel counted("counted",
                 [](Pointer counter, Pointer y) {
                   Tile place = zeros({64}, i64), lanes = cast(arange(0, 64), i64);
                   Tile old = named(atomic_add(counter + place, lanes), "old");
                   store(y + lanes, old * 2);
                 },
                 {"counter", "y"});
  std::vector<std::int64_t> counter(1), found(64);
  auto difference = first_difference(counted, gpu, 1, {counter, found});
  ASSERT_TRUE(difference && difference->origin);
  EXPECT_EQ(difference->origin->name, "old");
  EXPECT_EQ(difference->device, "cuda:0");
}

}  // namespace
}  // namespace tilewright::dsl::debugger_test
