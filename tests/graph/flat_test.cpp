// Programs that take the number of elements as an argument (graph/lower/flat.h).
#include "graph/lower/flat.h"

#include <gtest/gtest.h>

#include "graph/run/plan.h"
#include "tests/errors.h"
#include "tests/graph/captured.h"

namespace tilewright::graph::flat_test {
namespace {

using Tensors = std::vector<Tensor>;

std::shared_ptr<const Plan> plan_of(const Graph& graph, const Device& device) {
  return make_plan(graph, {.interpret = true, .device = device});
}

// As the rate of an optimizer's steps, which is computed of a number in memory.
TEST(Flat, StepsMayShareAnElementThatIsComputed) {
  Graph graph = captured({{192}, {320}, {1}, {1}}, [](Tensors& x) {
    return Tensors{x[0] * (x[2] + 1), x[1] * (x[3] + 1)};
  });
  for (const Device& device : {Device::cpu(), Device::emulated("sm_80")}) {
    auto plan = plan_of(graph, device);
    ASSERT_EQ(plan->programs().size(), 1U) << plan->program_text(0);
    expect_contains(plan->program_text(0), "n: i64");
  }
}

// Programs are large where there are enough of them for all multiprocessors.
TEST(Flat, BlocksOfAGpuGrowWithAllElementsOfAFamily) {
  const std::int64_t many = 1 << 20, half = many / 2;
  auto text = [&](std::int64_t all) {
    Graph graph = captured({{half + 64}, {all - half - 64}}, [](Tensors& x) {
      return Tensors{x[0] * 2, x[1] * 2};
    });
    auto plan = plan_of(graph, Device::emulated("sm_80"));
    EXPECT_EQ(plan->programs().size(), 1U);
    return plan->program_text(0);
  };
  expect_contains(text(many - 16), "f32[1024]");
  expect_contains(text(many), "f32[2048]");
}

}  // namespace
}  // namespace tilewright::graph::flat_test
