// Recurrent layers: what comes of the inputs for all steps at once, then step by step; where there
// are many steps, as a loop of the graph.
#include "graph/functions/control/control_flow.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace recurrent_rows {
namespace {

constexpr std::int64_t few_steps = 16;  // that are no loop of the graph

// Of one direction of one layer: [gates * hidden, ..]; biases may be undefined.
struct Weights {
  Tensor input, hidden, input_bias, hidden_bias;
  Tensor projection;  // of the hidden state, or undefined
};
// The next state for what comes of a step's input and of the hidden state before.
using Step = Tensors (*)(const Tensor& from_x, const Tensor& from_hidden, const Tensors& before);

std::vector<Tensor> gates_of(const Tensor& x, std::int64_t count) {
  const std::int64_t size = x.size(-1) / count;
  std::vector<Tensor> gates;
  for (std::int64_t i = 0; i < count; ++i) gates.push_back(x.slice(-1, i * size, (i + 1) * size));
  return gates;
}
// Gates: input, forget, cell, output.
Tensors long_short(const Tensor& from_x, const Tensor& from_hidden, const Tensors& before) {
  auto gates = gates_of(from_x + from_hidden, 4);
  Tensor cell = sigmoid(gates[1]) * before[1] + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(cell), cell};
}
// Gates: reset, update, new.
Tensors gated(const Tensor& from_x, const Tensor& from_hidden, const Tensors& before) {
  auto x = gates_of(from_x, 3), h = gates_of(from_hidden, 3);
  Tensor update = sigmoid(x[1] + h[1]), fresh = tanh(x[2] + sigmoid(x[0] + h[0]) * h[2]);
  return {fresh + update * (before[0] - fresh)};
}
Tensors by_tanh(const Tensor& from_x, const Tensor& from_hidden, const Tensors&) {
  return {tanh(from_x + from_hidden)};
}
Tensors by_relu(const Tensor& from_x, const Tensor& from_hidden, const Tensors&) {
  return {relu(from_x + from_hidden)};
}

// The hidden states of all steps, and the last state.
std::pair<Tensor, Tensors> through_time(const Tensor& x, const Tensors& state, const Weights& w,
                                        Step step, bool is_reverse) {
  auto turn = [&](const Tensors& before, const Tensors& now) -> Turn {
    Tensors next = step(now[0], linear(before[0], w.hidden, w.hidden_bias), before);
    if (w.projection.defined()) next[0] = linear(next[0], w.projection);
    return {next, {next[0]}};
  };
  auto [last, all] = scan(turn, state, {linear(x, w.input, w.input_bias)},
                          {.reverse = is_reverse, .few_turns = few_steps});
  return {all[0], last};
}

// The weights of all directions of all layers, in their order.
std::vector<Weights> weights_of(const Call& call, std::int64_t count) {
  const Tensors all = call.tensors("params");
  const bool has_biases = call.flag("has_biases", true);
  const std::size_t plain = has_biases ? 4 : 2, directions = static_cast<std::size_t>(count);
  const bool has_projections = all.size() == (plain + 1) * directions;
  const std::size_t each = plain + (has_projections ? 1 : 0);
  if (all.size() != each * directions)
    call.refuse("params", concat("has ", all.size(), " tensors; ", count, " directions of layers",
                                 " have ", plain, " each"));
  std::vector<Weights> weights;
  for (std::size_t i = 0; i < all.size(); i += each)
    weights.push_back({all[i], all[i + 1], has_biases ? all[i + 2] : Tensor(),
                       has_biases ? all[i + 3] : Tensor(),
                       has_projections ? all[i + plain] : Tensor()});
  return weights;
}

// The output, and each part of the last states [layers * directions, N, hidden].
Tensors layers(const Call& call, const Tensors& initial, Step step) {
  Tensor x = call.tensor("input");
  if (x.rank() != 3) call.refuse("input", "has not three axes");
  const std::int64_t count = call.integer("num_layers");
  const bool is_both = call.flag("bidirectional", false);
  const bool batch_is_first = call.flag("batch_first", false);
  if (call.flag("train", false) && call.number("dropout", 0) != 0 && count > 1)
    call.refuse("train", "is true, with dropout between layers");
  call.number("dropout", 0);
  const std::int64_t directions = is_both ? 2 : 1;
  const std::vector<Weights> weights = weights_of(call, count * directions);
  if (batch_is_first) x = x.transpose(0, 1);
  std::vector<Tensors> last(initial.size());
  for (std::int64_t layer = 0; layer < count; ++layer) {
    Tensors outputs;
    for (std::int64_t i = 0; i < directions; ++i) {
      const std::int64_t at = layer * directions + i;
      Tensors state;
      for (const Tensor& part : initial) state.push_back(part.select(0, at));
      auto [all, end] = through_time(x, state, weights[static_cast<std::size_t>(at)], step, i == 1);
      outputs.push_back(all);
      for (std::size_t k = 0; k < end.size(); ++k) last[k].push_back(end[k].unsqueeze(0));
    }
    x = is_both ? cat(outputs, 2) : outputs[0];
  }
  Tensors results = {batch_is_first ? x.transpose(0, 1).contiguous() : x};
  for (const Tensors& parts : last) results.push_back(cat(parts, 0));
  return results;
}

template <Step step>
Tensors of_one_state(const Call& call) {
  return layers(call, {call.tensor("hx")}, step);
}

// One step of one layer.
Tensors cell(const Call& call, const Tensors& state, Step step) {
  Tensor x = linear(call.tensor("input"), call.tensor("w_ih"), call.optional_tensor("b_ih"));
  return step(x, linear(state[0], call.tensor("w_hh"), call.optional_tensor("b_hh")), state);
}
template <Step step>
Tensors cell_of_one_state(const Call& call) {
  return cell(call, {call.tensor("hx")}, step);
}

constexpr Operator rows[] = {
    {"aten.lstm.input", [](const Call& c) { return layers(c, c.tensors("hx"), long_short); }},
    {"aten.gru.input", by<of_one_state<gated>>},
    {"aten.rnn_tanh.input", by<of_one_state<by_tanh>>},
    {"aten.rnn_relu.input", by<of_one_state<by_relu>>},
    {"aten.lstm_cell.default", [](const Call& c) { return cell(c, c.tensors("hx"), long_short); }},
    {"aten.gru_cell.default", by<cell_of_one_state<gated>>},
    {"aten.rnn_tanh_cell.default", by<cell_of_one_state<by_tanh>>},
    {"aten.rnn_relu_cell.default", by<cell_of_one_state<by_relu>>},
};

}  // namespace
}  // namespace recurrent_rows

std::span<const Operator> recurrent_operators() { return recurrent_rows::rows; }

}  // namespace tilewright::exported
