#include "graph/functions/recurrent/cells.h"

#include <algorithm>
#include <array>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/shaping/joining.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::RecurrentCell;
using graph::RecurrentKind;
using std::source_location;

namespace {

Tensor by_sigmoid(const Tensor& x) { return sigmoid(x); }
Tensor by_tanh(const Tensor& x) { return tanh(x); }
Tensor by_relu(const Tensor& x) { return relu(x); }

std::vector<GateFunction> usual_activations(RecurrentKind kind) {
  switch (kind) {
    case RecurrentKind::lstm: return {by_sigmoid, by_tanh, by_tanh};
    case RecurrentKind::gru: return {by_sigmoid, by_tanh};
    case RecurrentKind::rnn: return {by_tanh};
  }
  __builtin_unreachable();
}

// One step on its own.
std::vector<Tensor> step(RecurrentKind kind, const TensorOperand& x,
                         const std::vector<Tensor>& state, const RecurrentWeights& weights,
                         const CellOptions& options) {
  const Tensor& given = graph::tensor_of(x, "recurrent cell");
  const RecurrentCell cell(kind, weights, options, x.where);
  for (const Tensor& part : state)
    require(part.defined(), "[recurrent cell] a state is undefined (at ", At{x.where},
            "); one for each row of x is wanted");
  return cell.next(cell.from_input(given), state);
}
// linear(), also for a stack of weights [2, ..] and biases [2, 1, ..], of which each has its own x.
Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (weight.rank() == 2) return linear(x, weight, bias);
  const Tensor product = matmul(x, weight.transpose(-1, -2));
  return bias.defined() ? product + bias : product;
}
std::vector<Tensor> tensors_of(const RecurrentWeights& w) {
  return {w.input,
          w.hidden,
          w.input_bias,
          w.hidden_bias,
          w.projection,
          w.peephole,
          w.input_steps.scale,
          w.input_steps.zero_point,
          w.hidden_steps.scale,
          w.hidden_steps.zero_point};
}
// Both as rows that broadcast to products of each: [2, 1, elements].
Tensor rows_of(const Tensor& a, const Tensor& b) {
  if (!a.defined()) return a;
  return stack({a.reshape({1, a.count()}), b.reshape({1, b.count()})}, 0);
}
CellOptions with_activation(const CellOptions& options, const GateFunction& activation) {
  CellOptions result = options;
  result.activations = {activation};
  return result;
}

}  // namespace

RecurrentWeights graph::cast_weights(const AutocastCall& cast, RecurrentWeights weights) {
  for (Tensor* part : {&weights.input, &weights.hidden, &weights.input_bias, &weights.hidden_bias,
                       &weights.projection, &weights.peephole})
    *part = cast(*part);
  return weights;
}

LstmState lstm_cell(const TensorOperand& x, const LstmState& state, const RecurrentWeights& weights,
                    const CellOptions& options) {
  if (const graph::AutocastCall cast("lstm_cell", x.where); cast.is_listed())
    return lstm_cell(cast(x), {cast(state.hidden), cast(state.cell)},
                     graph::cast_weights(cast, weights), options);
  const auto next = step(RecurrentKind::lstm, x, {state.hidden, state.cell}, weights, options);
  return {next[0], next[1]};
}
Tensor gru_cell(const TensorOperand& x, const Tensor& hidden, const RecurrentWeights& weights,
                const CellOptions& options) {
  if (const graph::AutocastCall cast("gru_cell", x.where); cast.is_listed())
    return gru_cell(cast(x), cast(hidden), graph::cast_weights(cast, weights), options);
  return step(RecurrentKind::gru, x, {hidden}, weights, options)[0];
}
Tensor rnn_tanh_cell(const TensorOperand& x, const Tensor& hidden, const RecurrentWeights& weights,
                     const CellOptions& options) {
  if (const graph::AutocastCall cast("rnn_tanh_cell", x.where); cast.is_listed())
    return rnn_tanh_cell(cast(x), cast(hidden), graph::cast_weights(cast, weights), options);
  return step(RecurrentKind::rnn, x, {hidden}, weights, with_activation(options, by_tanh))[0];
}
Tensor rnn_relu_cell(const TensorOperand& x, const Tensor& hidden, const RecurrentWeights& weights,
                     const CellOptions& options) {
  if (const graph::AutocastCall cast("rnn_relu_cell", x.where); cast.is_listed())
    return rnn_relu_cell(cast(x), cast(hidden), graph::cast_weights(cast, weights), options);
  return step(RecurrentKind::rnn, x, {hidden}, weights, with_activation(options, by_relu))[0];
}

namespace graph {

std::int64_t gate_count(RecurrentKind kind) {
  return kind == RecurrentKind::lstm ? 4 : kind == RecurrentKind::gru ? 3 : 1;
}

std::size_t activation_count(RecurrentKind kind) { return usual_activations(kind).size(); }

RecurrentCell::RecurrentCell(RecurrentKind kind, const RecurrentWeights& weights,
                             const CellOptions& options, source_location where)
    : kind_(kind), weights_(weights), options_(options) {
  const Tensor &input = weights.input, &hidden = weights.hidden;
  const std::int64_t gates = gate_count(kind);
  require(input.defined() && hidden.defined() && input.rank() == 2 && hidden.rank() == 2 &&
              input.size(0) == hidden.size(0) && hidden.size(0) % gates == 0 && input.size(0) > 0,
          "[recurrent layer] weights are ",
          input.defined() ? concat("[", input.shape(), "]") : "undefined", " and ",
          hidden.defined() ? concat("[", hidden.shape(), "]") : "undefined", " (at ", At{where},
          "); matrices with ", gates, " gates of as many rows each are wanted");
  size_ = hidden.size(0) / gates;
  require(hidden.size(1) == (weights.projection.defined() ? weights.projection.size(0) : size_),
          "[recurrent layer] the weight of the state is [", hidden.shape(), "] (at ", At{where},
          "); it must have a column for each element of the state");
  for (const Tensor& bias : {weights.input_bias, weights.hidden_bias})
    require(!bias.defined() || bias.shape() == Shape{gates * size_},
            "[recurrent layer] a bias is [", bias.defined() ? bias.shape() : Shape{}, "] (at ",
            At{where}, "); [", gates * size_, "] is wanted");
  require(!weights.peephole.defined() || weights.peephole.shape() == Shape{3 * size_},
          "[recurrent layer] a peephole is [",
          weights.peephole.defined() ? weights.peephole.shape() : Shape{}, "] (at ", At{where},
          "); [", 3 * size_, "] is wanted");
  const std::vector<GateFunction> usual = usual_activations(kind);
  if (options_.activations.empty()) options_.activations = usual;
  require(options_.activations.size() == usual.size(), "[recurrent layer] ",
          options_.activations.size(), " activations (at ", At{where}, "); ", usual.size(),
          " are wanted");
  const auto integers_of = [&](const Tensor& weight, const WeightSteps& steps, bool few_rows,
                               std::optional<IntegerFactor>& factor) {
    require(steps.scale.defined() == is_integer(weight.dtype()) &&
                (kind == RecurrentKind::lstm || !steps.scale.defined()),
            "[recurrent layer] a weight is ", weight.dtype(),
            steps.scale.defined() ? " with a scale" : " without a scale", " (at ", At{where},
            "); floats, or integers of long short-term memory with a scale, are wanted");
    if (steps.scale.defined())
      factor.emplace(weight.transpose(0, 1), steps.zero_point, few_rows, "recurrent layer", where);
  };
  integers_of(input, weights.input_steps, false, input_integers_);
  integers_of(hidden, weights.hidden_steps, true, hidden_integers_);
}

bool RecurrentCell::fits_beside(const RecurrentCell& other) const {
  const std::vector<Tensor> mine = tensors_of(weights_), others = tensors_of(other.weights_);
  return std::ranges::equal(mine, others, [](const Tensor& a, const Tensor& b) {
    return a.defined() == b.defined() &&
           (!a.defined() || (a.dtype() == b.dtype() && a.shape() == b.shape()));
  });
}

RecurrentCell RecurrentCell::beside(const RecurrentCell& other) const {
  RecurrentCell both = *this;
  const RecurrentWeights &a = weights_, &b = other.weights_;
  both.weights_ = {stack({a.input, b.input}, 0),
                   stack({a.hidden, b.hidden}, 0),
                   rows_of(a.input_bias, b.input_bias),
                   rows_of(a.hidden_bias, b.hidden_bias),
                   a.projection.defined() ? stack({a.projection, b.projection}, 0) : Tensor(),
                   rows_of(a.peephole, b.peephole),
                   {},
                   {rows_of(a.hidden_steps.scale, b.hidden_steps.scale),
                    rows_of(a.hidden_steps.zero_point, b.hidden_steps.zero_point)}};
  both.input_integers_.reset();
  if (hidden_integers_) {
    // Rows along the gates, which few rows of integers are multiplied by without being packed.
    const Tensor factors = stack({a.hidden.transpose(0, 1), b.hidden.transpose(0, 1)}, 0);
    both.weights_.hidden = factors.transpose(-1, -2);
    both.hidden_integers_.emplace(factors, both.weights_.hidden_steps.zero_point, false);
  }
  return both;
}

std::int64_t RecurrentCell::state_size() const { return weights_.hidden.size(-1); }

Tensor RecurrentCell::times_hidden(const Tensor& x, const Tensor& weight,
                                   const Tensor& bias) const {
  if (!hidden_integers_) return affine(x, weight, bias);
  const Tensor& scale = weights_.hidden_steps.scale;
  if (weight.rank() == 2) return dynamic_scaled_matmul(x, *hidden_integers_, scale, bias);
  const Tensor products = dynamic_scaled_matmuls(x, *hidden_integers_, scale);
  return bias.defined() ? products + bias : products;
}
Tensor RecurrentCell::from_input(const Tensor& x) const {
  if (!input_integers_) return linear(x, weights_.input, weights_.input_bias);
  return dynamic_scaled_matmul(x, *input_integers_, weights_.input_steps.scale,
                               weights_.input_bias);
}
Tensor RecurrentCell::activated(std::size_t which, const Tensor& x) const {
  const std::optional<double>& clip = options_.clip;
  return options_.activations[which](clip ? clamp(x, -*clip, *clip) : x);
}
Tensor RecurrentCell::gate(const Tensor& gates, int number) const {
  return gates.slice(-1, number * size_, (number + 1) * size_);
}

std::vector<Tensor> RecurrentCell::next(const Tensor& from_x,
                                        const std::vector<Tensor>& state) const {
  std::vector<Tensor> result;
  switch (kind_) {
    case RecurrentKind::lstm: result = next_lstm(from_x, state); break;
    case RecurrentKind::gru: result = {next_gru(from_x, state[0])}; break;
    case RecurrentKind::rnn:
      result = {
          activated(0, from_x + times_hidden(state[0], weights_.hidden, weights_.hidden_bias))};
      break;
  }
  if (weights_.projection.defined()) result[0] = affine(result[0], weights_.projection, {});
  return result;
}

// The cell forgets and takes in, and a gate lets a part of it out. Those that look through a
// peephole see the cell, the last one the new cell.
std::vector<Tensor> RecurrentCell::next_lstm(const Tensor& from_x,
                                             const std::vector<Tensor>& state) const {
  enum : int { in, forget, fresh, out };
  const std::array<int, 4> at =
      options_.gates == GateOrder::pytorch ? std::array{0, 1, 2, 3} : std::array{0, 2, 3, 1};
  const Tensor gates = from_x + times_hidden(state[0], weights_.hidden, weights_.hidden_bias);
  auto looking = [&](int which, int peephole, const Tensor& cell) {
    Tensor each = gate(gates, at[static_cast<std::size_t>(which)]);
    if (weights_.peephole.defined())
      each = each + weights_.peephole.slice(-1, peephole * size_, (peephole + 1) * size_) * cell;
    return activated(0, each);
  };
  const Tensor taken = looking(in, 0, state[1]);
  const Tensor kept = options_.input_forget ? 1.0 - taken : looking(forget, 2, state[1]);
  const Tensor cell = kept * state[1] + taken * activated(1, gate(gates, at[fresh]));
  return {looking(out, 1, cell) * options_.activations[2](cell), cell};
}

Tensor RecurrentCell::next_gru(const Tensor& from_x, const Tensor& hidden) const {
  const bool is_pytorch = options_.gates == GateOrder::pytorch;
  const int at_reset = is_pytorch ? 0 : 1, at_update = is_pytorch ? 1 : 0;
  const Tensor &weight = weights_.hidden, &bias = weights_.hidden_bias;
  if (options_.linear_before_reset) {
    const Tensor from_hidden = times_hidden(hidden, weight, bias);
    auto both = [&](int number) { return gate(from_x, number) + gate(from_hidden, number); };
    const Tensor update = activated(0, both(at_update));
    const Tensor fresh =
        activated(1, gate(from_x, 2) + activated(0, both(at_reset)) * gate(from_hidden, 2));
    return fresh + update * (hidden - fresh);
  }
  auto part = [&](const Tensor& x, std::int64_t begin, std::int64_t end) {
    const Tensor own_bias = bias.defined() ? bias.slice(-1, begin * size_, end * size_) : Tensor();
    return affine(x, weight.slice(-2, begin * size_, end * size_), own_bias);
  };
  const Tensor from_hidden = part(hidden, 0, 2);
  auto both = [&](int number) { return gate(from_x, number) + gate(from_hidden, number); };
  const Tensor update = activated(0, both(at_update)), reset = activated(0, both(at_reset));
  const Tensor fresh = activated(1, gate(from_x, 2) + part(reset * hidden, 2, 3));
  return fresh + update * (hidden - fresh);
}

}  // namespace graph
}  // namespace tilewright
