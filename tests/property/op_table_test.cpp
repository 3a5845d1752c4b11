// Each op of the table, of each dtype, of sizes 0, 1, primes, powers of two and their neighbours
// and without axes, its operands broadcast, strided or behind an offset: the plan agrees with the
// interpreter, within the error of the op's own arithmetic; and operands that the op does not take
// are refused by name.
//
// TILEWRIGHT_TEST_CELLS says how many draws of operands are tried, spread over the cells of the
// table; the nightly run makes two for each cell.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>

#include "graph/custom/definition.h"
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "runtime/base/error.h"
#include "tests/property/expect_within.h"
#include "tests/property/op_cell.h"
#include "tests/property/plan_run.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::op_table_test {
namespace {

TEST(OpTable, HasAGeneratorOfOperandsForEachRow) {
  for (std::size_t i = 0; i < all_ops().size(); ++i)
    EXPECT_TRUE(!is_tabled(static_cast<Op>(i)) || has_generator(rule_of(static_cast<Op>(i))))
        << "no operands are known for the rule " << rule_of(static_cast<Op>(i)) << " of "
        << all_ops()[i].name << "; add its entry to op_cells.cpp";
}

// The greatest finite number of a float of 16 bits or more.
double greatest(DType dtype) {
  const int binade = (1 << exponent_bits(dtype)) - 2 - exponent_bias(dtype);
  return std::ldexp(2 - std::ldexp(1.0, 1 - digits(dtype)), binade);
}

// The outcome for the elements of an op's results.
struct Compared {
  std::int64_t bounded = 0, all = 0;
};

void expect_refused(const OpCell& cell, std::uint64_t number) {
  try {
    graph_of(cell, number);
    FAIL() << describe(cell) << " is not refused\n" << reproduction(number);
  } catch (const Error& error) {
    const std::string said = error.what(), name(info(cell.op).name);
    // A projection's is that of the op of several results.
    EXPECT_TRUE(said.starts_with("[" + name + "] ") || cell.op == Op::result)
        << said << "\n"
        << reproduction(number);
    EXPECT_NE(said.find("; "), std::string::npos) << said << " does not say what would be right";
  }
}

void count_bounded(const BoundedEvaluation& expected, Compared& compared) {
  for (const BoundedTensor& output : expected.outputs) {
    compared.all += std::ssize(output.error);
    for (double error : output.error) compared.bounded += std::isfinite(error) ? 1 : 0;
  }
}

// Where the exact result is a NaN or infinite, so must be what is computed, since operands are
// exact; where it may pass the greatest number of the dtype, it may be infinite. Such elements are
// left out of the comparison of numbers.
void settle_special(BoundedTensor& expected, HostTensor& actual) {
  HostTensor& y = expected.value;
  if (!is_floating(y.dtype) || y.dtype != actual.dtype || y.shape != actual.shape) return;
  const double largest = greatest(y.dtype);
  for (std::size_t i = 0; i < y.floating.size(); ++i) {
    double &wanted = y.floating[i], &got = actual.floating[i], &bound = expected.error[i];
    const bool may_overflow = !is_float8(y.dtype) && std::abs(wanted) + bound > largest &&
                              std::isinf(got) && std::signbit(got) == std::signbit(wanted);
    if ((std::isnan(wanted) && std::isnan(got)) || (std::isinf(wanted) && wanted == got) ||
        may_overflow)
      wanted = got = bound = 0;
  }
}

void expect_computed(const OpCell& cell, std::uint64_t number, const PlanOptions& options,
                     Compared& compared) {
  SCOPED_TRACE(describe(cell));
  RandomGraph random;
  Evaluation actual;
  try {
    random = graph_of(cell, number);
    actual = run_planned(run_passes(random.graph), random.inputs, {.options = options});
  } catch (const std::exception& error) {
    FAIL() << error.what() << "\n" << reproduction(number) << "\n" << print(random.graph);
  }
  BoundedEvaluation expected = bounded_evaluate(random.graph, random.inputs);
  for (std::size_t i = 0; i < std::min(expected.outputs.size(), actual.outputs.size()); ++i)
    settle_special(expected.outputs[i], actual.outputs[i]);
  expect_within(expected, actual,
                [&] { return reproduction(number) + "\n" + print(random.graph); });
  count_bounded(expected, compared);
}

std::map<Op, Compared> expect_all(const std::vector<std::uint64_t>& numbers, PlanOptions options) {
  std::map<Op, Compared> compared;
  std::int64_t computed = 0, refused = 0;
  for (std::uint64_t number : numbers) {
    const OpCell cell = cell_of(number % cell_count());
    if (is_legal(cell)) {
      if (options.interpret) options.shuffle_interpreted = number;
      expect_computed(cell, number, options, compared[cell.op]);
      ++computed;
    } else {
      expect_refused(cell, number);
      ++refused;
    }
  }
  std::cout << computed << " cells are computed, " << refused << " refused\n";
  return compared;
}

TEST(OpTable, IsComputedAsTheInterpreterSaysOrRefused) {
  const std::vector<std::uint64_t> numbers = cells_of_test(1200);
  const std::map<Op, Compared> compared = expect_all(numbers, {});
  if (numbers.size() < 1000) return;
  for (const auto& [op, elements] : compared)
    EXPECT_GE(elements.bounded * 4, elements.all)
        << info(op).name << ": most elements have no bound, so that nothing is compared";
}

TEST(OpTable, IsInterpretedAsTheInterpreterOfGraphsSays) {
  expect_all(cells_of_test(12'000), {.interpret = true});
}

TEST(OpTable, IsComputedForSizesThatVary) { expect_all(cells_of_test(600), {.sizes_vary = true}); }

void expect_named(Op op, const std::vector<NodeId>& operands, const Attributes& attributes,
                  Graph graph) {
  const std::string name(info(op).name);
  try {
    GraphBuilder(graph).append(op, operands, attributes, f32);
    ADD_FAILURE() << name << " is not refused";
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("[" + name + "] ")) << error.what();
  }
}

TEST(OpTable, RefusesOtherNumbersOfOperandsAndAttributesThatItDoesNotRead) {
  Graph graph;
  const NodeId x = GraphBuilder(graph).input(f32, {2});
  for (std::size_t i = 0; i < all_ops().size(); ++i) {
    const Op op = static_cast<Op>(i);
    const OpInfo& row = info(op);
    auto so_many = [&](int count) {
      return std::vector<NodeId>(static_cast<std::size_t>(count), x);
    };
    if (row.min_operands > 0) expect_named(op, so_many(row.min_operands - 1), {}, graph);
    if (row.max_operands >= 0) expect_named(op, so_many(row.max_operands + 1), {}, graph);
    const Attributes defaults;
    for_each_attribute(defaults, [&](AttributeField field, std::string_view, const auto&) {
      if (row.reads.has(field)) return;
      Attributes one;
      for_each_attribute(one, [&](AttributeField other, std::string_view, auto& value) {
        if (other != field) return;
        using Value = std::remove_reference_t<decltype(value)>;
        if constexpr (requires { value.push_back(1); })
          value.push_back(1);
        else if constexpr (std::is_same_v<Value, Bodies>)
          value = Bodies({Graph{}});
        else if constexpr (std::is_same_v<Value, CustomReference>)
          value = define_custom({.name = "of_no_op"});
        else
          value = static_cast<Value>(2);
      });
      expect_named(op, so_many(row.min_operands), one, graph);
    });
  }
}

}  // namespace
}  // namespace tilewright::graph::op_table_test
