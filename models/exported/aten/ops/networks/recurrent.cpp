// Recurrent layers and their cells (graph/functions/recurrent).
#include "graph/functions/recurrent/recurrent.h"

#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace recurrent_rows {
namespace {

// The weights of all directions of all layers, in their order.
std::vector<RecurrentWeights> weights_of(const Call& call, std::int64_t count) {
  const std::vector<Tensor> all = call.tensors("params");
  const bool has_biases = call.flag("has_biases", true);
  const std::size_t plain = has_biases ? 4 : 2, directions = static_cast<std::size_t>(count);
  const bool has_projections = all.size() == (plain + 1) * directions;
  const std::size_t each = plain + (has_projections ? 1 : 0);
  if (count < 1 || all.size() != each * directions)
    call.refuse("params", concat("has ", all.size(), " tensors; ", count, " directions of layers",
                                 " have ", plain, " each"));
  std::vector<RecurrentWeights> weights;
  for (std::size_t i = 0; i < all.size(); i += each)
    weights.push_back({all[i], all[i + 1], has_biases ? all[i + 2] : Tensor(),
                       has_biases ? all[i + 3] : Tensor(),
                       has_projections ? all[i + plain] : Tensor()});
  return weights;
}

struct Layers {
  Tensor x;
  std::vector<RecurrentWeights> weights;
  RecurrentOptions options;
};
Layers layers_of(const Call& call) {
  Layers layers;
  layers.x = call.tensor("input");
  if (layers.x.rank() != 3) call.refuse("input", "has not three axes");
  const std::int64_t count = call.integer("num_layers");
  layers.options.bidirectional = call.flag("bidirectional", false);
  layers.options.batch_first = call.flag("batch_first", false);
  if (call.flag("train", false) && call.number("dropout", 0) != 0 && count > 1)
    call.refuse("train", "is true, with dropout between layers");
  call.number("dropout", 0);
  layers.weights = weights_of(call, layers.options.bidirectional ? 2 * count : count);
  return layers;
}

LstmState states_of(const Call& call) {
  const std::vector<Tensor> both = call.tensors("hx");
  if (both.size() != 2) call.refuse("hx", concat("has ", both.size(), " tensors; 2 are wanted"));
  return {both[0], both[1]};
}
Results long_short(const Call& call) {
  const Layers layers = layers_of(call);
  const LstmResult all = lstm(layers.x, states_of(call), layers.weights, layers.options);
  return {all.output, all.hidden, all.cell};
}
using LayersOfOneState = std::pair<Tensor, Tensor> (*)(const TensorOperand&, const Tensor&,
                                                       const std::vector<RecurrentWeights>&,
                                                       const RecurrentOptions&);
template <LayersOfOneState function>
constexpr auto of_one_state = [](const Call& c) {
  const Layers layers = layers_of(c);
  return function(layers.x, c.tensor("hx"), layers.weights, layers.options);
};

RecurrentWeights weights_of_cell(const Call& call) {
  return {call.tensor("w_ih"), call.tensor("w_hh"), call.optional_tensor("b_ih"),
          call.optional_tensor("b_hh")};
}
std::pair<Tensor, Tensor> long_short_cell(const Call& call) {
  const LstmState next = lstm_cell(call.tensor("input"), states_of(call), weights_of_cell(call));
  return {next.hidden, next.cell};
}
template <Tensor (*function)(const TensorOperand&, const Tensor&, const RecurrentWeights&,
                             const CellOptions&)>
constexpr auto cell = [](const Call& c) {
  return function(c.tensor("input"), c.tensor("hx"), weights_of_cell(c), {});
};

constexpr Operator rows[] = {
    {"aten.lstm.input", by<long_short>},
    {"aten.gru.input", of_one_state<gru>},
    {"aten.rnn_tanh.input", of_one_state<rnn_tanh>},
    {"aten.rnn_relu.input", of_one_state<rnn_relu>},
    {"aten.lstm_cell.default", by<long_short_cell>},
    {"aten.gru_cell.default", cell<gru_cell>},
    {"aten.rnn_tanh_cell.default", cell<rnn_tanh_cell>},
    {"aten.rnn_relu_cell.default", cell<rnn_relu_cell>},
};

}  // namespace
}  // namespace recurrent_rows

std::span<const Operator> recurrent_operators() { return recurrent_rows::rows; }

}  // namespace tilewright::exported
