// Operations of the user's own that write an operand, and have no result.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/functions/custom/custom_op.h"

namespace tilewright::custom_op_writes_test {
namespace {

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

}  // namespace
}  // namespace tilewright::custom_op_writes_test
