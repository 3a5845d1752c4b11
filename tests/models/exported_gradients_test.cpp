// Operators of derivatives that exported programs call: what counts for nothing, thresholds, and
// shapes that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/functions/indexing/arranging.h"
#include "graph/functions/resampling/grid_sample.h"
#include "tests/errors.h"
#include "tests/models/exported_call.h"
#include "tests/tensors.h"

namespace tilewright::exported_gradients_test {
namespace {

using ::testing::HasSubstr;
using testing::integers;
using testing::OneCall;

// Where nothing counts: a loss all of whose targets are ignored, and results that nobody wants.
TEST(ExportedGradients, AreZerosOrNoneWhereNothingCounts) {
  const Tensor scores = ramp({2, 3}), target = full({2}, 1, i64);
  auto gradient = [&](std::int64_t ignored) {
    return OneCall("aten.nll_loss_backward.default")
        .with("grad_output", full({}, 1.0))
        .with("self", scores)
        .with("target", target)
        .with("reduction", std::int64_t{1})
        .with("ignore_index", ignored)
        .with("total_weight", full({}, ignored == 1 ? 0.0 : 2.0))
        .one()
        .to_vector<float>();
  };
  EXPECT_EQ(gradient(1), std::vector<float>(6));
  EXPECT_EQ(gradient(0), (std::vector<float>{0, -0.5, 0, 0, -0.5, 0}));
  auto convolved = [&](const std::vector<bool>& mask) {
    return OneCall("aten.convolution_backward.default")
        .with("grad_output", ramp({1, 1, 3}))
        .with("input", ramp({1, 1, 4}))
        .with("weight", ramp({1, 1, 2}))
        .with("stride", integers({1}))
        .with("padding", integers({0}))
        .with("dilation", integers({1}))
        .with("transposed", false)
        .with("output_padding", integers({0}))
        .with("groups", std::int64_t{1})
        .with("output_mask", mask);
  };
  EXPECT_EQ(convolved({false, true, false}).all().size(), 1U);
  EXPECT_TRUE(convolved({false, false, false}).all().empty());
  EXPECT_THAT(error_of([&] { convolved({true}).all(); }),
              HasSubstr("\"output_mask\" has 1 flags; 3 are wanted"));
}

// An infinite gradient of what has none is 0, and a NaN is not passed over.
TEST(ExportedGradients, OfThresholdsAreAsPyTorchDecidesThem) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Tensor x = Tensor::from(std::vector<float>{-1, 0, 1, nan}, {4});
  const std::vector<float> y = OneCall("aten.threshold_backward.default")
                                   .with("grad_output", full({4}, infinity))
                                   .with("self", x)
                                   .with("threshold", std::int64_t{0})
                                   .one()
                                   .to_vector<float>();
  EXPECT_EQ(y, (std::vector<float>{0, 0, infinity, infinity}));
}

TEST(ExportedGradients, AreOfShapesThatFit) {
  auto said = [](const OneCall& call) { return error_of([&] { call.all(); }); };
  EXPECT_THAT(said(OneCall("aten.native_layer_norm_backward.default")
                       .with("grad_out", ones({2, 3}))
                       .with("input", ones({2, 3}))
                       .with("mean", ones({2, 1}))
                       .with("rstd", ones({2, 1}))
                       .with("output_mask", std::vector{true, true, true})
                       .with("normalized_shape", integers({2}))),
              HasSubstr("[layer_norm_backward] the normalized shape is [2], of a tensor [2x3]"));
  EXPECT_THAT(said(OneCall("aten.native_group_norm_backward.default")
                       .with("grad_out", ones({2, 3, 4}))
                       .with("input", ones({2, 3, 4}))
                       .with("N", std::int64_t{2})
                       .with("C", std::int64_t{3})
                       .with("HxW", std::int64_t{4})
                       .with("group", std::int64_t{2})),
              HasSubstr("\"group\" is 2, of 2 times 3 channels of 4 elements"));
  EXPECT_THAT(said(OneCall("aten.nll_loss_backward.default")
                       .with("grad_output", full({}, 1.0))
                       .with("self", ones({2, 3}))
                       .with("target", zeros({3}, i64))
                       .with("total_weight", full({}, 2.0))),
              HasSubstr("[nll_loss_backward] the target is [3], for scores [2x3]"));
  EXPECT_THAT(said(OneCall("aten.nll_loss_backward.default")
                       .with("grad_output", full({}, 1.0))
                       .with("self", ones({2, 3}))
                       .with("target", full({2}, 3, i64))
                       .with("total_weight", full({}, 2.0))),
              HasSubstr("[nll_loss_backward] target 3"));
  EXPECT_THAT(said(OneCall("aten.mse_loss_backward.default")
                       .with("grad_output", full({}, 1.0))
                       .with("self", ones({2}))
                       .with("target", ones({2}))
                       .with("reduction", std::int64_t{3})),
              HasSubstr("\"reduction\" must be 0 (none), 1 (mean) or 2 (sum)"));
  EXPECT_THAT(said(OneCall("aten.embedding_dense_backward.default")
                       .with("grad_output", ones({2, 3}))
                       .with("indices", zeros({3}, i64))
                       .with("num_weights", std::int64_t{4})),
              HasSubstr("the indices are [3], for gradients [2x3] of 4 rows"));
  auto attention = [&](double dropout) {
    OneCall call("aten._scaled_dot_product_flash_attention_for_cpu_backward.default");
    for (const char* name : {"grad_out", "query", "key", "value", "out"})
      call.with(name, ones({1, 1, 2, 4}));
    return call.with("logsumexp", ones({1, 1, 2}))
        .with("attn_mask", ones({2, 2}, DType::boolean))
        .with("dropout_p", dropout);
  };
  EXPECT_THAT(said(attention(0)),
              HasSubstr("[attention_backward] a mask of bool for queries of f32"));
  EXPECT_THAT(said(attention(0.5)), HasSubstr("\"dropout_p\" is not 0"));
  EXPECT_THAT(said(OneCall("aten._adaptive_avg_pool2d_backward.default")
                       .with("grad_output", ones({2, 2}))
                       .with("self", ones({4, 4}))),
              HasSubstr("three or four axes are wanted"));
  EXPECT_THAT(said(OneCall("aten.avg_pool2d_backward.default")
                       .with("grad_output", ones({2, 2}))
                       .with("self", ones({4, 4}))
                       .with("kernel_size", integers({2, 2}))),
              HasSubstr("three or four axes are wanted"));
  EXPECT_THAT(said(OneCall("aten.convolution_backward.default")
                       .with("grad_output", ones({1, 1, 2}))
                       .with("input", ones({1, 1, 4, 4}))
                       .with("output_mask", std::vector{true, true, true})
                       .with("weight", ones({1, 1, 3, 3}))),
              HasSubstr("one to three axes besides batch and channels are wanted"));
}

}  // namespace
}  // namespace tilewright::exported_gradients_test
