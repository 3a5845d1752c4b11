// Recurrent layers, step by step.
#include "graph/functions/pointwise/activations.h"
#include "models/onnx/operators/table.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

using Activation = Tensor (*)(const TensorOperand& x);

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
};

Activation activation_of(const std::string& name) {
  if (name == "Tanh" || name == "tanh") return tanh;
  if (name == "Sigmoid" || name == "sigmoid") return sigmoid;
  if (name == "Relu" || name == "relu") return relu;
  raise_error(concat("[onnx] an activation that is none of Tanh, Sigmoid and Relu"));
}

Layer layer_of(const Call& call, int gates, const std::vector<std::string>& usual, bool has_cell) {
  Layer layer{call.tensor(0), call.optional_tensor(4), call.integer("hidden_size"), {}, false, {}};
  layer.batch_is_first = call.flag("layout", false);
  if (layer.batch_is_first) layer.x = layer.x.transpose(0, 1);
  if (call.has("clip")) layer.clip = call.number("clip");
  std::string direction = call.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    call.refuse("direction", "is none of forward, reverse and bidirectional");
  std::int64_t count = direction == "bidirectional" ? 2 : 1, size = layer.size;
  std::vector<std::string> names = call.texts("activations");
  Tensor weight = call.tensor(1), recurrence = call.tensor(2), bias = call.optional_tensor(3),
         hidden = call.optional_tensor(5);
  Tensor cell = has_cell ? call.optional_tensor(6) : Tensor(),
         peephole = has_cell ? call.optional_tensor(7) : Tensor();
  require(layer.x.rank() == 3 && weight.rank() == 3 && weight.size(0) == count &&
              weight.size(1) == gates * size && recurrence.rank() == 3 &&
              recurrence.size(2) == size,
          "[onnx] x [", layer.x.shape(), "], W [", weight.shape(), "] and R [", recurrence.shape(),
          "] with ", size, " hidden units");
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
                   initial(cell),
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

struct State {
  Tensor hidden, cell;
};
// The results Y, Y_h and Y_c of steps that each give a state for x [N, inputs] and the one before.
template <typename Step>
Results over_time(const Layer& layer, bool has_cell, const Step& step) {
  std::int64_t steps = layer.x.size(0);
  require(steps > 0 && steps <= 4096, "[onnx] ", steps, " steps are not supported");
  std::vector<Tensor> all, last, last_cell;
  for (const Direction& direction : layer.directions) {
    State state{direction.hidden, direction.cell};
    std::vector<Tensor> outputs(static_cast<std::size_t>(steps));
    for (std::int64_t i = 0; i < steps; ++i) {
      std::int64_t t = direction.is_reverse ? steps - 1 - i : i;
      State next = step(direction, layer.x.select(0, t), state);
      Tensor output = next.hidden;
      if (layer.lengths.defined()) {
        Tensor is_inside = (layer.lengths.to(i64) > t).unsqueeze(1);
        output = where(is_inside, next.hidden, zeros({}, next.hidden.dtype()));
        next.hidden = where(is_inside, next.hidden, state.hidden);
        if (has_cell) next.cell = where(is_inside, next.cell, state.cell);
      }
      state = next;
      outputs[static_cast<std::size_t>(t)] = output.unsqueeze(0);
    }
    all.push_back(cat(outputs, 0).unsqueeze(1));
    last.push_back(state.hidden.unsqueeze(0));
    if (has_cell) last_cell.push_back(state.cell.unsqueeze(0));
  }
  Tensor y = cat(all, 1), hidden = cat(last, 0);  // [T, directions, N, hidden]
  Tensor cell = has_cell ? cat(last_cell, 0) : Tensor();
  if (layer.batch_is_first) {
    y = y.permute({2, 0, 1, 3});
    hidden = hidden.transpose(0, 1);
    if (has_cell) cell = cell.transpose(0, 1);
  }
  Results results = {Value(y), Value(hidden)};
  if (has_cell) results.emplace_back(cell);
  return results;
}

Tensor gates_of(const Direction& d, const Tensor& x, const Tensor& hidden) {
  return matmul(x, d.weight.transpose(0, 1)) + matmul(hidden, d.recurrence.transpose(0, 1)) +
         d.bias + d.recurrent_bias;
}

Results simple(const Call& call) {
  Layer layer = layer_of(call, 1, {"Tanh"}, false);
  return over_time(layer, false, [&](const Direction& d, const Tensor& x, const State& before) {
    return State{d.activations[0](clipped(gates_of(d, x, before.hidden), layer)), {}};
  });
}

// The gates are input, output, forget and cell.
Results long_short(const Call& call) {
  Layer layer = layer_of(call, 4, {"Sigmoid", "Tanh", "Tanh"}, true);
  if (call.integer("input_forget", 0) != 0) call.refuse("input_forget", "is not supported");
  std::int64_t size = layer.size;
  return over_time(layer, true, [&](const Direction& d, const Tensor& x, const State& before) {
    Tensor gates = gates_of(d, x, before.hidden);
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
  return over_time(layer, false, [&](const Direction& d, const Tensor& x, const State& before) {
    Tensor from_x = matmul(x, d.weight.transpose(0, 1)) + d.bias;
    Tensor from_hidden = matmul(before.hidden, d.recurrence.transpose(0, 1)) + d.recurrent_bias;
    Tensor both = from_x + from_hidden;
    Tensor update = d.activations[0](clipped(gate(both, 0, size), layer)),
           reset = d.activations[0](clipped(gate(both, 1, size), layer));
    Tensor remembered = is_after
                            ? reset * gate(from_hidden, 2, size)
                            : matmul(reset * before.hidden,
                                     d.recurrence.slice(0, 2 * size, 3 * size).transpose(0, 1)) +
                                  d.recurrent_bias.slice(0, 2 * size, 3 * size);
    Tensor fresh = d.activations[1](clipped(gate(from_x, 2, size) + remembered, layer));
    return State{(1.0 - update) * fresh + update * before.hidden, {}};
  });
}

constexpr Operator rows[] = {
    {"GRU", 7, by<gated>},
    {"LSTM", 7, by<long_short>},
    {"RNN", 7, by<simple>},
};

}  // namespace

std::span<const Operator> recurrent_operators() { return rows; }

}  // namespace tilewright::onnx
