#include "graph/functions/recurrent/recurrent.h"

#include <array>

#include "graph/functions/control/control_flow.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/named/named_function.h"
#include "graph/functions/shaping/joining.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/index_ranges.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::FunctionCall;
using graph::NamedFunction;
using graph::RecurrentCell;
using graph::RecurrentKind;
using std::source_location;

namespace {

constexpr std::int64_t few_steps = 16;  // that are no loop of the graph

const char* name_of(RecurrentKind kind) {
  return kind == RecurrentKind::lstm ? "lstm" : kind == RecurrentKind::gru ? "gru" : "rnn";
}

// The hidden states of all steps, and the last state.
std::pair<Tensor, Tensors> through_time(const Tensor& x, const Tensors& state,
                                        const RecurrentCell& cell, const Tensor& lengths,
                                        bool is_reverse, source_location w) {
  auto turn = [&](const Tensors& before, const Tensors& now) -> Turn {
    Tensors next = cell.next(now[0], before);
    Tensor output = next[0];
    if (lengths.defined()) {
      const Tensor is_inside = (lengths.to(DType::i64) > now[1]).unsqueeze(1);
      output = where(is_inside, output, zeros({}, output.dtype()));
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = where(is_inside, next[i], before[i]);
    }
    return {next, {output}};
  };
  Tensors sliced = {cell.from_input(x)};
  if (lengths.defined()) sliced.push_back(arange(0, x.size(0)));
  auto [last, all] = scan(turn, state, sliced, {.reverse = is_reverse, .few_turns = few_steps}, w);
  return {all[0], last};
}

// The same of both directions at once, where each step is one product of two: an axis [2, ..] for
// the directions stands before the batch. The second goes from the last step to the first.
std::pair<Tensor, Tensors> both_through_time(const Tensor& x, const Tensors& state,
                                             const RecurrentCell& forward,
                                             const RecurrentCell& backward, const Tensor& lengths,
                                             source_location w) {
  const RecurrentCell both = forward.beside(backward);
  auto turn = [&](const Tensors& before, const Tensors& now) -> Turn {
    Tensors next = both.next(now[0], before);
    Tensor output = next[0];
    if (lengths.defined()) {
      const Tensor is_inside =
          (lengths.to(DType::i64) > now[1].unsqueeze(1)).unsqueeze(2);  // [2, N, 1]
      output = where(is_inside, output, zeros({}, output.dtype()));
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = where(is_inside, next[i], before[i]);
    }
    return {next, {output}};
  };
  auto turned = [](const Tensor& steps) { return flip(steps, {0}); };
  Tensors sliced = {stack({forward.from_input(x), turned(backward.from_input(x))}, 1)};
  if (lengths.defined()) {
    const Tensor steps = arange(0, x.size(0));
    sliced.push_back(stack({steps, turned(steps)}, 1));
  }
  auto [last, all] = scan(turn, state, sliced, {.few_turns = few_steps}, w);
  return {cat({all[0].select(1, 0), turned(all[0].select(1, 1))}, 2), last};
}

void require_lengths(const Tensor& lengths, std::int64_t steps, std::int64_t batch,
                     const RecurrentOptions& options, const char* name, source_location w) {
  require((lengths.dtype() == DType::i32 || lengths.dtype() == DType::i64) &&
              lengths.shape() == Shape{batch},
          "[", name, "] the lengths are ", lengths.dtype(), " [", lengths.shape(), "] (at ", At{w},
          "); integers [", batch, "] are wanted, a length for each row of the batch");
  if (options.lengths_are_inside) return;
  const std::string named = options.lengths_are_of.empty() ? name : options.lengths_are_of;
  graph::require_inside(lengths, {named, graph::IndexRange::Noun::length, 0, steps + 1, w});
}

// Those of one direction, where activations are given for each.
CellOptions of_direction(RecurrentKind kind, const RecurrentOptions& options,
                         std::size_t direction) {
  CellOptions result = options;
  const std::size_t count = graph::activation_count(kind);
  if (options.activations.size() != 2 * count) return result;
  const auto middle = options.activations.begin() + static_cast<std::ptrdiff_t>(count);
  if (direction == 0)
    result.activations.assign(options.activations.begin(), middle);
  else
    result.activations.assign(middle, options.activations.end());
  return result;
}

// x with the steps first, whose lengths have been looked at.
Tensor steps_of(const char* name, const TensorOperand& operand, const RecurrentOptions& options) {
  const source_location w = operand.where;
  const Tensor x = graph::tensor_of(operand, name);
  require(x.rank() == 3 && is_floating(x.dtype()), "[", name, "] x is ", x.dtype(), " [", x.shape(),
          "] (at ", At{w}, "); floats of three axes are wanted: steps, batch and inputs");
  const int time = options.batch_first ? 1 : 0;
  require(x.size(time) > 0, "[", name, "] x has no steps (at ", At{w},
          "); there must be at least one");
  if (options.lengths.defined())
    require_lengths(options.lengths, x.size(time), x.size(1 - time), options, name, w);
  return options.batch_first ? x.transpose(0, 1) : x;
}

// One direction of one layer.
struct Direction {
  RecurrentCell cell;
  Tensors state;  // the initial one
  bool is_reverse;
};
Direction direction_of(RecurrentKind kind, std::size_t number, const Tensor& x,
                       const Tensors& initial, const std::vector<RecurrentWeights>& weights,
                       const RecurrentOptions& options, source_location w) {
  const char* name = name_of(kind);
  const std::size_t of_layer = options.bidirectional ? number % 2 : 0;
  Direction result{{kind, weights[number], of_direction(kind, options, of_layer), w},
                   {},
                   options.bidirectional ? of_layer == 1 : options.reverse};
  require(x.size(2) == weights[number].input.size(1), "[", name, "] a layer's inputs are [",
          x.shape(), "], its weight [", weights[number].input.shape(), "] (at ", At{w},
          "); as many columns as inputs are wanted");
  for (std::size_t part = 0; part < initial.size(); ++part) {
    const Shape sizes = {x.size(1),
                         part == 0 ? result.cell.state_size() : result.cell.hidden_size()};
    const Tensor& given = initial[part];
    const Shape wanted = {std::ssize(weights), sizes[0], sizes[1]};
    require(!given.defined() || given.shape() == wanted, "[", name, "] an initial state is [",
            given.defined() ? given.shape() : Shape{}, "] (at ", At{w}, "); [", wanted,
            "] is wanted");
    result.state.push_back(given.defined() ? given.select(0, static_cast<std::int64_t>(number))
                                           : zeros(sizes, x.dtype()));
  }
  return result;
}

// True if two directions are computed at once: in a loop of steps whose time is that of reading the
// weights. Directions with activations of their own have no common step.
bool go_together(RecurrentKind kind, const Tensor& x, const std::vector<Direction>& directions,
                 const RecurrentOptions& options) {
  constexpr std::int64_t few_rows = 16;
  return directions.size() == 2 && x.size(0) > few_steps && x.size(1) <= few_rows &&
         options.activations.size() != 2 * graph::activation_count(kind) &&
         directions[0].cell.fits_beside(directions[1].cell);
}

// The output of one layer; the last states are added to those of the layers before.
Tensor layer(RecurrentKind kind, const Tensor& x, const std::vector<Direction>& directions,
             const RecurrentOptions& options, std::vector<Tensors>& last, source_location w) {
  if (go_together(kind, x, directions, options)) {
    Tensors state;
    for (std::size_t k = 0; k < last.size(); ++k)
      state.push_back(stack({directions[0].state[k], directions[1].state[k]}, 0));
    auto [output, end] =
        both_through_time(x, state, directions[0].cell, directions[1].cell, options.lengths, w);
    for (std::size_t k = 0; k < end.size(); ++k) last[k].push_back(end[k]);
    return output;
  }
  Tensors outputs;
  for (const Direction& each : directions) {
    auto [all, end] = through_time(x, each.state, each.cell, options.lengths, each.is_reverse, w);
    outputs.push_back(all);
    for (std::size_t k = 0; k < end.size(); ++k) last[k].push_back(end[k].unsqueeze(0));
  }
  return outputs.size() > 1 ? cat(outputs, 2) : outputs[0];
}

// The output, and each part of the last states.
Tensors layers(RecurrentKind kind, const TensorOperand& operand, const Tensors& initial,
               const std::vector<RecurrentWeights>& weights, const RecurrentOptions& options) {
  const source_location w = operand.where;
  const char* name = name_of(kind);
  Tensor x = steps_of(name, operand, options);
  const std::size_t count = options.bidirectional ? 2 : 1;
  require(!weights.empty() && weights.size() % count == 0, "[", name, "] ", weights.size(),
          " weights (at ", At{w}, "); ", count, " for each layer are wanted");
  std::vector<Tensors> last(initial.size());
  for (std::size_t first = 0; first < weights.size(); first += count) {
    std::vector<Direction> directions;
    for (std::size_t i = first; i < first + count; ++i)
      directions.push_back(direction_of(kind, i, x, initial, weights, options, w));
    x = layer(kind, x, directions, options, last, w);
  }
  Tensors results = {options.batch_first ? x.transpose(0, 1).contiguous() : x};
  for (const Tensors& parts : last) results.push_back(cat(parts, 0));
  return results;
}

// The tensors of a weight, in the order in which a call has them as operands.
template <typename Weights>
auto parts_of(Weights& w) {
  return std::to_array({&w.input, &w.hidden, &w.input_bias, &w.hidden_bias, &w.projection,
                        &w.peephole, &w.input_steps.scale, &w.input_steps.zero_point,
                        &w.hidden_steps.scale, &w.hidden_steps.zero_point});
}

// A call as a node: x, the lengths, the parts of the initial state, and the tensors of each weight,
// undefined where there are none; the options as settings.
Tensors called(const NamedFunction& function, RecurrentKind kind, const TensorOperand& x,
               const Tensors& initial, const std::vector<RecurrentWeights>& weights,
               const RecurrentOptions& options) {
  // Activations of the caller's own have no name, so the steps are recorded.
  if (!options.activations.empty()) return layers(kind, x, initial, weights, options);
  steps_of(name_of(kind), x, options);
  Tensors operands = {x.tensor, options.lengths};
  operands.insert(operands.end(), initial.begin(), initial.end());
  for (const RecurrentWeights& w : weights)
    for (const Tensor* part : parts_of(w)) operands.push_back(*part);
  graph::Settings settings = {{"weights", std::ssize(weights)},
                              {"bidirectional", options.bidirectional},
                              {"reverse", options.reverse},
                              {"batch_first", options.batch_first},
                              {"onnx_gates", options.gates == GateOrder::onnx},
                              {"input_forget", options.input_forget},
                              {"linear_before_reset", options.linear_before_reset}};
  if (options.clip) settings.add("clip", *options.clip);
  return function(operands, std::move(settings), x.where);
}

// `activation` is that of simple layers.
Tensors recurrent_body(RecurrentKind kind, const GateFunction& activation,
                       const FunctionCall& call) {
  const graph::Settings& s = call.settings;
  RecurrentOptions options;
  options.bidirectional = s.flag("bidirectional");
  options.reverse = s.flag("reverse");
  options.batch_first = s.flag("batch_first");
  options.gates = s.flag("onnx_gates") ? GateOrder::onnx : GateOrder::pytorch;
  options.input_forget = s.flag("input_forget");
  options.linear_before_reset = s.flag("linear_before_reset");
  if (s.has("clip")) options.clip = s.number("clip");
  if (activation) options.activations = {activation};
  options.lengths = call[1];
  options.lengths_are_inside = true;
  const std::size_t parts = kind == RecurrentKind::lstm ? 2 : 1;
  const Tensors initial(call.operands.begin() + 2,
                        call.operands.begin() + 2 + static_cast<std::ptrdiff_t>(parts));
  std::vector<RecurrentWeights> weights(static_cast<std::size_t>(s.integer("weights")));
  std::size_t next = 2 + parts;
  for (RecurrentWeights& w : weights)
    for (Tensor* part : parts_of(w)) *part = call[next++];
  return layers(kind, {call[0], call.where}, initial, weights, options);
}

std::pair<Tensor, Tensor> as_pair(const Tensors& results) { return {results[0], results[1]}; }

std::vector<RecurrentWeights> cast_all(const graph::AutocastCall& cast,
                                       std::vector<RecurrentWeights> weights) {
  for (RecurrentWeights& layer : weights) layer = graph::cast_weights(cast, layer);
  return weights;
}

}  // namespace

namespace graph::named {
extern const NamedFunction lstm_function;
const NamedFunction lstm_function("lstm", [](const FunctionCall& call) {
  return recurrent_body(RecurrentKind::lstm, {}, call);
});
extern const NamedFunction gru_function;
const NamedFunction gru_function("gru", [](const FunctionCall& call) {
  return recurrent_body(RecurrentKind::gru, {}, call);
});
extern const NamedFunction rnn_tanh_function;
const NamedFunction rnn_tanh_function("rnn_tanh", [](const FunctionCall& call) {
  return recurrent_body(
      RecurrentKind::rnn, [](const Tensor& t) { return tanh(t); }, call);
});
extern const NamedFunction rnn_relu_function;
const NamedFunction rnn_relu_function("rnn_relu", [](const FunctionCall& call) {
  return recurrent_body(
      RecurrentKind::rnn, [](const Tensor& t) { return relu(t); }, call);
});
}  // namespace graph::named

LstmResult lstm(const TensorOperand& x, const LstmState& initial,
                const std::vector<RecurrentWeights>& weights, const RecurrentOptions& options) {
  if (const graph::AutocastCall cast("lstm", x.where); cast.is_listed())
    return lstm(cast(x), {cast(initial.hidden), cast(initial.cell)}, cast_all(cast, weights),
                options);
  const Tensors results = called(graph::named::lstm_function, RecurrentKind::lstm, x,
                                 {initial.hidden, initial.cell}, weights, options);
  return {results[0], results[1], results[2]};
}
std::pair<Tensor, Tensor> gru(const TensorOperand& x, const Tensor& initial,
                              const std::vector<RecurrentWeights>& weights,
                              const RecurrentOptions& options) {
  if (const graph::AutocastCall cast("gru", x.where); cast.is_listed())
    return gru(cast(x), cast(initial), cast_all(cast, weights), options);
  return as_pair(
      called(graph::named::gru_function, RecurrentKind::gru, x, {initial}, weights, options));
}
std::pair<Tensor, Tensor> rnn_tanh(const TensorOperand& x, const Tensor& initial,
                                   const std::vector<RecurrentWeights>& weights,
                                   const RecurrentOptions& options) {
  if (const graph::AutocastCall cast("rnn_tanh", x.where); cast.is_listed())
    return rnn_tanh(cast(x), cast(initial), cast_all(cast, weights), options);
  return as_pair(
      called(graph::named::rnn_tanh_function, RecurrentKind::rnn, x, {initial}, weights, options));
}
std::pair<Tensor, Tensor> rnn_relu(const TensorOperand& x, const Tensor& initial,
                                   const std::vector<RecurrentWeights>& weights,
                                   const RecurrentOptions& options) {
  if (const graph::AutocastCall cast("rnn_relu", x.where); cast.is_listed())
    return rnn_relu(cast(x), cast(initial), cast_all(cast, weights), options);
  return as_pair(
      called(graph::named::rnn_relu_function, RecurrentKind::rnn, x, {initial}, weights, options));
}

}  // namespace tilewright
