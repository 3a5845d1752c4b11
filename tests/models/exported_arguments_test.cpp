// Arguments that an operator cannot take are named, with their value.
#include <gmock/gmock.h>

#include <memory>

#include "tests/errors.h"
#include "tests/models/exported_call.h"

namespace tilewright::exported_arguments_test {
namespace {

using exported::ArgumentValue;
using ::testing::HasSubstr;
using testing::integers;
using testing::OneCall;
using Named = std::pair<std::string, ArgumentValue>;

ArgumentValue number(std::int64_t value) { return value; }
ArgumentValue text(const char* value) { return std::string(value); }

// The error of a call with `x` as its first argument.
std::string said(const std::string& target, const Tensor& x, const std::vector<Named>& others,
                 const std::string& first = "self") {
  OneCall call(target);
  call.with(first, x);
  for (const auto& [name, value] : others) call.with(name, value);
  return error_of([&] { call.all(); });
}

TEST(OperatorArguments, OfShapesAndChoices) {
  Tensor x = ones({2, 3});
  EXPECT_THAT(said("aten.resize_.default", x, {{"size", integers({3, 3})}}),
              HasSubstr("a tensor [2x3] is resized to [3x3], where elements are added"));
  EXPECT_THAT(said("aten.nonzero_static.default", x, {{"size", number(-2)}}),
              HasSubstr("\"size\" is -2"));
  EXPECT_THAT(said("aten.combinations.default", x, {}), HasSubstr("\"self\" is [2x3]"));
  EXPECT_THAT(said("aten.combinations.default", ones({3}), {{"r", number(65)}}),
              HasSubstr("\"r\" is 65; 0 to 64 is wanted"));
  EXPECT_THAT(said("aten.combinations.default", ones({90}), {{"r", number(12)}}),
              HasSubstr("there are more than 5592405 choices of 12 from 90 elements"));
  EXPECT_THAT(said("aten.fill_diagonal_.default", ones({3}), {{"fill_value", number(1)}}),
              HasSubstr("\"self\" is [3]; two axes are wanted"));
  EXPECT_THAT(said("aten.unique_consecutive.default", x, {{"dim", number(4)}}),
              HasSubstr("\"dim\" is 4; the tensor is [2x3]"));
  EXPECT_THAT(said("aten.unique_dim.default", x, {{"dim", number(-3)}}),
              HasSubstr("\"dim\" is -3; the tensor is [2x3]"));
  EXPECT_THAT(said("aten.mode.default", ones({2, 0}), {}),
              HasSubstr("[mode] the axis has no elements"));
  EXPECT_THAT(error_of([&] {
                OneCall("aten.tensor_split.tensor_indices_or_sections")
                    .with("self", x)
                    .with("tensor_indices_or_sections", ones({1, 1}, i64))
                    .all();
              }),
              HasSubstr("\"tensor_indices_or_sections\" has more than one axis"));
  auto chunks = [&](std::int64_t dim, std::int64_t count) {
    return error_of([&] {
      OneCall("aten._chunk_cat.default")
          .with_list("tensors", {x})
          .with("dim", number(dim))
          .with("num_chunks", number(count))
          .all();
    });
  };
  EXPECT_THAT(chunks(0, 0), HasSubstr("\"num_chunks\" is 0; at least 1 is wanted"));
  EXPECT_THAT(chunks(2, 2), HasSubstr("\"dim\" is 2; a tensor is [2x3]"));
}

TEST(OperatorArguments, OfWindows) {
  Tensor x = ones({1, 4, 4});
  EXPECT_THAT(
      error_of([] { OneCall("aten.hann_window.default").with("window_length", number(-1)).all(); }),
      HasSubstr("\"window_length\" is -1"));
  EXPECT_THAT(error_of([&] {
                OneCall("aten.max_unpool2d.default")
                    .with("self", x)
                    .with("indices", zeros({1, 4, 2}, i64))
                    .with("output_size", integers({8, 8}))
                    .all();
              }),
              HasSubstr("[max_unpool2d] the sizes are [8x8], x [1x4x4] and the indices [1x4x2]"));
  auto at_random = [&](const Tensor& samples, std::int64_t kernel) {
    return error_of([&] {
      OneCall("aten.fractional_max_pool2d.default")
          .with("self", x)
          .with("kernel_size", integers({kernel, kernel}))
          .with("output_size", integers({2, 2}))
          .with("random_samples", samples)
          .all();
    });
  };
  EXPECT_THAT(at_random(ones({1, 1, 3}), 2),
              HasSubstr("[fractional_max_pool2d] the random samples are [1x1x3]"));
  EXPECT_THAT(at_random(ones({1, 1, 2}), 4),
              HasSubstr("[fractional_max_pool2d] 2 windows of 4 along an axis of 4"));
}

TEST(OperatorArguments, OfNumbersAlongAnAxis) {
  Tensor x = ones({4, 4});
  EXPECT_THAT(said("aten.quantile.scalar", x, {{"q", 1.5}}), HasSubstr("[quantile] q is 1.5"));
  EXPECT_THAT(said("aten.quantile.scalar", x, {{"q", 0.5}, {"interpolation", text("cubic")}}),
              HasSubstr("\"interpolation\" is none of linear, lower"));
  EXPECT_THAT(said("aten.nanquantile.scalar", x, {{"q", 0.5}, {"dim", number(2)}}),
              HasSubstr("[nanquantile] axis 2 is outside a tensor of shape 4x4"));
  EXPECT_THAT(said("aten.quantile.scalar", ones({0}), {{"q", 0.5}}),
              HasSubstr("[quantile] the axis has no elements"));
  EXPECT_THAT(said("aten.gradient.scalarint", x, {{"edge_order", number(3)}}),
              HasSubstr("\"edge_order\" is 3, not 1 or 2"));
  EXPECT_THAT(said("aten.gradient.scalarint", ones({1}), {}),
              HasSubstr("[gradient] along 1 elements"));
  EXPECT_THAT(said("aten.gradient.scalarint", x, {{"dim", number(7)}}), HasSubstr("\"dim\" is 7"));
  EXPECT_THAT(said("aten.linalg_vander.default", x, {{"N", number(0)}}, "x"),
              HasSubstr("[linalg_vander] 0 powers"));
  EXPECT_THAT(said("aten.pdist.default", ones({3}), {}), HasSubstr("[pdist] x is [3]"));
  EXPECT_THAT(said("aten.mvlgamma.default", x, {{"p", number(0)}}), HasSubstr("[mvlgamma] p is 0"));
}

TEST(OperatorArguments, OfMatrices) {
  Tensor x = ones({4, 4});
  EXPECT_THAT(said("aten.linalg_lu.default", x, {{"pivot", false}}, "A"),
              HasSubstr("\"pivot\" is false; rows are always exchanged"));
  EXPECT_THAT(said("aten.linalg_qr.default", x, {{"mode", text("half")}}, "A"),
              HasSubstr("\"mode\" is none of reduced, complete and r"));
  EXPECT_THAT(said("aten.linalg_matrix_norm.default", x, {{"ord", number(3)}}),
              HasSubstr("\"ord\" is 3; 1, 2, inf and their negatives are supported"));
  EXPECT_THAT(said("aten.linalg_matrix_norm.str_ord", x, {{"ord", text("max")}}),
              HasSubstr("\"ord\" is neither fro nor nuc"));
  EXPECT_THAT(said("aten.linalg_cond.default", x, {{"p", number(3)}}),
              HasSubstr("\"p\" is 3; 1, 2, inf and their negatives are supported"));
  EXPECT_THAT(said("aten.linalg_cond.p_str", x, {{"p", text("max")}}),
              HasSubstr("\"p\" is neither fro nor nuc"));
  EXPECT_THAT(said("aten.linalg_eigh.default", x, {{"UPLO", text("B")}}),
              HasSubstr("\"UPLO\" is neither L nor U"));
  EXPECT_THAT(said("aten.linalg_tensorinv.default", x, {{"ind", number(2)}}),
              HasSubstr("\"ind\" is 2"));
  EXPECT_THAT(said("aten.linalg_matrix_power.default", x, {{"n", number(2'000'000)}}),
              HasSubstr("\"n\" is 2000000"));
}

// (device, dtype, on, cache, graph, operands): x -> the operator's result.
std::string said_within_autocast(const char* device, DType dtype, const std::string& target) {
  auto graph = std::make_shared<exported::Subgraph>();
  graph->name = "body";
  graph->inputs = {0};
  graph->outputs = {1};
  graph->value_names = {"x", "y"};
  graph->nodes.push_back({"y", target, {{"self", exported::TensorName{0}}}, {1}, ""});
  return error_of([&] {
    OneCall("higher_order.wrap_with_autocast")
        .with("0", text(device))
        .with("1", dtype)
        .with("2", true)
        .with("3", false)
        .with("4", exported::GraphArgument{graph})
        .with("5", ones({2}))
        .all();
  });
}

TEST(OperatorArguments, OfAutocast) {
  EXPECT_EQ(said_within_autocast("cpu", f16, "aten.relu.default"), "no error");
  EXPECT_THAT(said_within_autocast("cuda", f16, "aten.relu.default"),
              HasSubstr("\"0\" is cuda: torch.autocast is supported for \"cpu\""));
  EXPECT_THAT(said_within_autocast("cpu", f32, "aten.relu.default"),
              HasSubstr("\"1\" is no float of 16 bits"));
  EXPECT_THAT(said_within_autocast("cpu", f16, "aten.lstm.input"),
              HasSubstr("aten.lstm.input within torch.autocast is not supported"));
  EXPECT_THAT(said_within_autocast("cpu", f16, "higher_order.cond"),
              HasSubstr("higher_order.cond within torch.autocast is not supported"));
}

}  // namespace
}  // namespace tilewright::exported_arguments_test
