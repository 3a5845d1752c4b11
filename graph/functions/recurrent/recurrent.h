// Recurrent layers over sequences, under the names of torch: long short-term memory, gated units
// and simple ones, of several layers and both directions, with projections, and with what ONNX's
// operators have besides.
//
// What comes of the inputs is computed for all steps at once, then step by step; where there are
// many steps, as a loop of the graph (control/control_flow.h). Dropout between layers, which
// training alone has, is the caller's. Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <utility>
#include <vector>

#include "graph/functions/recurrent/cells.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

struct RecurrentOptions : CellOptions {
  // Activations may be given for each direction, those of the second behind those of the first.
  bool bidirectional = false;  // weights of both directions of a layer follow each other
  bool reverse = false;        // of one direction: the last step comes first
  bool batch_first = false;    // x and the output are [N, T, ..]; states are not
  // i32 or i64 [N]: how many steps of each sequence count. The output behind them is 0, and the
  // last state is that of the last that counts. Undefined: all. One outside is an Error at once,
  // and inside a compiled function as far as Options::index_checks says.
  Tensor lengths = {};
  // What is named where a length is outside; empty: the function. And that no length is, which was
  // looked at before.
  std::string lengths_are_of = {};
  bool lengths_are_inside = false;
};

// x [T, N, inputs]; initial states [layers * directions, N, hidden], the hidden one of the
// projection's size where there is one, or undefined: zeros. As many weights as states. Gives the
// outputs of the last layer [T, N, directions * hidden], and the last states.
struct LstmResult {
  Tensor output, hidden, cell;
};
LstmResult lstm(const TensorOperand& x, const LstmState& initial,
                const std::vector<RecurrentWeights>& weights, const RecurrentOptions& options = {});
std::pair<Tensor, Tensor> gru(const TensorOperand& x, const Tensor& initial,
                              const std::vector<RecurrentWeights>& weights,
                              const RecurrentOptions& options = {});
// With options.activations those of ONNX's RNN.
std::pair<Tensor, Tensor> rnn_tanh(const TensorOperand& x, const Tensor& initial,
                                   const std::vector<RecurrentWeights>& weights,
                                   const RecurrentOptions& options = {});
std::pair<Tensor, Tensor> rnn_relu(const TensorOperand& x, const Tensor& initial,
                                   const std::vector<RecurrentWeights>& weights,
                                   const RecurrentOptions& options = {});

}  // namespace tilewright
