// Calls that operators of exported programs refuse: shapes that do not fit, and values that cannot
// be. exported_corpus_test.cpp compares their results with PyTorch's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/errors.h"
#include "tests/models/exported_call.h"

namespace tilewright::exported_operators_test {
namespace {

using ::testing::HasSubstr;
using testing::integers;
using testing::OneCall;

std::string error_of_call(const OneCall& call) {
  return error_of([&] { call.all(); });
}
Tensor image(std::int64_t channels = 2) { return zeros({1, channels, 4, 4}); }

OneCall convolution(const Tensor& x, const Tensor& weight, std::int64_t groups = 1) {
  return OneCall("aten.convolution.default")
      .with("input", x)
      .with("weight", weight)
      .with("bias", std::monostate())
      .with("groups", groups);
}

TEST(ExportedOperators, RefuseConvolutionsThatDoNotFit) {
  EXPECT_EQ(error_of_call(convolution(image(), zeros({3, 2, 3, 3}))), "no error");
  EXPECT_THAT(error_of_call(convolution(image(), zeros({3, 5, 3, 3}))),
              HasSubstr("the channels do not agree"));
  EXPECT_THAT(error_of_call(convolution(image(), zeros({3, 1, 3, 3}), 2)),
              HasSubstr("groups is 2 for the weight 3x1x3x3"));
  EXPECT_THAT(error_of_call(convolution(image(), zeros({3, 2, 3, 3}), 0)),
              HasSubstr("groups is 0 for the weight"));
  EXPECT_THAT(error_of_call(convolution(zeros({4}), zeros({3, 2, 3, 3}))),
              HasSubstr("equal ranks are wanted"));
  EXPECT_THAT(
      error_of_call(convolution(image(), zeros({3, 2, 3, 3})).with("stride", integers({0, 1}))),
      HasSubstr("\"stride\" has the value 0"));
  EXPECT_THAT(
      error_of_call(convolution(image(), zeros({3, 2, 3, 3})).with("padding", integers({-1, 0}))),
      HasSubstr("\"padding\" has the value -1"));
  EXPECT_THAT(error_of_call(
                  convolution(image(), zeros({3, 2, 3, 3})).with("dilation", integers({1, 1, 1}))),
              HasSubstr("\"dilation\" has not 2 values"));
}

TEST(ExportedOperators, RefuseWindowsThatDoNotFit) {
  for (const char* target : {"aten.avg_pool2d.default", "aten.max_pool2d_with_indices.default"}) {
    auto pool = [&](std::int64_t size) {
      return OneCall(target).with("self", image()).with("kernel_size", integers({size, size}));
    };
    EXPECT_EQ(error_of_call(pool(2)), "no error");
    EXPECT_THAT(error_of_call(pool(5)),
                HasSubstr("a kernel of 5 with a padding of 0 does not fit an axis of 4"));
    EXPECT_THAT(error_of_call(pool(2).with("padding", integers({2, 2}))),
                HasSubstr("a kernel of 2 with a padding of 2 does not fit"));
  }
  EXPECT_THAT(error_of_call(OneCall("aten._adaptive_avg_pool2d.default")
                                .with("self", image())
                                .with("output_size", integers({0, 2}))),
              HasSubstr("a value of the parts is 0"));
  EXPECT_THAT(error_of_call(OneCall("aten._adaptive_avg_pool2d.default")
                                .with("self", image())
                                .with("output_size", integers({60000, 60000}))),
              HasSubstr("are too many"));
  EXPECT_THAT(error_of_call(OneCall("aten.unfold.default")
                                .with("self", zeros({4}))
                                .with("dimension", std::int64_t{0})
                                .with("size", std::int64_t{5})
                                .with("step", std::int64_t{1})),
              HasSubstr("windows of 5 elements every 1 do not fit axis 0"));
  EXPECT_THAT(error_of_call(OneCall("aten.constant_pad_nd.default")
                                .with("self", zeros({4}))
                                .with("pad", integers({1, 1, 1}))),
              HasSubstr("a pad has 3 sizes for a tensor of rank 1"));
}

TEST(ExportedOperators, RefuseIndicesThatDoNotFit) {
  Tensor x = zeros({2, 3}), one = zeros({1}, i64);
  EXPECT_THAT(
      error_of_call(
          OneCall("aten.index.Tensor").with("self", x).with_list("indices", {one, one, one})),
      HasSubstr("3 indices are given for a tensor of shape 2x3"));
  EXPECT_THAT(error_of_call(OneCall("aten.gather.default")
                                .with("self", x)
                                .with("dim", std::int64_t{2})
                                .with("index", zeros({1, 1}, i64))),
              HasSubstr("axis 2 is outside a tensor of shape 2x3"));
  EXPECT_THAT(error_of_call(OneCall("aten.gather.default")
                                .with("self", zeros({3}))
                                .with("dim", std::int64_t{0})
                                .with("index", zeros({1, 1}, i64))),
              HasSubstr("the index has the shape 1x1, and what it is an index of 3"));
  EXPECT_THAT(error_of_call(OneCall("aten.gather.default")
                                .with("self", x)
                                .with("dim", std::int64_t{0})
                                .with("index", ones({1, 1}, i64) + 1)),
              HasSubstr("index 2 is outside 2 places"));
  EXPECT_THAT(error_of_call(OneCall("aten.diagonal.default").with("self", zeros({3}))),
              HasSubstr("[diagonal] x is 3"));
  EXPECT_THAT(
      error_of_call(OneCall("aten.cumsum.default").with("self", x).with("dim", std::int64_t{3})),
      HasSubstr("axis 3 is outside a tensor of shape 2x3"));
  EXPECT_THAT(error_of_call(OneCall("aten.masked_scatter.default")
                                .with("self", x)
                                .with("mask", ones({2, 3}, DType::boolean))
                                .with("source", zeros({5}))),
              HasSubstr("the mask has 6 places; the source has 5 elements"));
  EXPECT_THAT(error_of_call(OneCall("aten.repeat_interleave.Tensor").with("repeats", one - 1)),
              HasSubstr("a number is repeated -1 times"));
  EXPECT_THAT(error_of_call(OneCall("aten.repeat_interleave.Tensor")
                                .with("repeats", one + 2)
                                .with("output_size", std::int64_t{3})),
              HasSubstr("repeats give 2 elements; the program says 3"));
  EXPECT_THAT(
      error_of_call(OneCall("aten.repeat.default").with("self", x).with("repeats", integers({2}))),
      HasSubstr("[repeat] 2x3 is repeated 2 times"));
}

TEST(ExportedOperators, RefuseNumbersThatCannotBe) {
  auto both = [](const std::string& target, std::int64_t a, std::int64_t b) {
    return error_of_call(OneCall(target).with("a", a).with("b", b));
  };
  EXPECT_THAT(both("_operator.add", INT64_MAX, 1), HasSubstr("have no such result in 64 bits"));
  EXPECT_THAT(both("_operator.mul", INT64_MAX, 2), HasSubstr("have no such result in 64 bits"));
  EXPECT_THAT(both("_operator.floordiv", 1, 0), HasSubstr("have no such result in 64 bits"));
  EXPECT_THAT(error_of_call(OneCall("aten._local_scalar_dense.default").with("self", zeros({2}))),
              HasSubstr("it must have one element"));
  EXPECT_THAT(
      error_of_call(
          OneCall("aten._assert_tensor_metadata.default").with("a", zeros({2})).with("dtype", i64)),
      HasSubstr("a tensor is f32; the program was exported for i64"));
  EXPECT_THAT(error_of_call(OneCall("aten._assert_scalar.default")
                                .with("self", false)
                                .with("assert_msg", std::string("u0 must be 3"))),
              HasSubstr("u0 must be 3"));
  auto asserted = [](const Tensor& x) {
    return error_of_call(OneCall("aten._assert_async.msg")
                             .with("self", x)
                             .with("assert_msg", std::string("ids must be below 3")));
  };
  EXPECT_EQ(asserted(ones({1}, DType::boolean)), "no error");
  EXPECT_THAT(asserted(zeros({}, DType::boolean)), HasSubstr("[exported] ids must be below 3"));
  EXPECT_THAT(asserted(ones({2})), HasSubstr("a tensor of shape 2 is asserted"));
  EXPECT_THAT(error_of_call(OneCall("aten._assert_async.default").with("self", zeros({1}))),
              HasSubstr("an assertion failed"));
  EXPECT_THAT(error_of_call(OneCall("aten.sym_constrain_range.default")
                                .with("size", std::int64_t{9})
                                .with("max", std::int64_t{8})),
              HasSubstr("a size is 9"));
  EXPECT_THAT(error_of_call(OneCall("aten.arange.start_step").with("end", INFINITY)),
              HasSubstr("is not reached by the steps"));
  EXPECT_THAT(error_of_call(OneCall("aten.native_group_norm.default")
                                .with("input", zeros({2, 4, 3}))
                                .with("N", std::int64_t{2})
                                .with("C", std::int64_t{4})
                                .with("HxW", std::int64_t{5})
                                .with("group", std::int64_t{2})
                                .with("eps", 1e-5)),
              HasSubstr("a norm of groups is of 40 elements; the tensor has 24"));
}

// As PyTorch does where a mask's number is larger than what halves hold.
TEST(ExportedOperators, MakeInfinityOfNumbersThatHalvesDoNotHold) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = full({2}, 3, f16), condition = arange(0, 2) > 0;
  auto chosen = [&](double number) {
    return OneCall("aten.where.ScalarOther")
        .with("condition", condition)
        .with("self", x)
        .with("other", number)
        .one();
  };
  EXPECT_EQ(chosen(-1e9).dtype(), f16);
  EXPECT_EQ(chosen(-1e9).to(f32).to_vector<float>(), (std::vector<float>{-infinity, 3}));
  EXPECT_EQ(chosen(65519).to(f32).to_vector<float>(), (std::vector<float>{65504, 3}));
  const Tensor lowest =
      OneCall("aten.scalar_tensor.default").with("s", -1e9).with("dtype", f16).one();
  EXPECT_EQ(lowest.to(f32).to_vector<float>(), std::vector<float>{-infinity});
}

TEST(ExportedOperators, LetOneNumberBeTransposed) {
  auto transposed = [](std::int64_t first, std::int64_t second) {
    return OneCall("aten.transpose.int")
        .with("self", full({}, 7))
        .with("dim0", first)
        .with("dim1", second);
  };
  EXPECT_EQ(transposed(0, -1).one().shape(), Shape());
  EXPECT_THAT(error_of_call(transposed(0, 1)), HasSubstr("outside"));
  EXPECT_EQ(OneCall("aten.movedim.int")
                .with("self", full({}, 7))
                .with("source", std::int64_t{-1})
                .with("destination", std::int64_t{0})
                .one()
                .shape(),
            Shape());
}

// As PyTorch 2.15 gives them, of no elements too.
TEST(ExportedOperators, TellIfAllOrAnyElementsAreTrue) {
  const Tensor some = Tensor::from(std::vector<float>{0, 1, 1, 0}, {2, 2}) != 0;
  struct Case {
    const char* target;
    Tensor operand;
    bool wanted;
  };
  for (const Case& c : {Case{"aten._is_all_true.default", some, false},
                        {"aten._is_all_true.default", some.slice(1, 1, 2).slice(0, 0, 1), true},
                        {"aten._is_all_true.default", zeros({0, 3}, DType::boolean), true},
                        {"aten._is_any_true.default", some, true},
                        {"aten._is_any_true.default", some.slice(1, 0, 1).slice(0, 0, 1), false},
                        {"aten._is_any_true.default", zeros({0, 3}, DType::boolean), false}}) {
    const Tensor result = OneCall(c.target).with("self", c.operand).one();
    EXPECT_EQ(result.dtype(), DType::boolean);
    EXPECT_EQ(result.shape(), Shape{});
    EXPECT_EQ(result.item<bool>(), c.wanted) << c.target;
  }
}

}  // namespace
}  // namespace tilewright::exported_operators_test
