// The update of many parameters is few launches, which do not wait for each other.
#include <gtest/gtest.h>

#include <deque>
#include <sstream>

#include "graph/compile/compile.h"
#include "models/optimizers/clipping.h"
#include "models/optimizers/rules/adam.h"
#include "models/optimizers/rules/sgd.h"
#include "tests/tensors.h"

namespace tilewright::optimizer_launches_test {
namespace {

// 100 parameters, matrices and vectors of four sizes each.
struct ManyParameters {
  std::deque<Tensor> tensors;
  std::vector<NamedParameter> named;
  std::vector<Tensor> gradients;
  ManyParameters() {
    for (std::int64_t i = 0; i < 100; ++i) {
      const std::int64_t size = 16 + 8 * (i % 4);
      const Shape shape = i % 2 == 0 ? Shape{size} : Shape{size, 24};
      tensors.push_back(ramp(shape));
      gradients.push_back(ramp(shape, 0.02F));
      named.push_back({std::to_string(i), tensors.back()});
    }
  }
};

// Steps the parameters and expects at most so many launches.
template <typename Optimizer>
void expect_launches(ManyParameters& parameters, Optimizer& optimizer, bool clips,
                     std::int64_t most) {
  auto step = compile(
      [&](const std::vector<Tensor>& gradients) {
        optimizer.step(clips ? clip_by_global_norm(gradients, 1.0).gradients : gradients);
        return optimizer.steps() + 0.0;
      },
      {.fullgraph = true});
  step(parameters.gradients);
  EXPECT_LE(step.report()[0].launches, most) << step.explain();
}

TEST(OptimizerLaunches, AreFewForManyParameters) {
  ManyParameters first, second, third;
  Sgd sgd(first.named, {.momentum = 0.9});
  AdamW adamw(second.named), clipped(third.named);
  // 3, 3 and 7 on a host; a GPU's table of arguments has room for some dozens of parameters.
  expect_launches(first, sgd, false, 5);
  expect_launches(second, adamw, false, 6);
  expect_launches(third, clipped, true, 12);
}

// The numbers that all updates share (corrections of the moments) are computed apart from the first
// parameter: stored by its program, they would keep that from being cut among threads.
TEST(OptimizerLaunches, TheFirstParameterIsCutIntoBlocksToo) {
  Tensor table = ramp({1000, 64}), gain = ramp({64}), bias = ramp({64});
  AdamW optimizer({{"table", table}, {"gain", gain}, {"bias", bias}});
  auto step = compile(
      [&](const std::vector<Tensor>& gradients) {
        optimizer.step(gradients);
        return optimizer.steps() + 0.0;
      },
      {.fullgraph = true});
  step({ramp({1000, 64}, 0.02F), ramp({64}), ramp({64})});
  std::istringstream lines(step.dump());
  int regions = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("region rows=") == std::string::npos) continue;
    if (line.find("width=64000") == std::string::npos &&
        line.find("rows=1000") == std::string::npos)
      continue;
    ++regions;
    EXPECT_NE(line.find("splits_columns"), std::string::npos) << line;
  }
  EXPECT_EQ(regions, 1) << step.dump();
}

}  // namespace
}  // namespace tilewright::optimizer_launches_test
