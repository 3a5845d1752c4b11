// Random graphs of a few sizes interpolate others: the graph behind the passes, its regions, their
// programs and launches equal those that are made afresh, number by number, and plans of it compute
// the graph's meaning.
//
// The ordinary run has 60 graphs at 14 sizes; TILEWRIGHT_TEST_GRAPHS tries more in proportion.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "graph/ir/text.h"
#include "graph/passes/interpolated_passes.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan_tasks.h"
#include "graph/run/planned_regions.h"
#include "graph/sizes/interpolated.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "tests/property/expect_within.h"
#include "tests/property/graph_generator.h"
#include "tests/property/plan_run.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::interpolated_sizes_test {
namespace {

struct Count {
  std::int64_t all = 0, graphs = 0, regions = 0;  // interpolated
};

// Two classes of rows, in an order in which most lie between two that came before.
std::vector<NamedSizes> sizes_of(std::uint64_t seed) {
  std::vector<NamedSizes> result = {{65, 5}, {300, 5}, {128, 5}, {77, 5}, {211, 5}};
  Dice dice(seed ^ 0x666f7265);
  while (result.size() < 14) {
    const NamedSizes sizes{.n = 20 + dice.below(260), .m = 5};
    if (!std::ranges::count(result, sizes)) result.push_back(sizes);
  }
  return result;
}

// Both raise an InternalError where what is interpolated is not what is made.
void expect_made(const RandomGraph& random, const PlanOptions& options, Count& count) {
  bool graph_is_interpolated = false, regions_are_interpolated = false;
  try {
    const Graph graph =
        run_passes_for_sizes(random.graph, options.device.target(), graph_is_interpolated);
    if (may_interpolate_regions(graph, options))
      planned_regions(graph, options, regions_are_interpolated);
    else
      planned_tasks(graph, options, regions_are_interpolated);
  } catch (const std::exception& error) {
    FAIL() << error.what() << "\n" << print(random.graph);
  }
  ++count.all;
  count.graphs += graph_is_interpolated ? 1 : 0;
  count.regions += regions_are_interpolated ? 1 : 0;
}

struct Verified {
  Verified() { verify_interpolated(true); }
  ~Verified() { verify_interpolated(false); }
};

void expect_meant(const RandomGraph& random, const PlanForm& form) {
  const Graph graph = run_passes(random.graph, {.target = form.options.device.target()});
  const auto told = [&] { return print(random.graph); };
  expect_within(bounded_evaluate(random.graph, random.inputs),
                run_planned(graph, random.inputs, form), told);
}

void expect_interpolated(std::uint64_t graphs, const PlanOptions& options, bool is_run) {
  const Verified verified;
  Count count;
  for (std::uint64_t seed : own_seeds_of_test(graphs)) {
    SCOPED_TRACE(reproduction(seed));
    const std::vector<NamedSizes> sizes = sizes_of(seed);
    const std::vector<RandomGraph> made = random_graph_at(seed, sizes);
    for (std::size_t i = 0; i < made.size(); ++i) {
      SCOPED_TRACE(sizes[i].n);
      expect_made(made[i], options, count);
      if (is_run && i + 1 == made.size())
        expect_meant(made[i], {{.interpret = true, .sizes_vary = true}, false, "interpreted"});
      if (testing::Test::HasFailure()) return;
    }
  }
  std::cout << "of " << count.all << " graphs " << count.graphs
            << " were interpolated, and the regions of " << count.regions << "\n";
  if (graphs > 1) {
    EXPECT_GT(count.graphs, count.all / 4);
    EXPECT_GT(count.regions, count.all / 5);
  }
}

TEST(InterpolatedSizes, OfRandomGraphsAreWhatIsMade) {
  const auto graphs = static_cast<std::uint64_t>(env::test_graphs().value_or(2000));
  expect_interpolated(graphs * 3 / 100, {.sizes_vary = true}, true);
}

TEST(InterpolatedSizes, OfRandomGraphsForGpusAreWhatIsMade) {
  const auto graphs = static_cast<std::uint64_t>(env::test_graphs().value_or(2000));
  for (const char* gpu : {"sm_80", "sm_90a"})
    expect_interpolated(graphs / 100, {.device = Device::emulated(gpu), .sizes_vary = true}, false);
}

}  // namespace
}  // namespace tilewright::graph::interpolated_sizes_test
