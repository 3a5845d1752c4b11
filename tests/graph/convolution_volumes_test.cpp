// Convolutions over three axes, of random sizes, against their definition in loops: the host's
// programs choose by sizes which axis shares copies, and how planes are cut into blocks. Transposed
// ones also of fewer axes.
#include <gtest/gtest.h>

#include <random>

#include "tests/graph/convolution_cases.h"

namespace tilewright::convolution_volumes_test {
namespace {

using namespace testing_convolutions;

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}
  std::int64_t from(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }

  // `most` outputs of a group, `longest` axes; a transposed one has output padding.
  Extent extent(int rank, std::int64_t channels, std::int64_t outputs, std::int64_t longest,
                bool is_transposed) {
    Extent e{.n = from(1, 2), .groups = from(1, 3) == 1 ? from(2, 3) : 1};
    e.channels = e.groups * channels;
    e.outputs = e.groups * outputs;
    for (auto* list : {&e.sizes, &e.kernel, &e.stride, &e.padding, &e.dilation, &e.more})
      list->clear();
    for (int axis = 0; axis < rank; ++axis) {
      e.kernel.push_back(from(1, 4));
      e.stride.push_back(from(1, 3) == 1 ? from(2, 3) : 1);
      e.dilation.push_back(from(1, 4) == 1 ? 2 : 1);
      e.padding.push_back(from(0, 2));
      const std::int64_t reach = e.dilation.back() * (e.kernel.back() - 1);
      e.sizes.push_back(std::max<std::int64_t>(
          from(1, longest), is_transposed ? 2 * e.padding.back() + 1 : reach + 1));
      e.more.push_back(from(0, std::max(e.stride.back(), e.dilation.back()) - 1));
    }
    return e;
  }

 private:
  std::mt19937 random_;
};

TEST(ConvolutionOfVolumes, IsTheSumOverItsWindows) {
  constexpr unsigned seed = 20261128;
  Random random(seed);
  for (int number = 0; number < 40; ++number) {
    SCOPED_TRACE(concat("seed ", seed, ", case ", number));
    const bool is_by_channel = number % 3 == 0;
    expect_definition(random.extent(3, is_by_channel ? 1 : random.from(2, 4),
                                    number % 7 == 1 ? random.from(48, 60) : random.from(1, 5),
                                    number % 4 == 0 ? 17 : 7, false),
                      false);
  }
}

// Large planes are cut into blocks of rows, small ones are joined; long rows are cut too.
TEST(ConvolutionOfVolumes, CutsPlanesIntoBlocks) {
  const std::vector<std::int64_t> ones = {1, 1, 1}, none = {0, 0, 0};
  for (std::int64_t channels : {1, 3})
    for (const auto& [sizes, kernel] :
         std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>>{
             {{4, 31, 45}, {3, 3, 3}},
             {{21, 6, 45}, {5, 1, 2}},
             {{9, 5, 6}, {2, 3, 3}},
             {{3, 4, 530}, {2, 2, 3}},
             {{5, 6, 7}, {1, 1, 1}},
             {{9, 60, 61}, {1, 1, 1}}})
      expect_definition({.channels = 4 * channels,
                         .outputs = 8,
                         .groups = 4,
                         .sizes = sizes,
                         .kernel = kernel,
                         .stride = ones,
                         .padding = none,
                         .dilation = ones,
                         .more = none},
                        false);
}

TEST(ConvolutionOfVolumes, LeavesOutPlacesThatSeeNothing) {
  for (std::int64_t dilation : {4, 9})
    expect_definition({.channels = 2,
                       .outputs = 3,
                       .sizes = {4, 5, 6},
                       .kernel = {3, 3, 3},
                       .stride = {1, 2, 1},
                       .padding = {dilation, dilation, dilation},
                       .dilation = {dilation, dilation, dilation},
                       .more = {0, 0, 0}},
                      false);
}

TEST(TransposedConvolutionOfParts, AddsEachElementTimesTheFilter) {
  constexpr unsigned seed = 20261129;
  Random random(seed);
  for (int number = 0; number < 45; ++number) {
    SCOPED_TRACE(concat("seed ", seed, ", case ", number));
    expect_definition(random.extent(number % 3 + 1, number % 4 == 0 ? 1 : random.from(2, 3),
                                    random.from(1, 3), 6, true),
                      true);
  }
}

// A padding beyond what the kernel reaches cuts elements of x off.
TEST(TransposedConvolutionOfParts, LeavesOutElementsBehindThePadding) {
  for (std::int64_t kernel : {1, 2, 3})
    for (std::int64_t stride : {1, 2, 3})
      expect_definition({.channels = 2,
                         .outputs = 2,
                         .sizes = {9, 11},
                         .kernel = {kernel, 3},
                         .stride = {stride, 2},
                         .padding = {4, 5},
                         .dilation = {1, 1},
                         .more = {0, 1}},
                        true);
}

}  // namespace
}  // namespace tilewright::convolution_volumes_test
