// Transposed convolutions against their definition in loops, at once and compiled.
#include <gtest/gtest.h>

#include "graph/functions/convolving/convolution.h"
#include "tests/graph/convolution_cases.h"
#include "tests/tensors.h"

namespace tilewright::transposed_convolution_test {
namespace {

using namespace testing_convolutions;

TEST(TransposedConvolution, AddsEachElementTimesTheFilter) {
  for (const Extent& e : std::vector<Extent>{
           {.channels = 3, .outputs = 4, .sizes = {5}, .kernel = {3}},
           {.channels = 3, .outputs = 2, .sizes = {5}, .kernel = {1}, .stride = {2}, .more = {1}},
           {.n = 2,
           .channels = 4,
           .outputs = 6,
           .groups = 2,
           .sizes = {3, 4},
           .kernel = {3, 2},
           .stride = {2, 3},
           .padding = {1, 2},
           .dilation = {1, 2},
           .more = {1, 2}},
           {.channels = 3,
           .outputs = 3,
           .groups = 3,
           .sizes = {3, 4},
           .kernel = {2, 2},
           .stride = {2, 1},
           .padding = {0, 0},
           .dilation = {1, 1},
           .more = {0, 0}},
           {.channels = 2,
           .outputs = 2,
           .sizes = {2, 3, 2},
           .kernel = {2, 2, 3},
           .stride = {2, 1, 2},
           .padding = {0, 1, 0},
           .dilation = {1, 1, 1},
           .more = {1, 0, 0}},
       })
    expect_definition(e, true);
}

// Where the stride does not divide the kernel, is larger, or meets a dilation.
TEST(TransposedConvolution, FillsUpTheLastBlockOfTheKernel) {
  for (std::int64_t kernel : {1, 2, 3, 5})
    for (std::int64_t stride : {1, 2, 3})
      for (std::int64_t dilation : {1, 2})
        expect_definition({.channels = 2,
                           .outputs = 3,
                           .sizes = {4},
                           .kernel = {kernel},
                           .stride = {stride},
                           .padding = {1},
                           .dilation = {dilation},
                           .more = {stride - 1}},
                          true);
}

// A dilation so much larger than the stride that zeros go between the elements of x.
TEST(TransposedConvolution, OfLargeDilationsIsRight) {
  for (std::int64_t dilation : {7, 9, 16})
    for (std::int64_t stride : {2, 3})
      expect_definition({.channels = 2,
                         .outputs = 2,
                         .sizes = {4, 3},
                         .kernel = {3, 2},
                         .stride = {stride, 1},
                         .padding = {2, 1},
                         .dilation = {dilation, dilation - 3},
                         .more = {1, 0}},
                        true);
}
// The filter is not spread out to 131,071 places, of which two are not 0.
TEST(TransposedConvolution, TakesNoMoreThanItsResultForALargeDilation) {
  const Tensor x = ones({1, 1, 3}), filter = ones({1, 1, 3});
  const Tensor y = conv_transpose1d(x, filter, {}, {.stride = {2}, .dilation = {65536}});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 131077}));
  EXPECT_EQ(sum(y).item<float>(), 9);
  EXPECT_EQ(y.slice(2, 65536, 65541).to_vector<float>(), (std::vector<float>{1, 0, 1, 0, 1}));
}

}  // namespace
}  // namespace tilewright::transposed_convolution_test
