// Recurrent layers (graph/functions/recurrent) as ONNX has them: of one layer, with weights,
// biases and states of both directions in one tensor each.
#include "graph/functions/recurrent/recurrent.h"

#include <algorithm>

#include "graph/tensor/index_ranges.h"
#include "models/files/reader.h"
#include "models/onnx/operators/table.h"
#include "models/onnx/program/zero_points.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace recurrent_rows {
namespace {

constexpr std::size_t lengths_input = 4;

struct Layer {
  Tensor x;  // [T, N, inputs]
  std::int64_t directions, size;
  bool batch_is_first;
  std::vector<RecurrentWeights> weights;
  Tensor hidden, cell;  // [directions, N, hidden], or undefined
  RecurrentOptions options;
};

// The steps of weights that are integers [directions, inputs, gates]: [directions] or [directions,
// gates].
WeightSteps steps_of(const Call& call, std::size_t input, std::size_t scale_input) {
  const Shape& weight = call.shape(input);
  const DType dtype = call.dtype(input);
  const Tensor scale = call.tensor(scale_input), zero = call.tensor(scale_input + 1);
  require(weight.rank() == 3 && bit_width(dtype) == 8 && is_integer(dtype), "[onnx] input ", input,
          " is ", dtype, " [", weight,
          "]; integers of 8 bits [directions, inputs, 4 * hidden_size] are wanted");
  const Shape one = {weight[0]}, each = {weight[0], weight[2]};
  require((scale.shape() == one || scale.shape() == each) && zero.shape() == scale.shape(),
          "[onnx] a scale [", scale.shape(), "] and a zero point [", zero.shape(), "] of weights [",
          weight, "]; one for each direction is wanted, or [", each, "]");
  return {scale, known_zero(call, scale_input + 1, zero.count()) ? Tensor() : zero};
}
WeightSteps steps_of(const WeightSteps& all, std::int64_t direction) {
  auto part = [&](const Tensor& t) { return t.defined() ? t.select(0, direction) : t; };
  return {part(all.scale), part(all.zero_point)};
}

GateFunction activation_of(const std::string& name) {
  if (name == "Tanh" || name == "tanh") return [](const Tensor& x) { return tanh(x); };
  if (name == "Sigmoid" || name == "sigmoid") return [](const Tensor& x) { return sigmoid(x); };
  if (name == "Relu" || name == "relu") return [](const Tensor& x) { return relu(x); };
  raise_error(concat("[onnx] the activation \"", json::excerpt(name),
                     "\" is none of Tanh, Sigmoid and Relu, which are supported"));
}
// The activations of all directions, or of one where both have the same. A model may name the first
// ones alone; the others are the usual ones.
std::vector<GateFunction> activations_of(const Call& call, const std::vector<std::string>& usual,
                                         std::int64_t directions) {
  std::vector<std::string> names = call.texts("activations");
  const std::size_t count = usual.size() * static_cast<std::size_t>(directions);
  for (std::size_t i = names.size(); i < count; ++i) names.push_back(usual[i % usual.size()]);
  const bool are_same = std::ranges::equal(std::span(names).first(usual.size()),
                                           std::span(names).subspan(count - usual.size()));
  std::vector<GateFunction> activations;
  for (std::size_t i = 0; i < (are_same ? usual.size() : count); ++i)
    activations.push_back(activation_of(names[i]));
  return activations;
}

// Raises `Error` for a length that the host knows; of others the layer sees to it.
void require_known_lengths(const Call& call, const Tensor& lengths, std::int64_t steps,
                           std::int64_t batch, const std::string& named) {
  require((lengths.dtype() == i32 || lengths.dtype() == i64) && lengths.shape() == Shape{batch},
          "[onnx] sequence_lens is ", lengths.dtype(), " [", lengths.shape(), "]; integers [",
          batch, "] are wanted, a length for each row of the batch");
  const Known* known = call.known(lengths_input);
  if (known == nullptr) return;
  const graph::IndexRange range{named, graph::IndexRange::Noun::length, 0, steps + 1,
                                std::source_location::current()};
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

// What an operator of that many gates says, with the activations that it has by itself.
Layer layer_of(const Call& call, int gates, const std::vector<std::string>& usual, bool has_cell,
               bool has_integers = false) {
  Layer layer{.x = call.tensor(0), .directions = 1, .size = call.integer("hidden_size")};
  layer.batch_is_first = !has_integers && call.flag("layout", false);
  if (layer.batch_is_first) layer.x = layer.x.transpose(0, 1);
  RecurrentOptions& options = layer.options;
  options.gates = GateOrder::onnx;
  if (call.has("clip")) options.clip = call.number("clip");
  const std::string direction = call.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    call.refuse("direction", "is none of forward, reverse and bidirectional");
  options.reverse = direction == "reverse";
  options.bidirectional = direction == "bidirectional";
  const std::int64_t count = layer.directions = options.bidirectional ? 2 : 1, size = layer.size;
  options.activations = activations_of(call, usual, count);
  const WeightSteps steps = has_integers ? steps_of(call, 1, 8) : WeightSteps(),
                    recurrence_steps = has_integers ? steps_of(call, 2, 10) : WeightSteps();
  auto gates_first = [&](const Tensor& given) {
    return has_integers ? given.transpose(1, 2) : given;
  };
  const Tensor weight = gates_first(call.tensor(1)), recurrence = gates_first(call.tensor(2)),
               bias = call.optional_tensor(3);
  layer.hidden = call.optional_tensor(5);
  layer.cell = has_cell ? call.optional_tensor(6) : Tensor();
  const Tensor peephole = has_cell ? call.optional_tensor(7) : Tensor();
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
  require_shape(layer.hidden, "initial_h", states);
  require_shape(layer.cell, "initial_c", states);
  require_shape(peephole, "P", {count, 3 * size});
  if (call.has(lengths_input)) {
    options.lengths = call.tensor(lengths_input);
    options.lengths_are_of =
        concat(call.node().op, ", sequence_lens of node \"", json::excerpt(call.node().name), '"');
    options.lengths_are_inside = call.known(lengths_input) != nullptr;
    require_known_lengths(call, options.lengths, layer.x.size(0), batch, options.lengths_are_of);
  }
  if (layer.batch_is_first)
    for (Tensor* state : {&layer.hidden, &layer.cell})
      if (state->defined()) *state = state->transpose(0, 1);
  for (std::int64_t i = 0; i < count; ++i) {
    auto part = [&](const Tensor& all, std::int64_t begin, std::int64_t end) {
      return all.defined() ? all.select(0, i).slice(0, begin, end) : Tensor();
    };
    layer.weights.push_back({weight.select(0, i),
                             recurrence.select(0, i),
                             part(bias, 0, gates * size),
                             part(bias, gates * size, 2 * gates * size),
                             {},
                             part(peephole, 0, 3 * size),
                             steps_of(steps, i),
                             steps_of(recurrence_steps, i)});
  }
  return layer;
}

// The results Y, Y_h and Y_c: of y [T, N, directions * hidden] and the last states.
Results results_of(const Layer& layer, const Tensor& y, const std::vector<Tensor>& states) {
  const Tensor apart =
      y.reshape({y.size(0), y.size(1), layer.directions, layer.size});  // [T, N, D, hidden]
  Results results = {Value(layer.batch_is_first ? apart.transpose(0, 1) : apart.transpose(1, 2))};
  for (const Tensor& state : states)
    results.emplace_back(layer.batch_is_first ? state.transpose(0, 1) : state);
  return results;
}

Results simple(const Call& call) {
  const Layer layer = layer_of(call, 1, {"Tanh"}, false);
  auto [y, hidden] = rnn_tanh(layer.x, layer.hidden, layer.weights, layer.options);
  return results_of(layer, y, {hidden});
}
Results gated(const Call& call) {
  Layer layer = layer_of(call, 3, {"Sigmoid", "Tanh"}, false);
  layer.options.linear_before_reset = call.flag("linear_before_reset", false);
  auto [y, hidden] = gru(layer.x, layer.hidden, layer.weights, layer.options);
  return results_of(layer, y, {hidden});
}
template <bool has_integers>
Results long_short(const Call& call) {
  Layer layer = layer_of(call, 4, {"Sigmoid", "Tanh", "Tanh"}, true, has_integers);
  layer.options.input_forget = call.integer("input_forget", 0) != 0;
  const LstmResult all = lstm(layer.x, {layer.hidden, layer.cell}, layer.weights, layer.options);
  return results_of(layer, all.output, {all.hidden, all.cell});
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
