// Gradients of tensors that every turn of a loop reads, against those of the turns written one by
// one, and where their sums are formed: after the loop if its turns would carry more than they
// stack.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/recurrent/recurrent.h"
#include "graph/ir/text.h"
#include "tests/graph/captured.h"
#include "tests/graph/derivatives/doubles.h"

namespace tilewright::loop_weights_test {
namespace {

using testing_doubles::values;

constexpr std::int64_t turns = 5;

// A step from a state, an element of x, a weight and a bias.
using Cell =
    std::function<Tensor(const Tensor& h, const Tensor& x, const Tensor& w, const Tensor& b)>;
struct Case {
  std::string name;
  Cell cell;
  std::int64_t rows, columns;
  bool is_after_loop;
};

Tensor simple(const Tensor& h, const Tensor& x, const Tensor& w, const Tensor& b) {
  return tanh(x + linear(h, w, b));
}
// Slices of the weight and of the bias, of which one is read twice.
Tensor gated(const Tensor& h, const Tensor& x, const Tensor& w, const Tensor& b) {
  const std::int64_t half = w.size(0) / 2;
  auto part = [&](const Tensor& t, std::int64_t begin, std::int64_t end) {
    return sigmoid(linear(t, w.slice(0, begin, end), b.slice(0, begin, end)));
  };
  const Tensor gate = part(h, 0, half), fresh = part(h * x, half, 2 * half);
  return cat({gate * fresh, part(h, 0, half) - fresh}, 1);
}
// A stack of weights, each with its own rows, a weight that is added up, and one of a product of
// weights.
Tensor stacked(const Tensor& h, const Tensor& x, const Tensor& w, const Tensor& b) {
  const Tensor pair = cat({w.unsqueeze(0), (w + w.transpose(0, 1)).unsqueeze(0)}, 0);
  const Tensor both = matmul(cat({h.unsqueeze(0), x.unsqueeze(0)}, 0), pair);
  return sin(both.select(0, 0) - both.select(0, 1) + b);
}
Tensor pointwise_weight(const Tensor& h, const Tensor& x, const Tensor& w, const Tensor& b) {
  return tanh(matmul(h, w * w) + x * b);
}

const std::vector<Case> cases = {{"simple", simple, 2, 6, true},
                                 {"gated", gated, 2, 6, true},
                                 {"stacked", stacked, 1, 6, true},
                                 {"many rows", simple, 40, 4, false},
                                 {"function of the weight", pointwise_weight, 2, 6, false}};

Tensor numbers(const Shape& shape, double step) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    all.push_back(std::sin(step * static_cast<double>(i + 1)) * 0.7);
  return Tensor::from(all, shape);
}

// The sum of squares of all states.
auto loss_of(const Case& c, std::int64_t few_turns, bool reverse) {
  return [&c, few_turns, reverse](const Tensor& w, const Tensor& b, const Tensor& x) {
    auto turn = [&](const Tensors& state, const Tensors& at) -> Turn {
      const Tensor next = c.cell(state[0], at[0], w, b);
      return {{next}, {next * next}};
    };
    auto [last, all] = scan(turn, {zeros({c.rows, c.columns}, x.dtype())}, {x},
                            {.reverse = reverse, .few_turns = few_turns});
    return sum(last[0]) + sum(all[0]);
  };
}

void expect_near(const Tensor& got, const Tensor& wanted, double tolerance) {
  testing_doubles::expect_values(got, values(wanted), tolerance);
}

TEST(LoopWeights, HaveTheGradientsOfTheTurnsWrittenOut) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Tensor w = numbers({c.columns, c.columns}, 0.37), b = numbers({c.columns}, 0.9),
                 x = numbers({turns, c.rows, c.columns}, 0.61);
    for (bool reverse : {false, true}) {
      auto looped = grad<0, 1, 2>(loss_of(c, 0, reverse));
      const auto [of_w, of_b, of_x] = grad<0, 1, 2>(loss_of(c, turns, reverse))(w, b, x);
      for (const auto& [got_w, got_b, got_x] : {looped(w, b, x), compile(looped)(w, b, x)}) {
        expect_near(got_w, of_w, 1e-11);
        expect_near(got_b, of_b, 1e-11);
        expect_near(got_x, of_x, 1e-11);
      }
    }
    auto second = [&](std::int64_t few) {
      auto of_w = [&](const Tensor& t) { return sum(grad(loss_of(c, few, false))(t, b, x)); };
      return grad(of_w)(w);
    };
    expect_near(second(0), second(turns), 1e-10);
  }
}

// Results of the loops of a graph, by shape.
std::vector<Shape> results_of_loops(const graph::Graph& graph) {
  std::vector<Shape> shapes;
  for (const graph::Node& node : graph.nodes) {
    if (node.op != graph::Op::scan) continue;
    shapes.push_back(node.shape);
    for (const graph::ValueType& other : node.others) shapes.push_back(other.shape);
  }
  return shapes;
}

TEST(LoopWeights, AreSummedAfterTheLoopWhereThatMovesLess) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const std::vector<Shape> shapes = {
        {c.columns, c.columns}, {c.columns}, {turns, c.rows, c.columns}};
    const graph::Graph graph = graph::captured(shapes, [&](std::vector<Tensor>& t) {
      auto [of_w, of_b] = grad<0, 1>(loss_of(c, 0, false))(t[0], t[1], t[2]);
      return std::vector<Tensor>{of_w, of_b};
    });
    const std::vector<Shape> results = results_of_loops(graph);
    const bool is_carried = std::ranges::find(results, shapes[0]) != results.end();
    EXPECT_EQ(!is_carried, c.is_after_loop) << graph::print(graph);
  }
}

// A tensor that turns write becomes an input in front of those that were captured before it.
TEST(LoopWeights, HaveGradientsWhereTurnsWrite) {
  Tensor total = zeros({3, 4}, f64);
  auto loss_by = [&](std::int64_t few_turns) {
    return [&total, few_turns](const Tensor& w, const Tensor& x) {
      auto turn = [&](const Tensors& state, const Tensors& at) -> Turn {
        const Tensor next = tanh(matmul(state[0], w) + at[0]);
        total.copy_from(total + sum(next));
        return {{next}, {}};
      };
      const auto last =
          scan(turn, {zeros({2, 6}, f64)}, {x}, {.few_turns = few_turns, .writes = true});
      return sum(last.first[0]);
    };
  };
  const Tensor w = numbers({6, 6}, 0.37), x = numbers({turns, 2, 6}, 0.61);
  auto looped = compile([&](const Tensor& a, const Tensor& b) { return grad(loss_by(0))(a, b); });
  expect_near(looped(w, x), grad(loss_by(turns))(w, x), 1e-12);
  const std::vector<double> sums = values(total);
  EXPECT_NE(sums[0], 0);
  EXPECT_EQ(sums[0], sums[11]);
}

TEST(LoopWeights, OfAFunctionOfTheLibraryTakeTwoLoops) {
  const graph::Graph graph = graph::captured({{20, 2, 6}, {24, 6}, {24, 6}}, [](auto& t) {
    auto loss = [&](const Tensor& input, const Tensor& hidden) {
      const LstmResult result = lstm(t[0], {}, {{.input = input, .hidden = hidden}});
      return sum(result.output * result.output) + sum(result.cell);
    };
    auto [value, gradients] = value_and_grad<0, 1>(loss)(t[1], t[2]);
    return std::vector<Tensor>{value, std::get<0>(gradients), std::get<1>(gradients)};
  });
  EXPECT_EQ(std::ranges::count(graph.nodes, graph::Op::scan, &graph::Node::op), 2)
      << graph::print(graph);
}

// Nothing is left for a loop backwards.
TEST(LoopWeights, OfALoopThatCarriesNothingTakeNoLoop) {
  auto loss = [](const Tensor& w, const Tensor& x) {
    auto turn = [&](const Tensors&, const Tensors& at) -> Turn { return {{}, {matmul(at[0], w)}}; };
    return sum(sin(scan(turn, {}, {x}).second[0]));
  };
  auto written_out = [](const Tensor& w, const Tensor& x) { return sum(sin(matmul(x, w))); };
  const Tensor w = numbers({4, 6}, 0.37), x = numbers({turns, 2, 4}, 0.61);
  expect_near(grad(loss)(w, x), grad(written_out)(w, x.reshape({2 * turns, 4})), 1e-12);
  const graph::Graph graph = graph::captured({{4, 6}, {turns, 2, 4}}, [&](auto& t) {
    return std::vector<Tensor>{grad(loss)(t[0], t[1])};
  });
  EXPECT_EQ(results_of_loops(graph).size(), 1u) << graph::print(graph);  // the products
}

}  // namespace
}  // namespace tilewright::loop_weights_test
