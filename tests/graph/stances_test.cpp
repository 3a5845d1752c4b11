// Stances: the caller's choice for calls that no plan fits.
#include <gtest/gtest.h>

#include "graph/compile/calls/contract.h"
#include "graph/compile/compile.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"
#include "tests/graph/on_host.h"
#include "tests/tensors.h"

namespace tilewright::stances_test {
namespace {

using namespace testing_signatures;

TEST(Stances, ForceEagerRunsWhatIsCompiledOpByOp) {
  int runs = 0;
  Compiled fast = counted(runs, {});
  fast(ramp({2}));
  {
    StanceScope eager(Stance::force_eager);
    expect_near(fast(ramp({2})), ramp({2}) * 2);
    fast(ramp({3}));
    EXPECT_EQ(runs, 3);
  }
  EXPECT_EQ(stance(), Stance::compile);
  fast(ramp({2}));
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(fast.report().size(), 1U);
}

TEST(Stances, EagerOnRecompileUsesPlansAndMakesNone) {
  Compiled fast = compile(doubled, on_host());
  fast(ramp({2}));
  StanceScope eager(Stance::eager_on_recompile);
  expect_near(fast(ramp({3})), ramp({3}) * 2);
  fast(ramp({2}));
  EXPECT_EQ(fast.report().size(), 1U);
}

TEST(Stances, FailOnRecompileNamesWhatIsNew) {
  Compiled fast = compile(doubled, on_host()), unused = compile(doubled, on_host());
  fast(ramp({2}));
  StanceScope fail(Stance::fail_on_recompile);
  fast(ramp({2}));
  expect_contains(error_of([&] { fast(ramp({3})); }),
                  "no plan fits the call (f32 3): argument 0: axis 0 is 3, compiled for 2; make "
                  "this call once before the stance is set");
  expect_contains(error_of([&] { unused(ramp({3})); }), "the function was not compiled before");
}

// A handle that stands for something else is a recompilation, too, where the graph is another one.
TEST(Stances, HoldForChangedHandles) {
  struct Scaled {
    Tensor weight = ramp({4});
    Tensor forward(const Tensor& x) { return x * weight; }
  } scaled;
  Compiled fast = compile(scaled, on_host());
  fast(ramp({4}));
  StanceScope fail(Stance::fail_on_recompile);
  scaled.weight = ramp({4}) * 3;
  expect_near(fast(ramp({4})), ramp({4}) * scaled.weight);
  scaled.weight = ramp({1});
  expect_contains(error_of([&] { fast(ramp({4})); }), "stands for something else now");
}

TEST(Stances, EagerThenCompileLeavesTheFirstCallAlone) {
  StanceScope later(Stance::eager_then_compile);
  Compiled fast = compile(doubled, on_host());
  expect_near(fast(ramp({2})), ramp({2}) * 2);
  EXPECT_TRUE(fast.report().empty());
  fast(ramp({3}));
  EXPECT_EQ(fast.report().size(), 1U);
}

TEST(Stances, HaveNamesAndAreNotSetWhileAFunctionIsCaptured) {
  for (Stance each : {Stance::compile, Stance::force_eager, Stance::eager_on_recompile,
                      Stance::fail_on_recompile, Stance::eager_then_compile})
    EXPECT_EQ(parse_stance(name_of(each)), each);
  expect_contains(error_of([] { parse_stance("lazy"); }),
                  "[stance] 'lazy' is unknown; it must be one of compile, force_eager,");
  Compiled sets = compile([](const Tensor& x) {
    set_stance(Stance::force_eager);
    return x;
  });
  expect_contains(error_of([&] { sets(ramp({2})); }),
                  "[set_stance] a function is being captured, which happens once and not at each "
                  "call; set the stance outside of compiled functions");
  EXPECT_EQ(stance(), Stance::compile);
}

}  // namespace
}  // namespace tilewright::stances_test
