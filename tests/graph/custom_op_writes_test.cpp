// Operations of the user's own that write an operand, and have no result.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/functions/custom/custom_op.h"
#include "tests/graph/custom_ops.h"
#include "tests/tensors.h"

namespace tilewright::custom_op_writes_test {
namespace {

using namespace testing_custom_ops;

// Their shape rule may say so.
TEST(CustomOpWrites, NeedGiveNoResult) {
  static const dsl::Kernel add_one("add_one",
                                   [](dsl::Pointer to) {
                                     dsl::Tile i = dsl::arange(0, 64);
                                     dsl::store(to + i, dsl::load(to + i) + 1.0);
                                   },
                                   {"to"});
  auto nothing = [](std::span<const TensorType>) { return std::vector<TensorType>{}; };
  const CustomOp by_kernel = custom_op("add_one", nothing,
                                       TileKernel{add_one,
                                                  [](const CustomCall&) {
                                                    return TileLaunch{Grid(1), {}};
                                                  }},
                                       {.writes = {0}});
  const CustomOp by_function = custom_op(
      "add_one_here", nothing,
      BufferFunction([](std::span<const BufferView> from, std::span<const BufferView> to) {
        for (int i = 0; i < 64; ++i)
          static_cast<float*>(to[0].data)[i] = static_cast<const float*>(from[0].data)[i] + 1;
      }),
      {.writes = {0}});
  for (const CustomOp& op : {by_kernel, by_function}) {
    Tensor cache = zeros({64}).clone();
    EXPECT_EQ(op(cache).to_vector<float>(), std::vector<float>(64, 1));
    EXPECT_EQ(cache.to_vector<float>(), std::vector<float>(64, 1));
    auto fast = compile(
        [&](const Tensor& x) {
          op(cache);
          return x + cache;
        },
        {.fullgraph = true});
    for (float call = 1; call <= 2; ++call) {
      EXPECT_EQ(fast(ones({64})).to_vector<float>(), std::vector<float>(64, call + 2));
      EXPECT_EQ(cache.to_vector<float>(), std::vector<float>(64, call + 1));
    }
  }
}

// Adds `by` to the tensor.
const CustomOp& add_in_place() {
  static const dsl::Kernel kernel(
      "add_to", [](dsl::Pointer x, dsl::Pointer by, dsl::Scalar n, dsl::Constexpr block) {
        dsl::Tile i = dsl::program_id(0) * block + dsl::cast(dsl::arange(0, block), i64);
        dsl::store(x + i, dsl::load(x + i, i < n) + dsl::load(by + i, i < n), i < n);
      });
  static const CustomOp op =
      custom_op("add_in_place", like_first,
                TileKernel{kernel,
                           [](const CustomCall& call) {
                             std::int64_t n = call.operand(0).count();
                             return TileLaunch{Grid(dsl::cdiv(n, 64)), {n, std::int64_t{64}}};
                           }},
                {.writes = {0}});
  return op;
}

TEST(CustomOp, WritesItsFirstOperandInPlace) {
  Tensor x = ramp({100}), by = ramp({100}, 0.5F), expected = x + by;
  Tensor at_once = x.clone();
  add_in_place().all({at_once, by});
  expect_near(at_once, expected);
  auto f = compile([](const Tensor& target, const Tensor& other) {
    Tensor before = target * 1.0;
    add_in_place().all({target, other});
    return target - before;
  });
  Tensor compiled = x.clone();
  expect_near(f(compiled, by), by);
  expect_near(compiled, expected);
  // Another one is opaque, and writes where the argument lies.
  static const dsl::Kernel shift("shift", [](dsl::Pointer x, dsl::Scalar n) {
    for (dsl::Tile i : dsl::range(1, n, 1)) dsl::store(x + (i - 1), dsl::load(x + i));
  });
  CustomOp shifted = custom_op("shifted", like_first,
                               TileKernel{shift,
                                          [](const CustomCall& call) {
                                            return TileLaunch{Grid(1), {call.operand(0).count()}};
                                          }},
                               {.writes = {0}});
  auto g = compile([&](const Tensor& target) {
    Tensor before = target * 1.0;
    shifted.all({target});
    return before;
  });
  Tensor moved = x.clone();
  expect_near(g(moved), x);
  expect_near(moved.slice(0, 0, 99), x.slice(0, 1, 100));
  Tensor columns = ramp({4, 5}), turned = columns.transpose(0, 1).contiguous();
  Tensor view = columns.transpose(0, 1);
  shifted.all({view});
  shifted.all({turned});
  expect_near(view, turned);
}

}  // namespace
}  // namespace tilewright::custom_op_writes_test
