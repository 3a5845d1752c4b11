// Kernels of the user's own inside compiled functions: those that fuse, those that stay launches of
// their own, their configurations and their writes.
#include <gmock/gmock.h>

#include "graph/compile/compile.h"
#include "graph/custom/definition.h"
#include "graph/functions/custom/custom_op.h"
#include "graph/functions/reducing/cumulative.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/graph/custom_ops.h"
#include "tests/tensors.h"

namespace tilewright::custom_kernels_test {
namespace {

using namespace testing_custom_ops;

using ::testing::HasSubstr;

TEST(CustomOp, ConfigurationsAreTimedAndKept) {
  dsl::Kernel kernel(
      "totals", [](dsl::Pointer x, dsl::Pointer y, dsl::Scalar width, dsl::Constexpr block) {
        dsl::Tile lane = dsl::cast(dsl::arange(0, block), i64), row = dsl::program_id(0) * width;
        dsl::Var total = dsl::zeros({block}, f32);
        for (dsl::Tile first : dsl::range(0, width, block))
          total = total + dsl::load(x + row + first + lane, first + lane < width);
        dsl::store(y + dsl::program_id(0), dsl::sum(total, 0));
      });
  CustomOp op = custom_op(
      "totals",
      [](std::span<const TensorType> operands) {
        return std::vector<TensorType>{{f32, {operands[0].shape[0]}}};
      },
      TileKernel{kernel,
                 [](const CustomCall& call) {
                   const Shape& shape = call.operand(0).shape;
                   return TileLaunch{Grid(shape[0]), {shape[1], call["block"]}};
                 },
                 {{{"block", 16}}, {{"block", 256}, {"num_warps", 4}}, {{"block", 1024}}}});
  auto f = compile([&](const Tensor& x) { return op(x); },
                   {.mode = Mode::max_autotune_no_cudagraphs, .tune_seconds = 0.2});
  Tensor x = ramp({20, 3000});
  EXPECT_LT(relative_difference(f(x).to_vector<float>(), sum(x, {1}).to_vector<float>()), 1e-5);
  if (default_device().is_emulated()) return;
  EXPECT_THAT(f.report().at(0).tuning, ::testing::Not(::testing::IsEmpty()));
}

// Its structure says so: every program loads its elements and stores one result for each.
TEST(CustomOp, AnElementwiseKernelFusesWithItsNeighbours) {
  static const dsl::Kernel kernel(
      "scale_add", [](dsl::Pointer x, dsl::Pointer y, dsl::Pointer out, dsl::Scalar n,
                      dsl::Scalar factor, dsl::Constexpr block) {
        dsl::Tile i = dsl::program_id(0) * block + dsl::cast(dsl::arange(0, block), i64);
        dsl::Tile a = dsl::load(x + i, i < n), b = dsl::load(y + i, n > i);
        dsl::store(out + i, dsl::exp(a) * factor + b, i < n);
      });
  CustomOp op =
      custom_op("scale_add", like_first,
                TileKernel{kernel, [](const CustomCall& call) {
                             const std::int64_t n = call.operand(0).count();
                             return TileLaunch{Grid(dsl::cdiv(n, 64)), {n, 3.0F, std::int64_t{64}}};
                           }});
  Tensor x = ramp({7, 30}), y = ramp({7, 30}, 0.3F);
  auto f = compile([&](const Tensor& a, const Tensor& b) { return relu(op(a * 2.0, b) - 1.0); });
  expect_near(f(x, y), relu(exp(x * 2.0) * 3.0 + y - 1.0));
  EXPECT_EQ(launches(f), 1);
  EXPECT_THAT(f.explain(), HasSubstr("scale_add"));
  // Operands that are broadcast are not at the same elements.
  auto apart = compile([&](const Tensor& a, const Tensor& b) { return op(a * 2.0, b); },
                       {.fullgraph = true});
  expect_near(apart(x, y), exp(x * 2.0) * 3.0 + y);
}

// Which of these are no functions of single elements.
TEST(CustomOp, OtherKernelsStayLaunchesOfTheirOwn) {
  using namespace dsl;
  auto launches_with = [](const Kernel& kernel, std::int64_t programs) {
    CustomOp op = custom_op("stays", like_first,
                            TileKernel{kernel, [=](const CustomCall&) {
                                         return TileLaunch{Grid(programs), {std::int64_t{128}}};
                                       }});
    auto f = compile([&](const Tensor& x) { return relu(op(x * 2.0)); });
    f(ramp({128}));
    return launches(f);
  };
  auto index = [](std::int64_t block) {
    return program_id(0) * block + cast(arange(0, block), i64);
  };
  auto same = [=](Pointer x, Pointer y, Scalar n) {
    Tile i = index(64);
    store(y + i, load(x + i, i < n) + 1.0, i < n);
  };
  EXPECT_EQ(launches_with(Kernel("same", same), 2), 1);
  auto unmasked = [=](Pointer x, Pointer y, Scalar) { store(y + index(64), load(x + index(64))); };
  EXPECT_EQ(launches_with(Kernel("unmasked", unmasked), 2), 1);
  auto turned_round = [](Pointer x, Pointer y, Scalar n) {
    Tile i = constant(ir::Scalar::of_integer(i64, 64)) * program_id(0) + cast(arange(0, 64), i64);
    store(y + i, load(x + i, i < n) + 1.0, i < n);
  };
  EXPECT_EQ(launches_with(Kernel("turned_round", turned_round), 2), 1);
  auto neighbours = [=](Pointer x, Pointer y, Scalar n) {
    Tile i = index(64);
    store(y + i, load(x + i, i < n) + load(x + (i + 1), i + 1 < n), i < n);
  };
  EXPECT_EQ(launches_with(Kernel("neighbours", neighbours), 2), 3);
  auto places = [=](Pointer x, Pointer y, Scalar n) {
    Tile i = index(64);
    store(y + i, load(x + i, i < n) + cast(i, f32), i < n);
  };
  EXPECT_EQ(launches_with(Kernel("places", places), 2), 3);
  auto reversed = [=](Pointer x, Pointer y, Scalar n) {
    Tile i = index(64);
    store(y + (n - 1 - i), load(x + i, i < n), i < n);
  };
  EXPECT_EQ(launches_with(Kernel("reversed", reversed), 2), 3);
  auto half = [=](Pointer x, Pointer y, Scalar n) {
    Tile i = index(64);
    store(y + i, load(x + i, i < n), i < n / 2);
  };
  EXPECT_EQ(launches_with(Kernel("half", half), 2), 3);
  auto added = [=](Pointer x, Pointer y, Scalar n) {
    Tile i = index(64);
    store(y + i, load(x + i, i < n) + sum(load(x + i, i < n), 0), i < n);
  };
  EXPECT_EQ(launches_with(Kernel("added", added), 2), 3);
}

TEST(CustomOp, ALaunchInsideACompiledFunctionIsAPartOfIt) {
  static const dsl::Kernel add("add", [](dsl::Pointer x, dsl::Pointer y, dsl::Pointer out,
                                         dsl::Scalar n, dsl::Constexpr block) {
    dsl::Tile i = dsl::program_id(0) * block + dsl::cast(dsl::arange(0, block), i64);
    dsl::store(out + i, dsl::load(x + i, i < n) + dsl::load(y + i, i < n), i < n);
  });
  static const dsl::Kernel running("running", [](dsl::Pointer x, dsl::Scalar width) {
    dsl::Tile at = dsl::program_id(0) * width;
    for (dsl::Tile i : dsl::range(1, width, 1))
      dsl::store(x + at + i, dsl::load(x + at + i) + dsl::load(x + at + i - 1));
  });
  auto function = [](const Tensor& x, const Tensor& y) {
    Tensor out = zeros({3, 40});
    add.launch([](const dsl::Config&) { return Grid(2); }, x * 2.0, y, out, 120, 64);
    Tensor sums = relu(out);
    running.launch(3, sums, 40);
    return sums * 0.5;
  };
  Tensor x = ramp({3, 40}), y = ramp({3, 40}, 0.02F);
  Tensor expected = cumsum(relu(x * 2.0 + y), 1) * 0.5;
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    auto f = compile(function, {.mode = mode, .fullgraph = true});
    Tensor first = f(x, y);
    EXPECT_LT(relative_difference(first.to_vector<float>(), expected.to_vector<float>()), 1e-5);
    Tensor again = f(y, x);
    EXPECT_LT(relative_difference(again.to_vector<float>(),
                                  (cumsum(relu(y * 2.0 + x), 1) * 0.5).to_vector<float>()),
              1e-5);
    EXPECT_EQ(launches(f), 3);  // add with relu, the running sum, and what follows
    EXPECT_THAT(f.explain(), HasSubstr("running"));
  }
}

// An argument that a kernel writes has the new value after the call.
TEST(CustomOp, ALaunchWritesAnArgument) {
  static const dsl::Kernel fill("fill", [](dsl::Pointer x, dsl::Scalar value, dsl::Scalar n) {
    dsl::Tile i = dsl::cast(dsl::arange(0, 64), i64);
    dsl::store(dsl::make_desc(x, {n}, {1}), {0}, dsl::splat(value, {64}));
    dsl::store(x + i, dsl::splat(value, {64}), i < n);
  });
  auto f = compile(
      [](const Tensor& x) {
        fill.launch(1, x, 2.5F, 50);
        return x + 1.0;
      },
      {.fullgraph = true});
  Tensor x = zeros({50});
  expect_near(f(x), full({50}, 3.5));
  expect_near(x, full({50}, 2.5));
  EXPECT_THAT(error_of([&] {
                compile([](const Tensor& t) {
                  fill.launch(-1, t, 2.5F, 50);
                  return t;
                })(x);
              }),
              HasSubstr("[fill] the grid is -1 x 1 x 1"));
}

}  // namespace
}  // namespace tilewright::custom_kernels_test
