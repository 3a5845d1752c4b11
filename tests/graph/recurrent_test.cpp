// Recurrent layers against their definitions in loops over single numbers, at once and compiled.
#include "graph/functions/recurrent/recurrent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::recurrent_test {
namespace {

using testing_loops::Dice;
using testing_loops::expect_at_once_and_compiled;
using testing_loops::expect_close;
using testing_loops::Floats;
using testing_loops::Tensors;

float squashed(float x) { return 1 / (1 + std::exp(-x)); }

// [rows, columns] times a vector, and a bias.
Floats product(const Tensor& matrix, const Floats& x, const Tensor& bias) {
  const Floats m = matrix.to_vector<float>(), b = bias.to_vector<float>();
  Floats y = b;
  for (std::size_t i = 0; i < y.size(); ++i)
    for (std::size_t j = 0; j < x.size(); ++j) y[i] += m[i * x.size() + j] * x[j];
  return y;
}

struct State {
  Floats hidden, cell;
};
using Step = State (*)(const Floats& from_x, const Floats& from_hidden, const State& before);

State lstm_step(const Floats& x, const Floats& h, const State& before) {
  const std::size_t n = before.hidden.size();
  State next = before;
  for (std::size_t i = 0; i < n; ++i) {
    auto gate = [&](std::size_t number) { return x[number * n + i] + h[number * n + i]; };
    next.cell[i] = squashed(gate(1)) * before.cell[i] + squashed(gate(0)) * std::tanh(gate(2));
    next.hidden[i] = squashed(gate(3)) * std::tanh(next.cell[i]);
  }
  return next;
}
State gru_step(const Floats& x, const Floats& h, const State& before) {
  const std::size_t n = before.hidden.size();
  State next = before;
  for (std::size_t i = 0; i < n; ++i) {
    const float reset = squashed(x[i] + h[i]), update = squashed(x[n + i] + h[n + i]),
                fresh = std::tanh(x[2 * n + i] + reset * h[2 * n + i]);
    next.hidden[i] = (1 - update) * fresh + update * before.hidden[i];
  }
  return next;
}
State relu_step(const Floats& x, const Floats& h, const State& before) {
  State next = before;
  for (std::size_t i = 0; i < next.hidden.size(); ++i) next.hidden[i] = std::max(x[i] + h[i], 0.0F);
  return next;
}

RecurrentWeights weights(Dice& dice, std::int64_t gates, std::int64_t inputs, std::int64_t size) {
  return {dice.floats({gates * size, inputs}), dice.floats({gates * size, size}),
          dice.floats({gates * size}), dice.floats({gates * size})};
}

// Of two layers in both directions, sequence by sequence; {output, hidden, cell}.
std::vector<Floats> by_loops(const Tensor& x, const Tensor& hidden, const Tensor& cell,
                             const std::vector<RecurrentWeights>& all, Step step) {
  const auto steps = static_cast<std::size_t>(x.size(0)),
             batch = static_cast<std::size_t>(x.size(1)),
             size = static_cast<std::size_t>(hidden.size(2));
  const Floats h = hidden.to_vector<float>(), c = cell.to_vector<float>();
  std::vector<Floats> rows(steps * batch);  // of the layer's inputs
  const Floats given = x.to_vector<float>();
  const std::size_t width = given.size() / rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = {given.begin() + static_cast<std::ptrdiff_t>(i * width),
               given.begin() + static_cast<std::ptrdiff_t>((i + 1) * width)};
  Floats last_hidden, last_cell;
  for (std::size_t layer = 0; layer < all.size(); layer += 2) {
    std::vector<Floats> next(rows.size());
    for (std::size_t direction = 0; direction < 2; ++direction) {
      const RecurrentWeights& w = all[layer + direction];
      for (std::size_t n = 0; n < batch; ++n) {
        const std::size_t from = ((layer + direction) * batch + n) * size;
        State state;
        for (std::size_t i = 0; i < size; ++i) {
          state.hidden.push_back(h[from + i]);
          state.cell.push_back(c[from + i]);
        }
        std::vector<Floats> outputs(steps);
        for (std::size_t t = 0; t < steps; ++t) {
          const std::size_t at = direction == 0 ? t : steps - 1 - t;
          state = step(product(w.input, rows[at * batch + n], w.input_bias),
                       product(w.hidden, state.hidden, w.hidden_bias), state);
          outputs[at] = state.hidden;
        }
        for (std::size_t t = 0; t < steps; ++t)
          next[t * batch + n].insert(next[t * batch + n].end(), outputs[t].begin(),
                                     outputs[t].end());
        last_hidden.insert(last_hidden.end(), state.hidden.begin(), state.hidden.end());
        last_cell.insert(last_cell.end(), state.cell.begin(), state.cell.end());
      }
    }
    rows = next;
  }
  Floats output;
  for (const Floats& row : rows) output.insert(output.end(), row.begin(), row.end());
  return {output, last_hidden, last_cell};
}

void expect_layers(std::int64_t gates, Step step,
                   const std::function<Tensors(const Tensors&, const std::vector<RecurrentWeights>&,
                                               const RecurrentOptions&)>& layers) {
  constexpr std::int64_t batch = 2, inputs = 3, size = 4;
  for (std::int64_t steps : {3, 20}) {  // few are no loop of the graph
    Dice dice(7);
    std::vector<RecurrentWeights> all;
    for (std::int64_t width : {inputs, inputs, 2 * size, 2 * size})
      all.push_back(weights(dice, gates, width, size));
    const Tensor x = dice.floats({steps, batch, inputs}), hidden = dice.floats({4, batch, size}),
                 cell = dice.floats({4, batch, size});
    const std::vector<Floats> wanted = by_loops(x, hidden, cell, all, step);
    expect_at_once_and_compiled(
        [&](const Tensors& t) { return layers(t, all, {.bidirectional = true}); },
        {x, hidden, cell},
        [&](const Tensors& got) {
          expect_close(got[0], {steps, batch, 2 * size}, wanted[0], 1e-5F);
          for (std::size_t i = 1; i < got.size(); ++i)
            expect_close(got[i], {4, batch, size}, wanted[i], 1e-5F);
        });
  }
}

TEST(Recurrent, LayersAreTheirStepsOneAfterTheOther) {
  expect_layers(4, lstm_step,
                [](const Tensors& t, const auto& all, const auto& options) -> Tensors {
                  const LstmResult r = lstm(t[0], {t[1], t[2]}, all, options);
                  return {r.output, r.hidden, r.cell};
                });
  expect_layers(3, gru_step, [](const Tensors& t, const auto& all, const auto& options) -> Tensors {
    auto [y, h] = gru(t[0], t[1], all, options);
    return {y, h};
  });
  expect_layers(1, relu_step,
                [](const Tensors& t, const auto& all, const auto& options) -> Tensors {
                  auto [y, h] = rnn_relu(t[0], t[1], all, options);
                  return {y, h};
                });
}

TEST(Recurrent, BatchesMayComeFirstAndStatesBeLeftOut) {
  Dice dice(3);
  const std::vector<RecurrentWeights> one = {weights(dice, 1, 3, 2)};
  const Tensor x = dice.floats({5, 2, 3});
  auto [y, h] = rnn_tanh(x, zeros({1, 2, 2}), one);
  auto [first, last] = rnn_tanh(x.transpose(0, 1), {}, one, {.batch_first = true});
  EXPECT_EQ(first.transpose(0, 1).contiguous().to_vector<float>(), y.to_vector<float>());
  EXPECT_EQ(last.to_vector<float>(), h.to_vector<float>());
}

// One unit whose weights are 1: each gate sees x + h.
RecurrentWeights ones_of(std::int64_t gates) {
  return {ones({gates, 1}), ones({gates, 1}), {}, {}};
}
float value_of(const Tensor& x) { return x.item<float>(); }

TEST(Recurrent, CellsHaveProjectionsPeepholesAndCoupledGates) {
  const Tensor x = full({1, 1}, 0.5), h = full({1, 1}, 0.25), c = full({1, 1}, 2.0);
  const float gate = squashed(0.75F);
  RecurrentWeights weights = ones_of(4);
  auto cell_after = [&](const CellOptions& options) {
    return value_of(lstm_cell(x, {h, c}, weights, options).cell);
  };
  EXPECT_NEAR(cell_after({}), gate * 2 + gate * std::tanh(0.75F), 1e-6F);
  EXPECT_NEAR(cell_after({.input_forget = true}), (1 - gate) * 2 + gate * std::tanh(0.75F), 1e-6F);
  EXPECT_NEAR(cell_after({.clip = 0.5}), squashed(0.5F) * 2 + squashed(0.5F) * std::tanh(0.5F),
              1e-6F);
  weights.peephole = Tensor::from(Floats{1, 0, -1}, {3});  // of the input and the forget gate
  EXPECT_NEAR(cell_after({}), squashed(-1.25F) * 2 + squashed(2.75F) * std::tanh(0.75F), 1e-6F);
  weights.peephole = {};
  weights.projection = full({1, 1}, 3.0);
  const LstmState next = lstm_cell(x, {h, c}, weights);
  EXPECT_NEAR(value_of(next.hidden), 3 * gate * std::tanh(value_of(next.cell)), 1e-5F);
}

TEST(Recurrent, CellsHaveOtherOrdersAndFunctions) {
  const Tensor x = full({1, 1}, 0.5), h = full({1, 1}, 0.25), c = full({1, 1}, 2.0);
  RecurrentWeights four = ones_of(4);
  four.input_bias = Tensor::from(Floats{1, 2, 3, 4}, {4});
  RecurrentWeights sorted = four;
  sorted.input_bias = Tensor::from(Floats{1, 3, 4, 2}, {4});  // of input, forget, cell and output
  EXPECT_EQ(value_of(lstm_cell(x, {h, c}, four, {.gates = GateOrder::onnx}).hidden),
            value_of(lstm_cell(x, {h, c}, sorted).hidden));
  RecurrentWeights three = ones_of(3);
  three.input_bias = Tensor::from(Floats{1, 2, 3}, {3});
  three.hidden_bias = Tensor::from(Floats{0, 0, 5}, {3});
  const float update = squashed(1.75F), reset = squashed(2.75F);
  auto gated = [&](float fresh) { return (1 - update) * fresh + update * 0.25F; };
  EXPECT_NEAR(value_of(gru_cell(x, h, three, {.gates = GateOrder::onnx})),
              gated(std::tanh(3.5F + reset * 5.25F)), 1e-6F);
  EXPECT_NEAR(
      value_of(gru_cell(x, h, three, {.gates = GateOrder::onnx, .linear_before_reset = false})),
      gated(std::tanh(3.5F + reset * 0.25F + 5)), 1e-6F);
  const GateFunction same = [](const Tensor& t) { return t; };
  EXPECT_EQ(value_of(rnn_relu_cell(-x, h, ones_of(1))), 0);
  EXPECT_EQ(
      value_of(
          rnn_tanh(x.unsqueeze(0), h.unsqueeze(0), {ones_of(1)}, {{.activations = {same}}}).second),
      0.75F);
}

TEST(Recurrent, SequencesEndAtTheirLengths) {
  const Tensor lengths = Tensor::from(std::vector<std::int32_t>{0, 2}, {2});
  expect_at_once_and_compiled(
      [&](const Tensors& t) -> Tensors {
        auto [y, h] = rnn_relu(t[0], {}, {ones_of(1)}, {.lengths = t[1]});
        return {y, h};
      },
      {ones({3, 2, 1}), lengths},
      [](const Tensors& got) {
        EXPECT_EQ(got[0].to_vector<float>(), (Floats{0, 1, 0, 2, 0, 0}));
        EXPECT_EQ(got[1].to_vector<float>(), (Floats{0, 2}));
      });
  expect_contains(error_of([&] {
                    rnn_relu(ones({1, 2, 1}), {}, {ones_of(1)}, {.lengths = lengths});
                  }),
                  "[rnn] length 2 is outside 1 steps");
}

// More steps than are recorded one by one: both directions go together.
TEST(Recurrent, BothDirectionsAreTwoLayersOfOne) {
  using Layer = std::function<Tensors(const Tensor& x, const Tensors& state,
                                      const std::vector<RecurrentWeights>&, RecurrentOptions)>;
  const auto of_lstm = [](const Tensor& x, const Tensors& state, const auto& all,
                          const RecurrentOptions& options) -> Tensors {
    const LstmResult r = lstm(x, {state[0], state[1]}, all, options);
    return {r.output, r.hidden, r.cell};
  };
  const auto of_gru = [](const Tensor& x, const Tensors& state, const auto& all,
                         const RecurrentOptions& options) -> Tensors {
    auto [y, h] = gru(x, state[0], all, options);
    return {y, h};
  };
  constexpr std::int64_t steps = 20, batch = 2, inputs = 3, size = 4;
  Dice dice(11);
  const auto two_of = [&](std::int64_t gates) {
    return std::vector{weights(dice, gates, inputs, size), weights(dice, gates, inputs, size)};
  };
  std::vector<RecurrentWeights> looking = two_of(4), rounded = two_of(4);
  for (RecurrentWeights& w : looking) w.peephole = dice.floats({3 * size});
  for (RecurrentWeights& w : rounded) {
    w.input = dice.integers({4 * size, inputs}, -128, 128).to(DType::i8);
    w.hidden = dice.integers({4 * size, size}, 0, 256).to(DType::u8);
    w.input_steps = {full({}, 0.01), {}};
    w.hidden_steps = {abs(dice.floats({4 * size})) / 64, full({4 * size}, 120, DType::u8)};
  }
  std::vector<RecurrentWeights> projected = two_of(4);
  for (RecurrentWeights& w : projected) {
    w.hidden = dice.floats({4 * size, 2});
    w.projection = dice.floats({2, size});
  }
  struct Case {
    Layer layer;
    std::vector<RecurrentWeights> weights;
    std::int64_t state = size;
    RecurrentOptions options = {};
  };
  const Tensor lengths = Tensor::from(std::vector<std::int64_t>{17, 0}, {batch});
  RecurrentOptions ends, before;
  ends.lengths = lengths;
  before.linear_before_reset = false;
  const Case cases[] = {{of_lstm, two_of(4)},
                        {of_gru, two_of(3)},
                        {of_gru, two_of(3), size, before},
                        {of_lstm, looking},
                        {of_lstm, rounded},
                        {of_lstm, projected, 2},
                        {of_lstm, two_of(4), size, ends}};
  const Tensor x = dice.floats({steps, batch, inputs});
  for (const Case& c : cases) {
    const Tensors initial = {dice.floats({2, batch, c.state}), dice.floats({2, batch, size})};
    const auto one = [&](std::int64_t direction) {
      RecurrentOptions options = c.options;
      options.reverse = direction == 1;
      return c.layer(x,
                     {initial[0].slice(0, direction, direction + 1),
                      initial[1].slice(0, direction, direction + 1)},
                     {c.weights[static_cast<std::size_t>(direction)]}, options);
    };
    const Tensors forward = one(0), backward = one(1);
    RecurrentOptions both = c.options;
    both.bidirectional = true;
    expect_at_once_and_compiled(
        [&](const Tensors& t) { return c.layer(t[0], initial, c.weights, both); }, {x},
        [&](const Tensors& got) {
          ASSERT_EQ(got.size(), forward.size());
          for (std::size_t i = 0; i < got.size(); ++i) {
            const Tensor wanted = cat({forward[i], backward[i]}, i == 0 ? 2 : 0);
            expect_close(got[i], wanted.shape(), wanted.to_vector<float>(), 1e-5F);
          }
        });
  }
}

TEST(Recurrent, WeightsMustFit) {
  const Tensor x = zeros({3, 2, 1}), h = zeros({1, 2, 1});
  auto error = [&](const Tensor& operand, const Tensor& initial,
                   const std::vector<RecurrentWeights>& all, const RecurrentOptions& options = {}) {
    return error_of([&] { gru(operand, initial, all, options); });
  };
  expect_contains(error(zeros({2, 1}), h, {ones_of(3)}), "[gru] x is f32 [2x1]");
  expect_contains(error(x, h, {ones_of(3)}, {.bidirectional = true}), "[gru] 1 weights");
  expect_contains(error(zeros({0, 2, 1}), h, {ones_of(3)}), "[gru] x has no steps");
  expect_contains(error(zeros({3, 2, 4}), h, {ones_of(3)}), "[gru] a layer's inputs are [3x2x4]");
  expect_contains(error(x, zeros({1, 3, 1}), {ones_of(3)}), "[gru] an initial state is [1x3x1]");
  expect_contains(error(x, h, {ones_of(4)}), "[recurrent layer] weights are [4x1] and [4x1]");
  expect_contains(error(x, h, {{ones({3, 1}), ones({3, 2}), {}, {}}}),
                  "[recurrent layer] the weight of the state is [3x2]");
  expect_contains(error(x, h, {{ones({3, 1}), ones({3, 1}), ones({2}), {}}}),
                  "[recurrent layer] a bias is [2]");
  expect_contains(error(x, h, {{ones({3, 1}), ones({3, 1}), {}, {}, {}, ones({2})}}),
                  "[recurrent layer] a peephole is [2]");
  expect_contains(error(x, h, {{ones({3, 1}).to(i8), ones({3, 1}), {}, {}}}),
                  "[recurrent layer] a weight is i8 without a scale");
  expect_contains(error(x, h, {ones_of(3)}, {{.activations = {nullptr}}}),
                  "[recurrent layer] 1 activations");
  expect_contains(error(x, h, {ones_of(3)}, {.lengths = ones({2})}), "[gru] the lengths are f32");
  expect_contains(error_of([&] { gru_cell(x, {}, ones_of(3)); }),
                  "[recurrent cell] a state is undefined");
}

}  // namespace
}  // namespace tilewright::recurrent_test
