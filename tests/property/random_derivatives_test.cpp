// Derivatives of random graphs: the gradient is the transpose of the tangent, Hessians are
// symmetric, and a checkpoint changes no bit.
// That the slopes themselves are right is seen by differences (gradients_test.cpp).
#include <gtest/gtest.h>

#include <array>

#include "graph/ir/text.h"
#include "tests/property/differentiated_graph.h"
#include "tests/property/random_graph.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::random_derivatives_test {
namespace {

// The ordinary run has 2,000 graphs in all parts, and fewer for comparisons that take longer.
constexpr std::uint64_t graphs_of_a_part = 500;

// Every fifth graph is had at two sizes of its named axes.
std::vector<RandomGraph> graphs_of(std::uint64_t seed) {
  if (seed % 5 != 0) return {random_graph(seed)};
  constexpr std::array sizes = {NamedSizes{3, 5}, NamedSizes{4, 2}};
  return random_graph_at(seed, sizes);
}

template <typename Check>
void for_each_function(std::uint64_t count, const Check& check) {
  std::uint64_t checked = 0;
  const std::vector<std::uint64_t> seeds = own_seeds_of_test(count);
  for (std::uint64_t seed : seeds)
    for (RandomGraph& random : graphs_of(seed)) {
      DifferentiatedGraph function(std::move(random), seed, seed % 3 == 0);
      if (!function.is_differentiable()) continue;
      SCOPED_TRACE(reproduction(seed) + "\n" + print(function.graph()));
      try {
        check(function);
      } catch (const std::exception& error) {
        FAIL() << error.what();
      }
      if (testing::Test::HasFatalFailure() || testing::Test::HasNonfatalFailure()) return;
      ++checked;
    }
  EXPECT_TRUE(seeds.size() < count / 2 || checked > seeds.size() / 2) << checked;
}

// In parts that run side by side; each has graphs of its own.
class RandomDerivatives : public testing::TestWithParam<int> {};

TEST_P(RandomDerivatives, AreTransposesOfEachOther) {
  for_each_function(graphs_of_a_part, [](DifferentiatedGraph& f) { f.expect_transposed(); });
}
TEST_P(RandomDerivatives, HaveSymmetricSecondOnes) {
  for_each_function(graphs_of_a_part / 5,
                    [](DifferentiatedGraph& f) { f.expect_symmetric_hessian(); });
}
TEST_P(RandomDerivatives, AreTheSameBitsWithCheckpoints) {
  for_each_function(graphs_of_a_part / 5,
                    [](DifferentiatedGraph& f) { f.expect_same_from_checkpoint(); });
}
void expect_planned_are_meant(std::uint64_t count, const PlanForm& form) {
  ComparedElements compared;
  for_each_function(count,
                    [&](DifferentiatedGraph& f) { f.expect_planned_is_meant(form, compared); });
  // Ties of extrema, which rounding decides, have no bound. A graph alone may be nothing else.
  EXPECT_TRUE(compared.graphs < 5 || compared.sharply > compared.all / 2) << compared.sharply;
}
TEST_P(RandomDerivatives, InterpretedComputeWhatTheyMean) {
  expect_planned_are_meant(graphs_of_a_part / 5, {{.interpret = true}, false, "interpreted"});
}
TEST_P(RandomDerivatives, CompiledComputeWhatTheyMean) {
  expect_planned_are_meant(graphs_of_a_part / 100, {{}, false, "compiled"});
}
TEST_P(RandomDerivatives, ForSm80AndEmulatedComputeWhatTheyMean) {
  const Device device = Device::emulated("sm_80");
  expect_planned_are_meant(graphs_of_a_part / 38, {{.device = device}, false, "sm_80"});
}
TEST_P(RandomDerivatives, ForSm90aAndEmulatedComputeWhatTheyMean) {
  const Device device = Device::emulated("sm_90a");
  expect_planned_are_meant(graphs_of_a_part / 38, {{.device = device}, false, "sm_90a"});
}
INSTANTIATE_TEST_SUITE_P(Parts, RandomDerivatives, testing::Range(0, 4));

}  // namespace
}  // namespace tilewright::graph::random_derivatives_test
