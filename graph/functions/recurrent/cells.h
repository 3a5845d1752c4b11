// One step of recurrent layers, of long short-term memory (S. Hochreiter and J. Schmidhuber, 1997),
// gated units (K. Cho and others, 2014) and simple ones, under PyTorch's names, with what ONNX's
// operators have besides as options.
//
// x [N, inputs], states [N, hidden]; weights [gates * hidden, ..] with the gates behind each other.
// The gates of long short-term memory are input, forget, cell and output, those of gated units
// reset, update and new. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <vector>

#include "graph/functions/quantisation/rescaled.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// Weights may be integers of 8 bits, of which each stands for (integer - zero point) * scale: one
// number for all, or [gates * hidden]; the zero point may be undefined, and is 0 then.
struct WeightSteps {
  Tensor scale, zero_point;
};

// The weights of one direction of one layer.
struct RecurrentWeights {
  Tensor input, hidden;            // [gates * hidden, inputs], [gates * hidden, size of the state]
  Tensor input_bias, hidden_bias;  // [gates * hidden], or undefined
  Tensor projection = {};          // [size of the state, hidden] of the hidden state, or undefined
  // Long short-term memory: what the input, the output and the forget gate see of the cell, [3 *
  // hidden] in this order; or undefined.
  Tensor peephole = {};
  // Defined where weights are integers: x and the state are rounded to 8 bits by their ranges then.
  WeightSteps input_steps = {}, hidden_steps = {};
};

enum class GateOrder : std::uint8_t {
  pytorch,  // input, forget, cell, output; reset, update, new
  onnx,     // input, output, forget, cell; update, reset, new
};
using GateFunction = std::function<Tensor(const Tensor& x)>;

struct CellOptions {
  GateOrder gates = GateOrder::pytorch;
  // Long short-term memory: of the gates, of what goes into the cell and of what comes out of it
  // (sigmoid, tanh, tanh); gated units: of the gates and of what is new (sigmoid, tanh); simple
  // ones: theirs. Empty: these.
  std::vector<GateFunction> activations = {};
  std::optional<double> clip = {};  // what activations take is between -clip and clip
  bool input_forget = false;        // the forget gate is 1 - the input gate
  bool linear_before_reset = true;  // gated units: what is reset is the product, not the state
};

struct LstmState {
  Tensor hidden, cell;
};
LstmState lstm_cell(const TensorOperand& x, const LstmState& state, const RecurrentWeights& weights,
                    const CellOptions& options = {});
Tensor gru_cell(const TensorOperand& x, const Tensor& hidden, const RecurrentWeights& weights,
                const CellOptions& options = {});
Tensor rnn_tanh_cell(const TensorOperand& x, const Tensor& hidden, const RecurrentWeights& weights,
                     const CellOptions& options = {});
Tensor rnn_relu_cell(const TensorOperand& x, const Tensor& hidden, const RecurrentWeights& weights,
                     const CellOptions& options = {});

namespace graph {

enum class RecurrentKind : std::uint8_t { lstm, gru, rnn };
std::int64_t gate_count(RecurrentKind kind);
std::size_t activation_count(RecurrentKind kind);

// The steps of one direction of one layer, apart from their products with x, which are made for all
// steps at once.
class RecurrentCell {
 public:
  // Raises `Error` where weights do not fit each other.
  RecurrentCell(RecurrentKind kind, const RecurrentWeights& weights, const CellOptions& options,
                std::source_location where);

  std::int64_t hidden_size() const { return size_; }
  std::int64_t state_size() const;
  // The products of x [.., inputs] with the weights: [.., gates * hidden].
  Tensor from_input(const Tensor& x) const;
  // A cell of both, whose states and products of x have a first axis [2, ..] for the two. Only
  // for `next`, and where `fits_beside` is true: weights are alike except for their elements.
  RecurrentCell beside(const RecurrentCell& other) const;
  bool fits_beside(const RecurrentCell& other) const;
  // The next state, {hidden} or {hidden, cell}, by these products and the state before.
  std::vector<Tensor> next(const Tensor& from_x, const std::vector<Tensor>& state) const;

 private:
  std::vector<Tensor> next_lstm(const Tensor& from_x, const std::vector<Tensor>& state) const;
  Tensor next_gru(const Tensor& from_x, const Tensor& hidden) const;
  Tensor activated(std::size_t which, const Tensor& x) const;
  Tensor gate(const Tensor& gates, int number) const;
  // A product with the weight of the state, which may be of integers.
  Tensor times_hidden(const Tensor& x, const Tensor& weight, const Tensor& bias) const;

  RecurrentKind kind_;
  RecurrentWeights weights_;
  CellOptions options_;
  std::int64_t size_;
  std::optional<IntegerFactor> input_integers_, hidden_integers_;
};

class AutocastCall;
// Weights as a call within autocast has them.
RecurrentWeights cast_weights(const AutocastCall& cast, RecurrentWeights weights);

}  // namespace graph
}  // namespace tilewright
