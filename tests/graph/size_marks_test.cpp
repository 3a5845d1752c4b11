// Sizes that are declared before they come: mark_dynamic and mark_static.
#include "graph/compile/sizes/size_marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "dsl/launch/compile.h"
#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/graph/on_host.h"
#include "tests/tensors.h"

namespace tilewright::size_marks_test {
namespace {

using namespace testing_signatures;

Tensor marked(Tensor tensor, int axis, const SizeRange& sizes = {}) {
  mark_dynamic(tensor, axis, sizes);
  return tensor;
}
Tensor marked_static(Tensor tensor, int axis) {
  mark_static(tensor, axis);
  return tensor;
}

TEST(SizeMarks, AreErrorsThatNameTheAxisAndTheRange) {
  Tensor x = ramp({5, 8});
  expect_contains(error_of([&] { mark_dynamic(x, 2); }),
                  "[mark_dynamic] axis 2 is outside a tensor of shape 5x8 (at ");
  expect_contains(error_of([&] { mark_static(x, -3); }),
                  "[mark_static] axis -3 is outside a tensor of shape 5x8 (at ");
  expect_contains(error_of([&] { mark_static(Tensor(), 0); }),
                  "[mark_static] the tensor is undefined");
  expect_contains(error_of([&] { mark_dynamic(x, 0, {.min = 6, .max = 4}); }),
                  "[mark_dynamic] the sizes are from 6 to 4 (at ");
  expect_contains(error_of([&] { mark_dynamic(x, 0, {.min = -1}); }), "the sizes are from -1 to ");
  expect_contains(error_of([&] { mark_dynamic(x, 0, {.multiple_of = 0}); }),
                  "[mark_dynamic] multiple_of is 0 (at ");
  expect_contains(error_of([&] { mark_dynamic(x, 0, {.min = 5, .max = 7, .multiple_of = 4}); }),
                  "[mark_dynamic] no multiple of 4 is between 5 and 7 (at ");
  expect_contains(error_of([&] { mark_dynamic(x, -2, {.min = 6}); }),
                  "[mark_dynamic] axis 0 is 5 and is declared to have sizes from 6 on (at ");
  expect_contains(error_of([&] { mark_dynamic(x, 0, {.multiple_of = 4}); }),
                  "axis 0 is 5 and is declared to have any size that is a multiple of 4 (at ");
}

TEST(SizeMarks, AreNotMadeWhileAFunctionIsCaptured) {
  Compiled marks = compile([](const Tensor& x) {
    mark_static(x, 0);
    return x;
  });
  expect_contains(error_of([&] { marks(ramp({2})); }),
                  "[mark_static] a function is being captured, which happens once");
}

TEST(DeclaredSizes, RefuseOthersByArgumentAxisAndSize) {
  Compiled fast = compile([](const Tensor& a, const Tensor& b) { return a + sum(b); },
                          on_host({.argument_names = {"a", "ids"}}));
  Tensor a = ramp({3});
  fast(a, marked(ramp({2, 8}), 1, {.min = 4, .max = 64, .multiple_of = 4}));
  const std::string declared =
      " and was declared by mark_dynamic to have sizes from 4 to 64 that are multiples of 4; pass";
  for (std::int64_t size : {0, 2, 18, 68})
    expect_contains(error_of([&] {
                      fast(a, ramp({2, size}));
                    }),
                    concat("[compile] argument 1 'ids': axis 1 is ", size, declared));
  EXPECT_EQ(fast.report().size(), 1U);
  for (std::int64_t size : {4, 60, 64}) fast(a, ramp({2, size}));
  EXPECT_EQ(fast.report().size(), 4U);
}

// Applies to earlier compilations of the function too, until another declaration.
TEST(DeclaredSizes, HoldFromTheCallThatBringsThemToTheNextMark) {
  Compiled fast = compile(doubled, on_host());
  fast(ramp({5}));
  fast(ramp({9}));
  Tensor six = marked(ramp({6}), 0, {.min = 6});
  const Tensor& copy = six;  // of the handle: the mark is the tensor's
  fast(copy);
  expect_contains(error_of([&] { fast(ramp({5})); }), "axis 0 is 5 and was declared by");
  expect_near(fast(ramp({9})), ramp({9}) * 2);
  expect_contains(error_of([&] { CompiledFunction(fast).call({ramp({5})}); }), "axis 0 is 5");
  fast(marked(ramp({9}), 0));
  expect_near(fast(ramp({5})), ramp({5}) * 2);
}

TEST(DeclaredSizes, AreOfNoViewAndNoClone) {
  Tensor x = marked(ramp({6, 4}), 0, {.min = 6});
  Compiled fast = compile(doubled, on_host());
  fast(x.slice(0, 0, 2));
  fast(x.clone());
  expect_near(fast(ramp({1, 4})), ramp({1, 4}) * 2);
}

TEST(DeclaredSizes, AreThoseOfTensorsInStructures) {
  auto total = [](const std::vector<Tensor>& parts, int times) {
    return sum(parts.at(0)) + sum(parts.at(1)) * times;
  };
  auto fast = compile(total, on_host({.argument_names = {"parts", "times"}}));
  fast({ramp({4}), marked(ramp({6}), 0, {.max = 8})}, 2);
  // In calls that have another plan for their number, too.
  for (int times : {2, 3}) {
    fast({ramp({9}), ramp({8})}, times);
    expect_contains(error_of([&] {
                      fast({ramp({9}), ramp({9})}, times);
                    }),
                    "[compile] argument 0 'parts'[1]: axis 0 is 9 and was declared");
  }
}

// The function is this test's alone: no plan of other sizes is there to interpolate from.
TEST(DeclaredSizes, AreInReports) {
  Compiled fast = compile([](const Tensor& x) { return x * 3.28125 - 0.40625; }, on_host());
  Tensor x = marked(marked_static(ramp({4, 6}), 0), 1, {.max = 512});
  fast(x);
  EXPECT_TRUE(fast.report().at(0).sizes_vary);
  EXPECT_EQ(fast.report().at(0).sizes,
            "    argument 0: axis 0 is static, axis 1 has sizes from 0 to 512\n");
  expect_contains(fast.explain(), fast.report().at(0).sizes);
}

// A reduction along the axis has a program for each size, and reports name it.
TEST(DeclaredSizes, AreNoRecompilation) {
  Compiled twice = compile(&doubled, on_host());
  twice(marked(ramp({5, 8}), 0));
  StanceScope fail(Stance::fail_on_recompile);
  expect_near(twice(ramp({7, 8})), doubled(ramp({7, 8})));
  expect_contains(
      error_of([&] {
        twice(ramp({7, 9}));
      }),
      "the stance is fail_on_recompile, and no plan fits the call (f32 7x9): argument 0: "
      "axis 1 is 9, compiled for 8");
  StanceScope eager(Stance::eager_on_recompile);
  twice(ramp({9, 8}));
  EXPECT_EQ(twice.report().size(), 3u);
  twice(ramp({9, 9}));
  EXPECT_EQ(twice.report().size(), 3u);
}

TEST(DeclaredSizes, SayWhichProgramsAreForOneSize) {
  const Tensor weight = sin(ramp({24, 32}));
  auto products = [&](const Tensor& x) {
    return std::pair(matmul(x, weight), matmul(x.transpose(0, 1), x));
  };
  auto fast = compile(products, on_host());
  fast(marked(ramp({60, 24}), 0));
  fast(ramp({70, 24}));
  const PlanReport plan = fast.report().at(1);
  ASSERT_EQ(plan.regions.size(), 2U);
  const auto alone = std::ranges::find(plan.regions, 1, &RegionReport::plans);
  ASSERT_NE(alone, plan.regions.end());
  EXPECT_EQ(std::ranges::count(plan.regions, 2, &RegionReport::plans), 1);
  expect_contains(explain(plan),
                  concat("made for sizes that change; plans for others run 1 of its 2 programs; "
                         "none so far runs ",
                         alone->kernel, "\n"));
}

TEST(DeclaredSizes, HaveProgramsForEachOnGpus) {
  Compiled fast = compile(doubled, {.max_signatures = 1, .device = Device::emulated("sm_80")});
  fast(marked(ramp({40}), 0, {.max = 64}));
  fast(ramp({50}));
  expect_near(fast(ramp({60})), ramp({60}) * 2);
  EXPECT_EQ(fast.report().size(), 3U);
  expect_contains(fast.explain(), "made for sizes that change, with programs for this one");
  expect_contains(error_of([&] { fast(ramp({65})); }), "axis 0 is 65 and was declared by");
}

TEST(StaticSizes, AreSignatures) {
  Compiled fast = compile(doubled, on_host({.max_signatures = 2, .argument_names = {"x"}}));
  fast(marked_static(ramp({4, 6}), -2));
  fast(ramp({5, 6}));
  EXPECT_EQ(fast.recompilations().at(0).sentence(),
            "argument 0 'x': axis 0, which is static, is 5, compiled for 4");
  EXPECT_EQ(fast.recompilations()[0].differences.at(0).reason, RecompileReason::static_size);
  EXPECT_EQ(name_of(RecompileReason::static_size), "static_size");
  fast(ramp({5, 7}));  // which is one of many sizes
  EXPECT_EQ(fast.report().at(2).sizes_vary, true);
  expect_contains(error_of([&] {
                    fast(ramp({6, 6}));
                  }),
                  "2 signatures are compiled, which is the limit; this call, (f32 6x6)");
}

TEST(StaticSizes, AreThoseOfAFunctionAllOfWhichAre) {
  Compiled fast = compile(doubled, on_host({.dynamic = Dynamic::always}));
  fast(marked_static(ramp({4}), 0));
  fast(ramp({5}));
  for (const PlanReport& plan : fast.report()) EXPECT_FALSE(plan.sizes_vary) << plan.signature;
}

TEST(StaticSizes, AreSoUntilTheNextMark) {
  Compiled fast = compile(doubled, on_host());
  Tensor x = marked_static(ramp({4}), 0);
  fast(x);
  mark_dynamic(x, 0);
  fast(x);
  fast(ramp({5}));
  EXPECT_FALSE(fast.report().at(0).sizes_vary);
  EXPECT_TRUE(fast.report().at(1).sizes_vary);
}

// The advice of the error past the limit is right.
TEST(DeclaredSizes, AreTheWayOutOfTheLimitOfSignatures) {
  const Options options = on_host({.max_signatures = 1, .dynamic = Dynamic::never});
  Compiled fast = compile(doubled, options);
  fast(ramp({4}));
  expect_contains(error_of([&] { fast(ramp({5})); }),
                  "declare sizes that change with mark_dynamic");
  std::string other = error_of([&] { fast(ramp({4}).to(DType::f64)); });
  EXPECT_EQ(other.find("mark_dynamic"), std::string::npos) << other;
  fast(marked(ramp({5}), 0));
  expect_near(fast(ramp({6})), ramp({6}) * 2);
}

}  // namespace
}  // namespace tilewright::size_marks_test
