// Convolutions against their definition in loops, at once and compiled.
#include "graph/functions/convolving/convolution.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "graph/ir/text.h"
#include "tests/errors.h"
#include "tests/graph/captured.h"
#include "tests/graph/convolution_cases.h"
#include "tests/tensors.h"

namespace tilewright::convolution_test {
namespace {

using namespace testing_convolutions;

TEST(Convolution, IsTheSumOverItsWindows) {
  for (const Extent& e : std::vector<Extent>{
           {.channels = 3, .outputs = 4, .sizes = {9}, .kernel = {3}},
           {.channels = 2, .outputs = 1, .sizes = {200}, .kernel = {70}, .stride = {9}},
           {.n = 2,
           .channels = 3,
           .outputs = 5,
           .sizes = {6, 7},
           .kernel = {3, 2},
           .stride = {2, 1},
           .padding = {1, 2},
           .dilation = {1, 2},
           .more = {0, 0}},
           {.channels = 5,
           .outputs = 3,
           .sizes = {4, 6},
           .kernel = {1, 1},
           .stride = {1, 1},
           .padding = {0, 0},
           .dilation = {1, 1},
           .more = {0, 0}},
           {.channels = 5,
           .outputs = 3,
           .sizes = {5, 6},
           .kernel = {1, 1},
           .stride = {2, 2},
           .padding = {0, 0},
           .dilation = {1, 1},
           .more = {0, 0}},
           {.channels = 3,
           .outputs = 2,
           .sizes = {4, 6},
           .kernel = {2, 3},
           .stride = {2, 3},
           .padding = {0, 0},
           .dilation = {1, 1},
           .more = {0, 0}},
           {.n = 2,
           .channels = 2,
           .outputs = 3,
           .sizes = {4, 3, 5},
           .kernel = {2, 3, 2},
           .stride = {1, 1, 2},
           .padding = {0, 1, 1},
           .dilation = {2, 1, 1},
           .more = {0, 0, 0}},
       })
    expect_definition(e, false);
}

// In wide images a block has a part of several rows; the last ones have less.
TEST(Convolution, CutsWideImagesIntoBlocksOfSeveralRows) {
  for (const Extent& e : std::vector<Extent>{
           {.channels = 4,
  .outputs = 5,
  .sizes = {13, 259},
  .kernel = {3, 3},
  .stride = {1, 1},
  .padding = {1, 1},
  .dilation = {1, 1},
  .more = {0, 0}},
           {.n = 2,
           .channels = 4,
           .outputs = 6,
           .groups = 2,
           .sizes = {23, 531},
           .kernel = {5, 3},
           .stride = {2, 2},
           .padding = {2, 0},
           .dilation = {1, 2},
           .more = {0, 0}},
       })
    expect_definition(e, false);
}

// If filters reach beyond the image on all sides, places outside every window are dropped.
TEST(Convolution, LeavesOutPlacesThatSeeNothing) {
  for (std::int64_t size : {4, 13})
    for (std::int64_t dilation : {5, 12})
      for (std::int64_t kernel : {3, 4})
        for (std::int64_t stride : {1, 2})
          for (std::int64_t groups : {1, 4}) {
            const std::int64_t reach = dilation * (kernel - 1);
            for (std::int64_t padding : {reach / 2, reach, reach + 3})
              expect_definition({.n = 2,
                                 .channels = 4,
                                 .outputs = 4,
                                 .groups = groups,
                                 .sizes = {size, 7},
                                 .kernel = {kernel, 3},
                                 .stride = {stride, 1},
                                 .padding = {padding, 1},
                                 .dilation = {dilation, 1},
                                 .more = {0, 0}},
                                false);
          }
  const graph::Graph graph =
      graph::captured({{1, 3, 6, 6}, {2, 3, 3, 3}}, [](std::vector<Tensor>& t) {
        return std::vector{conv2d(t[0], t[1], {}, {.padding = {12}, .dilation = {12}})};
      });
  const auto convolution = std::ranges::find(graph.nodes, graph::Op::convolution, &graph::Node::op);
  ASSERT_NE(convolution, graph.nodes.end());
  EXPECT_EQ(graph.node(convolution->operands[1]).shape, (Shape{2, 3, 1, 1}));
}

TEST(Convolution, DividesChannelsIntoGroups) {
  for (std::int64_t outputs : {4, 8, 12})
    for (std::int64_t groups : {2, 4})
      expect_definition({.n = 2,
                         .channels = 4,
                         .outputs = outputs,
                         .groups = groups,
                         .sizes = {5, 6},
                         .kernel = {3, 3},
                         .stride = {1, 2},
                         .padding = {1, 1},
                         .dilation = {1, 1},
                         .more = {0, 0}},
                        false);
}

TEST(Convolution, KeepsSizesWhereItIsAskedTo) {
  Tensor x = numbers({3, 6, 5}), weight = numbers({2, 3, 4, 3});
  Tensor y = conv2d(x, weight, {}, {.dilation = {1, 2}, .keeps_sizes = true});
  EXPECT_EQ(y.shape(), (Shape{2, 6, 5}));
  // An odd number of zeros: one more behind.
  Tensor line = Tensor::from(Floats{1, 2, 3}, {1, 1, 3});
  Tensor pairs = conv1d(line, ones({1, 1, 2}), {}, {.keeps_sizes = true});
  EXPECT_EQ(pairs.to_vector<float>(), (Floats{3, 5, 3}));
}

// 256 + 1 + .. + 1 stays 256 where each sum is rounded to bf16.
TEST(Convolution, SumsOf16BitsAreCarriedInF32) {
  for (std::int64_t groups : {1, 8}) {
    Tensor x = ones({1, 8, 4, 4}, DType::bf16);
    Tensor weight = ones({8, 8 / groups, 3, 3}, DType::bf16);
    Tensor bias = full({8}, 256, DType::bf16);
    Tensor y = conv2d(x, weight, bias, {.groups = groups});
    EXPECT_EQ(y.dtype(), DType::bf16);
    float sum = groups == 1 ? 328.0F : 264.0F;  // 265 is no bf16; the even of its neighbours
    EXPECT_EQ(y.to(DType::f32).to_vector<float>(), Floats(32, sum));
  }
}

// A slice for each place of a window, or one look-up where there are many.
TEST(Convolution, LooksElementsUpInLargeWindowsAlone) {
  for (std::int64_t size : {4, 5}) {
    const graph::Graph graph =
        graph::captured({{1, 2, 6, 6, 6}, {3, 2, size, size, size}}, [](std::vector<Tensor>& t) {
          return std::vector<Tensor>{conv3d(t[0].to(DType::i32), t[1].to(DType::i32), {})};
        });
    EXPECT_EQ(print(graph).find("embedding") != std::string::npos, size == 5) << print(graph);
  }
}

TEST(Convolution, OfNoBatchIsEmpty) {
  Tensor y = conv2d(zeros({0, 3, 5, 5}), zeros({4, 3, 3, 3}), zeros({4}));
  EXPECT_EQ(y.shape(), (Shape{0, 4, 3, 3}));
}

TEST(Convolution, SaysWhatDoesNotFit) {
  Tensor x = zeros({1, 2, 4, 4}), weight = zeros({3, 2, 3, 3});
  auto error = [&](const Tensor& a, const Tensor& b, const ConvolutionOptions& o) {
    return error_of([&] { conv2d(a, b, {}, o); });
  };
  expect_contains(error(zeros({4}), weight, {}), "equal ranks are wanted");
  expect_contains(error(x, zeros({3, 5, 3, 3}), {}), "the channels do not agree");
  for (std::int64_t groups : {0, -4, 2})
    expect_contains(error(x, weight, {.groups = groups}), "it must divide 3");
  expect_contains(error(x, zeros({3, 2, 0, 3}), {}), "its windows must have a place");
  expect_contains(error(x, zeros({3, 2, 5, 3}), {}), "it must have room for a window");
  expect_contains(error(x, weight.to(DType::f64), {}), "they must have one dtype");
  expect_contains(error(x, weight, {.stride = {0}}), "a value of the stride is 0");
  expect_contains(error(x, weight, {.padding = {1, 1, 1}}), "there must be one, or 2");
  expect_contains(error(x, weight, {.stride = {2}, .keeps_sizes = true}), "a stride of 1");
  expect_contains(error_of([&] { conv2d(x, weight, zeros({2})); }), "it must have 3 elements");
  expect_contains(error_of([&] {
                    conv_transpose2d(zeros({1, 3, 4, 4}), weight, {}, {.output_padding = {1}});
                  }),
                  "it must be less than the stride or the dilation, 1");
  expect_contains(error_of([&] {
                    conv_transpose2d(zeros({1, 3, 1, 1}), weight, {}, {.padding = {2}});
                  }),
                  "the result must have an element");
}

}  // namespace
}  // namespace tilewright::convolution_test
