// Derivatives of each differentiable op of the table, of each dtype, class of sizes and layout: the
// gradient is the transpose of the tangent, Hessians are symmetric, and the gradient's plan
// computes what it means from operands as they lie in memory. That slopes are right is seen by
// differences (gradients_test.cpp).
//
// TILEWRIGHT_TEST_CELLS says how many draws of operands are tried, as in op_table_test.cpp.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "graph/ir/text.h"
#include "runtime/base/error.h"
#include "tests/property/differentiated_graph.h"
#include "tests/property/op_cell.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::op_table_derivatives_test {
namespace {

// Without a derivative: an Error of that name says so, and not that anything else is wrong.
bool has_derivative(DifferentiatedGraph& function) {
  try {
    function.gradient();
    return true;
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("[derivative] ")) << error.what();
    return false;
  }
}

template <typename Check>
void for_each_cell(std::uint64_t share, const Check& check) {
  std::set<Op> with, without;
  for (std::uint64_t number : cells_of_test(share)) {
    const OpCell cell = cell_of(number % cell_count());
    if (!is_legal(cell)) continue;
    DifferentiatedGraph function(graph_of(cell, number), number);
    if (!function.is_differentiable()) continue;
    SCOPED_TRACE(describe(cell) + "\n" + reproduction(number) + "\n" + print(function.graph()));
    const bool is_derived = has_derivative(function);
    (is_derived ? with : without).insert(cell.op);
    if (!is_derived) continue;
    try {
      check(function);
    } catch (const std::exception& error) {
      FAIL() << error.what();
    }
    if (testing::Test::HasFailure()) return;
  }
  std::cout << with.size() << " ops have derivatives, " << without.size() << " none\n";
  for (Op op : without)
    EXPECT_FALSE(with.contains(op)) << info(op).name << " has derivatives of some dtypes alone";
}

TEST(OpTableDerivatives, AreTransposesOfEachOther) {
  for_each_cell(6000, [](DifferentiatedGraph& f) { f.expect_transposed(); });
}

TEST(OpTableDerivatives, HaveSymmetricSecondOnes) {
  for_each_cell(1500, [](DifferentiatedGraph& f) { f.expect_symmetric_hessian(); });
}

TEST(OpTableDerivatives, InterpretedComputeWhatTheyMean) {
  ComparedElements compared;
  for_each_cell(3000, [&](DifferentiatedGraph& f) {
    f.expect_planned_is_meant({{.interpret = true}, false, "interpreted"}, compared);
  });
  EXPECT_TRUE(compared.graphs < 100 || compared.sharply > compared.all / 2) << compared.sharply;
}

TEST(OpTableDerivatives, CompiledComputeWhatTheyMean) {
  ComparedElements compared;
  for_each_cell(150, [&](DifferentiatedGraph& f) {
    f.expect_planned_is_meant({{}, false, "compiled"}, compared);
  });
}

}  // namespace
}  // namespace tilewright::graph::op_table_derivatives_test
