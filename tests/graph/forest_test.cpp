// Forests of decision trees by hand, and activations that ONNX alone has.
#include "graph/functions/learners/forest.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/functions/pointwise/activations.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::forest_test {
namespace {

using testing_loops::expect_at_once_and_compiled;
using testing_loops::expect_near;
using testing_loops::Floats;
using testing_loops::Integers;
using testing_loops::Tensors;

// Tree 0: feature 1 <= 0.5 ? leaf 1 : (feature 0 <= 2 ? leaf 3 : leaf 4); tree 1 is leaf 5.
Forest forest() {
  return {.features = {1, 0, 0, 0, 0, 0},
          .if_true = {1, 1, 3, 3, 4, 5},
          .if_false = {2, 1, 4, 3, 4, 5},
          .values = {0.5F, 0, 2, 0, 0, 0},
          .roots = {0, 5},
          .levels = 2};
}

TEST(Forest, RowsDescendEachTree) {
  const Tensor x = Tensor::from(Floats{9, 0, 2, 1, 3, 1, 1, std::nanf("")}, {4, 2});
  expect_at_once_and_compiled(
      [](const Tensors& t) -> Tensors {
        Forest missing = forest();
        missing.if_missing = {1, 0, 0, 0, 0, 0};
        return {forest_leaves(t[0], forest()), forest_leaves(t[0], missing),
                forest_weights(t[0], forest(), {0, 10, 0, 30, 40, 50}, 1)};
      },
      {x},
      [](const Tensors& got) {
        EXPECT_EQ(got[0].to_vector<std::int64_t>(), (Integers{1, 5, 3, 5, 4, 5, 3, 5}));
        EXPECT_EQ(got[1].to_vector<std::int64_t>(), (Integers{1, 5, 3, 5, 4, 5, 1, 5}));
        EXPECT_EQ(got[2].to_vector<float>(), (Floats{10, 50, 30, 50, 40, 50, 30, 50}));
      });
}

TEST(Forest, ComparesAsItIsTold) {
  const Tensor x = Tensor::from(Floats{0, 1, 0, 0.5F, 0, 0}, {3, 2});
  for (const auto& [comparison, leaves] : {std::pair{BranchComparison::less, Integers{2, 2, 1}},
                                           {BranchComparison::geq, {1, 1, 2}},
                                           {BranchComparison::greater, {1, 2, 2}},
                                           {BranchComparison::equal, {2, 1, 2}},
                                           {BranchComparison::not_equal, {1, 2, 1}}}) {
    Forest one{.features = {1, 0, 0},
               .if_true = {1, 1, 2},
               .if_false = {2, 1, 2},
               .values = {0.5F, 0, 0},
               .roots = {0},
               .levels = 1,
               .comparison = comparison};
    EXPECT_EQ(forest_leaves(x, one).to_vector<std::int64_t>(), leaves);
  }
}

TEST(Forest, RefusesListsOfOtherLengths) {
  Forest wrong = forest();
  wrong.if_true.pop_back();
  expect_contains(error_of([&] {
                    forest_leaves(zeros({1, 2}), wrong);
                  }),
                  "[forest] lists of 6, 6, 5");
  expect_contains(error_of([&] {
                    forest_leaves(zeros({1, 1}), forest());
                  }),
                  "[forest] a node asks for feature 1 of rows that have 1");
  expect_contains(error_of([&] { forest_leaves(zeros({2}), forest()); }), "[forest] rows [2]");
  expect_contains(error_of([&] {
                    forest_weights(zeros({1, 2}), forest(), {1}, 1);
                  }),
                  "[forest] 1 weights of 6 nodes");
}

TEST(OnnxActivations, AreTheirFormulas) {
  const Tensor x = Tensor::from(Floats{-3, -0.5F, 0.25F, 2}, {4});
  auto expect = [&](Tensor (*f)(const Tensor&), const Floats& wanted) {
    expect_near([=](const Tensors& t) -> Tensors { return {f(t[0])}; }, {x}, {4}, wanted);
  };
  expect([](const Tensor& t) { return hardsigmoid(t, 0.5, 0.25); }, {0, 0, 0.375F, 1});
  expect([](const Tensor& t) { return shrink(t, 0.3, 0.1); }, {-2.9F, -0.4F, 0, 1.9F});
  expect([](const Tensor& t) { return hardmax(t); }, {0, 0, 0, 1});
  expect([](const Tensor& t) { return swish(t, 2); },
         {-3 / (1 + std::exp(6.0F)), -0.5F / (1 + std::exp(1.0F)), 0.25F / (1 + std::exp(-0.5F)),
          2 / (1 + std::exp(-4.0F))});
  EXPECT_EQ(shrink(Tensor::from(Integers{-2, 0, 2}, {3}), 0.5, 1.5).to_vector<std::int64_t>(),
            (Integers{0, 0, 0}));
  EXPECT_EQ(hardmax(Tensor::from(Floats{1, 2, 2, 0}, {2, 2}), 0).to_vector<float>(),
            (Floats{0, 1, 1, 0}));
  expect_contains(error_of([] { swish(zeros({1}, i64)); }), "[swish] the operand is i64");
}

TEST(Forest, JoinsTheWeightsOfItsTrees) {
  const Tensor weights = Tensor::from(std::vector<float>{1, 5, 3, 3}, {2, 2, 1});
  auto joined = [&](TreeJoining joining) {
    return joined_trees(weights, joining).to_vector<float>();
  };
  EXPECT_EQ(joined(TreeJoining::sum), (std::vector<float>{6, 6}));
  EXPECT_EQ(joined(TreeJoining::mean), (std::vector<float>{3, 3}));
  EXPECT_EQ(joined(TreeJoining::least), (std::vector<float>{1, 3}));
  EXPECT_EQ(joined(TreeJoining::greatest), (std::vector<float>{5, 3}));
}

}  // namespace
}  // namespace tilewright::forest_test
