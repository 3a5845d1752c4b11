// Convolutions with filters of hundreds of places, as transforms of sound are: programs go through
// the places in loops, so that they are no longer for a longer filter.
#include <gtest/gtest.h>

#include "graph/run/plan.h"
#include "tests/graph/captured.h"
#include "tests/graph/convolution_cases.h"
#include "tests/tensors.h"

namespace tilewright::convolution_long_filters_test {
namespace {

using namespace testing_convolutions;

TEST(ConvolutionOfLongFilters, IsTheSumOverItsWindows) {
  for (const Extent& e : std::vector<Extent>{
           // pieces of sound: few windows and many outputs; many windows; steps of all sizes
           {.outputs = 50, .sizes = {640}, .kernel = {256}, .stride = {128}},
           {.n = 2,
           .outputs = 49,
           .sizes = {500},
           .kernel = {100},
           .stride = {90},
           .padding = {30}},
           {.outputs = 3, .sizes = {2000}, .kernel = {256}, .stride = {2}},
           {.outputs = 2, .sizes = {700}, .kernel = {131}, .padding = {70}, .dilation = {3}},
           {.outputs = 5, .sizes = {1500}, .kernel = {256}, .stride = {100}, .padding = {101}},
           {.channels = 3,
           .outputs = 3,
           .groups = 3,
           .sizes = {300},
           .kernel = {96},
           .stride = {5}},
           // several channels, whose windows are copied
           {.channels = 2, .outputs = 4, .sizes = {400}, .kernel = {70}, .padding = {9}},
           {.channels = 2, .outputs = 50, .sizes = {800}, .kernel = {90}, .stride = {40}},
           // one product goes through the places of a channel, over blocks of windows
           {.n = 2,
           .channels = 16,
           .outputs = 16,
           .groups = 4,
           .sizes = {99},
           .kernel = {128},
           .padding = {64}},
           {.channels = 3, .outputs = 5, .sizes = {2000}, .kernel = {48}, .padding = {11}},
           {.channels = 2,
           .outputs = 33,
           .sizes = {701},
           .kernel = {40},
           .padding = {60},
           .dilation = {3}},
           {.n = 2,
           .channels = 2,
           .outputs = 2,
           .groups = 2,
           .sizes = {30, 41},
           .kernel = {11, 13},
           .stride = {3, 2},
           .padding = {5, 6},
           .dilation = {1, 2},
           .more = {0, 0}},
           {.channels = 2,
           .outputs = 3,
           .sizes = {37, 90},
           .kernel = {9, 39},
           .stride = {4, 1},
           .padding = {4, 19},
           .dilation = {1, 1},
           .more = {0, 0}},
           {.outputs = 2,
           .sizes = {5, 6, 40},
           .kernel = {2, 3, 33},
           .stride = {1, 2, 1},
           .padding = {1, 1, 16},
           .dilation = {1, 1, 1},
           .more = {0, 0, 0}},
       })
    expect_definition(e, false);
}

std::size_t length_of_programs(std::int64_t outputs, std::int64_t kernel, std::int64_t stride) {
  const graph::Graph graph =
      graph::captured({{1, 1, 4096}, {outputs, 1, kernel}}, [&](std::vector<Tensor>& t) {
        return std::vector{conv1d(t[0], t[1], {}, {.stride = {stride}})};
      });
  const auto plan = graph::make_plan(graph, {.interpret = true, .device = Device::cpu()});
  std::size_t length = 0;
  for (std::size_t i = 0; i < plan->programs().size(); ++i) length += plan->program_text(i).size();
  return length;
}

TEST(ConvolutionOfLongFilters, HasProgramsOfTheSameLengthForLongerFilters) {
  for (std::int64_t outputs : {1, 36, 64})
    for (std::int64_t stride : {1, 100, 256}) {
      const auto wide = static_cast<double>(length_of_programs(outputs, 1024, stride));
      const auto narrow = static_cast<double>(length_of_programs(outputs, 128, stride));
      EXPECT_LT(wide, 1.2 * narrow) << outputs << " outputs, stride " << stride;
    }
}

}  // namespace
}  // namespace tilewright::convolution_long_filters_test
