// Marked regions: compiled as units of their own inside other functions, and named by reports.
#include "graph/compile/region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::region_test {
namespace {

Tensor step(const Tensor& x) { return relu(x * 2 + 1); }

std::vector<std::string> keys_of(const PlanReport& report) {
  std::vector<std::string> keys;
  for (const RegionReport& region : report.regions) keys.push_back(region.key);
  std::ranges::sort(keys);
  return keys;
}

TEST(Region, AloneIsAsCompile) {
  Compiled marked = region("step", step), plain = compile(step);
  Tensor x = ramp({4, 8});
  expect_near(marked(x), step(x));
  plain(x);
  EXPECT_EQ(keys_of(marked.report()[0]), keys_of(plain.report()[0]));
  EXPECT_TRUE(marked.report()[0].marked.empty());
}

TEST(Region, KeepsItsPlaceInsideAnotherFunction) {
  Compiled block = region("block", step);
  auto chain = [&](const Tensor& x) { return block(block(block(x) + 1)) * 3; };
  Compiled fast = compile(chain, {.verify_capture = 1}),
           whole = compile([](const Tensor&x) { return step(step(step(x) + 1)) * 3; });
  Tensor x = ramp({4, 8});
  expect_near(fast(x), whole(x));
  const PlanReport report = fast.report()[0];
  EXPECT_EQ(whole.report()[0].launches, 1);
  EXPECT_EQ(report.launches, 5);
  ASSERT_EQ(report.marked.size(), 1U);
  EXPECT_EQ(report.marked[0].name, "block");
  EXPECT_EQ(report.marked[0].instances, 3);
  EXPECT_EQ(report.marked[0].structures, 1);
  EXPECT_EQ(report.marked[0].programs, 1);
  auto is_marked = [](const RegionReport& r) {
    return r.marked == std::vector<std::string>{"block"};
  };
  EXPECT_EQ(std::ranges::count_if(report.regions, is_marked), 1);
  EXPECT_EQ(std::ranges::count_if(report.regions, [](const auto& r) { return r.marked.empty(); }),
            2);
  expect_contains(fast.explain(),
                  "region block: called 3 times, 1 structure of 1 distinct program");
}

TEST(Region, OfTwoStructuresUnderOneName) {
  Tensor bias = ramp({8});
  Compiled a = region("block", step), b = region("block", [&](const Tensor&x) { return x - bias; });
  Compiled fast = compile([&](const Tensor& x) { return b(a(b(a(x)))); });
  Tensor x = ramp({4, 8});
  expect_near(fast(x), step(step(x) - bias) - bias);
  const PlanReport report = fast.report()[0];
  ASSERT_EQ(report.marked.size(), 1U);
  EXPECT_EQ(report.marked[0].instances, 4);
  EXPECT_EQ(report.marked[0].structures, 2);
  EXPECT_EQ(report.regions.size(), 2U);
}

TEST(Region, WithinARegionIsAUnitOfItsOwn) {
  Compiled inner = region("inner", step);
  Compiled outer = region("outer", [&](const Tensor& x) { return exp(inner(x - 1)); });
  Compiled fast = compile([&](const Tensor& x) { return outer(outer(x)); });
  Tensor x = ramp({4, 8}, 0.001F);
  expect_near(fast(x), exp(step(exp(step(x - 1)) - 1)));
  const PlanReport report = fast.report()[0];
  ASSERT_EQ(report.marked.size(), 2U);
  EXPECT_EQ(report.marked[0].name, "outer");
  EXPECT_EQ(report.marked[0].structures, 1);
  EXPECT_EQ(report.marked[1].name, "inner");
  EXPECT_EQ(report.marked[1].instances, 2);
}

// Equal tasks, of which the second ones wait for something outside in their middle.
TEST(Region, EqualTasksThatCannotBeFusedAlike) {
  Tensor bias = ramp({4, 8});
  Compiled inner = region("inner", [](const Tensor& x) { return exp(x); });
  auto block = [](const Tensor& x, auto between) {
    Tensor u = x * 2;
    return u * (between(u) + 1);
  };
  auto first = [&](const Tensor& x) { return block(x, [&](const Tensor&) { return bias; }); };
  auto second = [&](const Tensor& x) {
    return block(x, [&](const Tensor& u) { return inner(u); });
  };
  Compiled a = region("block", first), b = region("block", second);
  Compiled fast = compile([&](const Tensor& x) { return b(b(a(a(x)))); });
  Tensor x = ramp({4, 8}, 0.001F);
  expect_near(fast(x), second(second(first(first(x)))));
  ASSERT_EQ(fast.report()[0].marked.size(), 2U);
  EXPECT_EQ(fast.report()[0].marked[0].instances, 4);
  EXPECT_EQ(fast.report()[0].marked[0].structures, 2);
}

// Values that are computed outside too are computed again within, so that regions stay equal.
TEST(Region, ComputesWhatItNeedsItself) {
  auto tail = [](const Tensor& x) { return exp(x) * 2; };
  Compiled block = region("block", tail);
  Compiled fast = compile([&](const Tensor& x) { return exp(x) + block(x) + block(x + 1); });
  Tensor x = ramp({4, 8});
  expect_near(fast(x), exp(x) + tail(x) + tail(x + 1));
  EXPECT_EQ(fast.report()[0].marked[0].structures, 1);
}

TEST(Region, OfStructuresAndSeveralResults) {
  auto both = region("both", [](const std::vector<Tensor>& x, int times) {
    return std::pair(x[0] * times, x[1] * times);
  });
  auto fast = compile([&](const Tensor& x, const Tensor& y) {
    auto [a, b] = both({x, y}, 2);
    auto [c, d] = both({b, a}, 2);
    return std::pair(c, d);
  });
  auto [a, b] = fast(ramp({4}), ramp({5}));
  expect_near(a, ramp({5}) * 4);
  expect_near(b, ramp({4}) * 4);
  EXPECT_EQ(fast.report()[0].marked[0].instances, 2);
}

struct Gate {
  Tensor weight = ramp({8});
  Tensor forward(const Tensor& x) const { return x * weight; }
  Tensor twice(const Tensor& x) const { return x * weight * weight; }
};

TEST(Region, OfAnObjectAndItsMembers) {
  Gate gate;
  Compiled forward = region("gate", gate), twice = region("twice", gate, &Gate::twice);
  Compiled fast = compile([&](const Tensor& x) { return twice(forward(x)); });
  Tensor x = ramp({4, 8});
  expect_near(fast(x), gate.twice(gate.forward(x)));
  EXPECT_EQ(fast.report()[0].marked.size(), 2U);
}

TEST(Region, WritesInPlace) {
  Tensor state = zeros({8}).clone();
  Compiled add = region("add", [&](const Tensor& x) {
    state.copy_from(state + x);
    return state * 1;
  });
  Compiled fast = compile([&](const Tensor& x) { return add(add(x)); });
  for (int call = 0; call < 2; ++call) fast(ones({8}));
  // state: 1, then + (1) = 2; then 3, then + 3 = 6
  expect_near(state, ones({8}) * 6);
}

TEST(Region, ANameIsNeeded) {
  expect_contains(error_of([] { region("", step); }), "[region] the name is empty; give the one");
}

}  // namespace
}  // namespace tilewright::region_test
