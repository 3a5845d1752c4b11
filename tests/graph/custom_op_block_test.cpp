// A block of a decoder whose parts are operations of the user's own.
#include <gmock/gmock.h>

#include "graph/compile/compile.h"
#include "graph/custom/definition.h"
#include "graph/functions/custom/custom_op.h"
#include "tests/graph/custom_ops.h"
#include "tests/tensors.h"

namespace tilewright::custom_op_block_test {
namespace {

using namespace testing_custom_ops;

using ::testing::AllOf;
using ::testing::HasSubstr;

// A block of Llama's, with its own operations or with custom ones in their places.
struct Block {
  bool is_custom;
  Tensor query = ramp({32, 32}), key = ramp({16, 32}), value = ramp({16, 32}, 0.02F),
         out = ramp({32, 32}, 0.015F), up = ramp({48, 32}), gate = ramp({48, 32}, 0.02F),
         down = ramp({32, 48});

  Tensor normed(const Tensor& x) const {
    return is_custom ? rms_rows()(x) : x * rsqrt(mean(x * x, {1}, true) + 1e-5);
  }
  static Tensor heads(const Tensor& x, std::int64_t count) {
    return x.reshape({1, x.size(0), count, 8}).permute({0, 2, 1, 3});
  }
  Tensor operator()(const Tensor& x) const {
    Tensor rows = normed(x);
    Tensor seen =
        scaled_dot_product_attention(heads(linear(rows, query), 4), heads(linear(rows, key), 2),
                                     heads(linear(rows, value), 2), {.causal = true});
    Tensor y = x + linear(seen.permute({0, 2, 1, 3}).reshape({x.size(0), 32}), out);
    Tensor wide = normed(y), opened = linear(wide, gate), lifted = linear(wide, up);
    Tensor hidden = is_custom ? swish()(opened, Tensor::scalar(1.0F)) * lifted
                              : opened * sigmoid(opened) * lifted;
    return y + linear(hidden, down);
  }
  static const CustomOp& rms_rows() {
    static const dsl::Kernel kernel(
        "rms_rows", [](dsl::Pointer x, dsl::Pointer y, dsl::Scalar width, dsl::Constexpr block) {
          dsl::Tile i = dsl::cast(dsl::arange(0, block), i64), at = dsl::program_id(0) * width + i;
          dsl::Tile row = dsl::load(x + at, i < width);
          dsl::Tile square = dsl::sum(row * row, 0) / dsl::cast(width, f32);
          dsl::store(y + at, row * dsl::rsqrt(square + 1e-5), i < width);
        });
    static const CustomOp op =
        custom_op("rms_rows", like_first,
                  TileKernel{kernel,
                             [](const CustomCall& call) {
                               const Shape& shape = call.operand(0).shape;
                               return TileLaunch{Grid(shape[0]), {shape[1], call["block"]}};
                             },
                             {{{"block", 32}}, {{"block", 64}}}});
    return op;
  }
};

TEST(CustomOp, ABlockOfLlamaGivesTheSameInAllModesAndCountsAsItsOwnOperations) {
  Tensor x = ramp({6, 32}, 0.05F), expected = Block{false}(x);
  auto near = [&](const Tensor& y) {
    EXPECT_LT(relative_difference(y.to_vector<float>(), expected.to_vector<float>()), 1e-4);
  };
  near(Block{true}(x));
  std::int64_t norms = 2;
  for (Mode mode : {Mode::default_, Mode::reduce_overhead, Mode::max_autotune,
                    Mode::max_autotune_no_cudagraphs}) {
    auto f = compile(Block{true}, {.mode = mode, .fullgraph = true, .tune_seconds = 0.1});
    for (int call = 0; call < 2; ++call) near(f(x));
    std::int64_t instances = 0;
    const PlanReport report = f.report().at(0);
    for (const RegionReport& region : report.regions)
      if (region.kind == "custom") instances += region.instances;
    EXPECT_EQ(instances, norms);  // swish is in no region of its own
    EXPECT_THAT(f.explain(), AllOf(HasSubstr("rms_rows"), HasSubstr("swish")));
  }
}

}  // namespace
}  // namespace tilewright::custom_op_block_test
