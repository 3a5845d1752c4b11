// Recurrent layers: what comes of the inputs for all steps at once, then step by step; where there
// are many steps, as a loop of the graph.
#include "graph/functions/control/control_flow.h"
#include "graph/functions/pointwise/activations.h"
#include "graph/tensor/index_ranges.h"
#include "models/files/reader.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace recurrent_rows {
namespace {

using Activation = Tensor (*)(const TensorOperand& x);

constexpr std::size_t lengths_input = 4;

// One direction's tensors: weights [gates * hidden, ..], bias [2 * gates * hidden], states [N,
// hidden].
struct Direction {
  Tensor weight, recurrence, bias, recurrent_bias, hidden, cell, peephole;
  std::vector<Activation> activations;
  bool is_reverse;
};
struct Layer {
  Tensor x;        // [T, N, inputs]
  Tensor lengths;  // [N], or undefined
  std::int64_t size;
  std::optional<double> clip;
  bool batch_is_first;
  std::vector<Direction> directions;
  bool rounds = false;  // what weights are multiplied with, to 8 bits by its range
};

// The numbers that the weights, integers along axis 1, stand for; the layer's axes are the last.
Tensor weights_of_integers(const Call& call, std::size_t input, std::size_t scale_input) {
  const Tensor weight = call.tensor(input), scale = call.tensor(scale_input),
               zero = call.tensor(scale_input + 1);
  require(weight.rank() == 3 && bit_width(weight.dtype()) == 8 && is_integer(weight.dtype()),
          "[onnx] input ", input, " is ", weight.dtype(), " [", weight.shape(),
          "]; integers of 8 bits [directions, inputs, 4 * hidden_size] are wanted");
  const Shape one = {weight.size(0)}, each = {weight.size(0), weight.size(2)};
  require((scale.shape() == one || scale.shape() == each) && zero.shape() == scale.shape(),
          "[onnx] a scale [", scale.shape(), "] and a zero point [", zero.shape(), "] of weights [",
          weight.shape(), "]; one for each direction is wanted, or [", each, "]");
  const Shape along = {weight.size(0), 1, scale.rank() == 1 ? 1 : weight.size(2)};
  return ((weight.to(f32) - zero.to(f32).reshape(along)) * scale.reshape(along)).transpose(1, 2);
}

Activation activation_of(const std::string& name) {
  if (name == "Tanh" || name == "tanh") return tanh;
  if (name == "Sigmoid" || name == "sigmoid") return sigmoid;
  if (name == "Relu" || name == "relu") return relu;
  raise_error(concat("[onnx] the activation \"", json::excerpt(name),
                     "\" is none of Tanh, Sigmoid and Relu, which are supported"));
}

// Raises `Error` for a length that the host knows; of others a compiled function looks as its
// options say.
void require_within(const Call& call, const Layer& layer) {
  const Tensor& lengths = layer.lengths;
  const std::int64_t steps = layer.x.size(0), batch = layer.x.size(1);
  require((lengths.dtype() == i32 || lengths.dtype() == i64) && lengths.shape() == Shape{batch},
          "[onnx] sequence_lens is ", lengths.dtype(), " [", lengths.shape(), "]; integers [",
          batch, "] are wanted, a length for each row of the batch");
  const graph::IndexRange range{
      concat(call.node().op, ", sequence_lens of node \"", json::excerpt(call.node().name), '"'),
      graph::IndexRange::Noun::length, 0, steps + 1, std::source_location::current()};
  const Known* known = call.known(lengths_input);
  if (known == nullptr) return graph::require_inside(lengths, range);
  for (const Number& length : known->elements)
    if (!graph::is_inside(range, length.as_integer()))
      graph::raise_outside(range, length.as_integer());
}

// Without these, parts of what is too large would be taken.
void require_shape(const Tensor& given, std::string_view name, const Shape& wanted) {
  if (!given.defined()) return;
  require(given.shape() == wanted, "[onnx] ", name, " is [", given.shape(), "]; [", wanted,
          "] is wanted");
}

Layer layer_of(const Call& call, int gates, const std::vector<std::string>& usual, bool has_cell,
               bool has_integers = false) {
  Layer layer{call.tensor(0),
              call.optional_tensor(lengths_input),
              call.integer("hidden_size"),
              {},
              false,
              {}};
  layer.rounds = has_integers;
  layer.batch_is_first = !has_integers && call.flag("layout", false);
  if (layer.batch_is_first) layer.x = layer.x.transpose(0, 1);
  if (call.has("clip")) layer.clip = call.number("clip");
  std::string direction = call.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    call.refuse("direction", "is none of forward, reverse and bidirectional");
  std::int64_t count = direction == "bidirectional" ? 2 : 1, size = layer.size;
  std::vector<std::string> names = call.texts("activations");
  Tensor weight = has_integers ? weights_of_integers(call, 1, 8) : call.tensor(1),
         recurrence = has_integers ? weights_of_integers(call, 2, 10) : call.tensor(2),
         bias = call.optional_tensor(3), hidden = call.optional_tensor(5);
  Tensor cell = has_cell ? call.optional_tensor(6) : Tensor(),
         peephole = has_cell ? call.optional_tensor(7) : Tensor();
  require(layer.x.rank() == 3 && weight.rank() == 3 && weight.size(0) == count &&
              weight.size(1) == gates * size && weight.size(2) == layer.x.size(2) &&
              recurrence.shape() == Shape{count, gates * size, size},
          "[onnx] X [", call.shape(0), "], W [", weight.shape(), "] and R [", recurrence.shape(),
          "] with ", size, " hidden units; X [", layer.batch_is_first ? "NxT" : "TxN", "xI], W [",
          count, "x", gates * size, "xI] and R [", Shape{count, gates * size, size},
          "] are wanted");
  const std::int64_t batch = layer.x.size(1);
  const Shape states = layer.batch_is_first ? Shape{batch, count, size} : Shape{count, batch, size};
  require_shape(bias, "B", {count, 2 * gates * size});
  require_shape(hidden, "initial_h", states);
  require_shape(cell, "initial_c", states);
  require_shape(peephole, "P", {count, 3 * size});
  if (layer.lengths.defined()) require_within(call, layer);
  for (std::int64_t i = 0; i < count; ++i) {
    auto initial = [&](const Tensor& states) {
      if (!states.defined()) return zeros({layer.x.size(1), size}, layer.x.dtype());
      return layer.batch_is_first ? states.select(1, i) : states.select(0, i);
    };
    Direction each{weight.select(0, i),
                   recurrence.select(0, i),
                   {},
                   {},
                   initial(hidden),
                   has_cell ? initial(cell) : Tensor(),
                   peephole.defined() ? peephole.select(0, i) : Tensor(),
                   {},
                   direction == "reverse" || i == 1};
    Tensor both = bias.defined() ? bias.select(0, i) : zeros({2 * gates * size}, layer.x.dtype());
    each.bias = both.slice(0, 0, gates * size);
    each.recurrent_bias = both.slice(0, gates * size, 2 * gates * size);
    for (std::size_t a = 0; a < usual.size(); ++a) {
      std::size_t at = static_cast<std::size_t>(i) * usual.size() + a;
      each.activations.push_back(activation_of(at < names.size() ? names[at] : usual[a]));
    }
    layer.directions.push_back(std::move(each));
  }
  return layer;
}

Tensor clipped(const Tensor& x, const Layer& layer) {
  return layer.clip ? clamp(x, -*layer.clip, *layer.clip) : x;
}
Tensor gate(const Tensor& gates, int number, std::int64_t size) {
  return gates.slice(1, number * size, (number + 1) * size);
}

Tensor times_weights(const Layer& layer, const Tensor& x, const Tensor& weight,
                     const Tensor& bias) {
  if (!layer.rounds) return linear(x, weight, bias);
  const ByRange found = rounded_by_range(x);
  return linear((found.steps - found.zero) * found.scale, weight, bias);
}

constexpr std::int64_t few_steps = 16;  // that are no loop of the graph

struct State {
  Tensor hidden, cell;
};
Tensors as_list(const State& state) {
  return state.cell.defined() ? Tensors{state.hidden, state.cell} : Tensors{state.hidden};
}
State as_state(const Tensors& list) { return {list[0], list.size() > 1 ? list[1] : Tensor()}; }

// Of one direction: the hidden states of all steps, and the last state. `step` gives a state for
// what the inputs of a step have come to, and the state before.
template <typename Step>
std::pair<Tensor, State> through_time(const Layer& layer, const Direction& direction,
                                      const Step& step) {
  auto turn = [&](const Tensors& before, const Tensors& now) -> Turn {
    const State state = as_state(before);
    State next = step(direction, now[0], state);
    Tensor output = next.hidden;
    if (layer.lengths.defined()) {
      Tensor is_inside = (layer.lengths.to(i64) > now[1]).unsqueeze(1);
      output = where(is_inside, next.hidden, zeros({}, next.hidden.dtype()));
      next.hidden = where(is_inside, next.hidden, state.hidden);
      if (next.cell.defined()) next.cell = where(is_inside, next.cell, state.cell);
    }
    return {as_list(next), {output}};
  };
  Tensors sliced = {times_weights(layer, layer.x, direction.weight, direction.bias)};
  if (layer.lengths.defined()) sliced.push_back(arange(0, layer.x.size(0)));
  auto [last, all] = scan(turn, as_list({direction.hidden, direction.cell}), sliced,
                          {.reverse = direction.is_reverse, .few_turns = few_steps});
  return {all[0], as_state(last)};
}

// The results Y, Y_h and Y_c.
template <typename Step>
Results over_time(const Layer& layer, const Step& step) {
  require(layer.x.size(0) > 0, "[onnx] X has no steps; there must be at least one");
  std::vector<Tensor> all, last, last_cell;
  for (const Direction& direction : layer.directions) {
    auto [outputs, state] = through_time(layer, direction, step);
    all.push_back(outputs.unsqueeze(1));
    last.push_back(state.hidden.unsqueeze(0));
    if (state.cell.defined()) last_cell.push_back(state.cell.unsqueeze(0));
  }
  Tensor y = cat(all, 1), hidden = cat(last, 0);  // [T, directions, N, hidden]
  Tensor cell = last_cell.empty() ? Tensor() : cat(last_cell, 0);
  if (layer.batch_is_first) {
    y = y.permute({2, 0, 1, 3});
    hidden = hidden.transpose(0, 1);
    if (cell.defined()) cell = cell.transpose(0, 1);
  }
  Results results = {Value(y), Value(hidden)};
  if (cell.defined()) results.emplace_back(cell);
  return results;
}

Tensor from_state(const Layer& layer, const Direction& d, const Tensor& hidden) {
  return times_weights(layer, hidden, d.recurrence, d.recurrent_bias);
}

Results simple(const Call& call) {
  Layer layer = layer_of(call, 1, {"Tanh"}, false);
  return over_time(layer, [&](const Direction& d, const Tensor& from_x, const State& before) {
    return State{d.activations[0](clipped(from_x + from_state(layer, d, before.hidden), layer)),
                 {}};
  });
}

// The gates are input, output, forget and cell.
template <bool has_integers>
Results long_short(const Call& call) {
  Layer layer = layer_of(call, 4, {"Sigmoid", "Tanh", "Tanh"}, true, has_integers);
  if (call.integer("input_forget", 0) != 0) call.refuse("input_forget", "is not supported");
  std::int64_t size = layer.size;
  return over_time(layer, [&](const Direction& d, const Tensor& from_x, const State& before) {
    Tensor gates = from_x + from_state(layer, d, before.hidden);
    auto looking = [&](int number, int place, const Tensor& cell) {
      Tensor each = gate(gates, number, size);
      if (d.peephole.defined())
        each = each + d.peephole.slice(0, place * size, (place + 1) * size) * cell;
      return clipped(each, layer);
    };
    Tensor in = d.activations[0](looking(0, 0, before.cell)),
           forget = d.activations[0](looking(2, 2, before.cell)),
           fresh = d.activations[1](clipped(gate(gates, 3, size), layer));
    Tensor cell = forget * before.cell + in * fresh;
    Tensor out = d.activations[0](looking(1, 1, cell));
    return State{out * d.activations[2](cell), cell};
  });
}

// The gates are update, reset and hidden.
Results gated(const Call& call) {
  Layer layer = layer_of(call, 3, {"Sigmoid", "Tanh"}, false);
  bool is_after = call.flag("linear_before_reset", false);
  std::int64_t size = layer.size;
  return over_time(layer, [&](const Direction& d, const Tensor& from_x, const State& before) {
    Tensor from_hidden = from_state(layer, d, before.hidden), both = from_x + from_hidden;
    Tensor update = d.activations[0](clipped(gate(both, 0, size), layer)),
           reset = d.activations[0](clipped(gate(both, 1, size), layer));
    Tensor remembered =
        is_after ? reset * gate(from_hidden, 2, size)
                 : linear(reset * before.hidden, d.recurrence.slice(0, 2 * size, 3 * size),
                          d.recurrent_bias.slice(0, 2 * size, 3 * size));
    Tensor fresh = d.activations[1](clipped(gate(from_x, 2, size) + remembered, layer));
    return State{(1.0 - update) * fresh + update * before.hidden, {}};
  });
}

constexpr Operator rows[] = {
    {"GRU", 7, by<gated>},
    {"LSTM", 7, by<long_short<false>>},
    {"RNN", 7, by<simple>},
    {"com.microsoft.DynamicQuantizeLSTM", 1, by<long_short<true>>},
};

}  // namespace
}  // namespace recurrent_rows

std::span<const Operator> recurrent_operators() { return recurrent_rows::rows; }

}  // namespace tilewright::onnx
