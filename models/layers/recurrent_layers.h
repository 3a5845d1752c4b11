// Recurrent layers over sequences, under PyTorch's names and those of its parameters:
// "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0" of a projection, and
// the same with "_reverse" for the second direction.
//
// Sequences are [T, N, inputs], [N, T, inputs] where `batch_first`, or [T, inputs]; states
// [layers * directions, N, hidden], or without N. `lengths` [N], i32 or i64, are the steps of each
// sequence that count, for which PyTorch packs sequences (pack_padded_sequence): outputs behind
// them are 0, and the last states are those of the last step that counts. Weights are initially
// uniform in +-1/sqrt(hidden). Misuse raises `Error` with the caller's line and, where the layer is
// registered in a module, its name there. The functions are those of
// graph/functions/recurrent/recurrent.h.
#pragma once

#include <cstdint>
#include <deque>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/functions/recurrent/recurrent.h"
#include "graph/tensor/guarded.h"
#include "graph/tensor/tensor.h"
#include "models/layers/layers.h"
#include "models/layers/module.h"

namespace tilewright {

struct RecurrentLayerOptions {
  int layers = 1;
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;  // of the results of each layer but the last, while it is trained
  bool bidirectional = false;
  std::int64_t projection = 0;  // of an Lstm's hidden state to this size; 0: none
  LayerOptions layer = {};
};

// The weights, which the three have in common.
class RecurrentLayer : public Module {
 public:
  void train(bool is_training = true) override;
  // By layer and, in one, by direction. Tensors that the layer lacks are undefined.
  const std::deque<RecurrentWeights>& weights() const { return weights_; }

 protected:
  RecurrentLayer(std::string_view name, int gates, std::int64_t inputs, std::int64_t hidden,
                 const RecurrentLayerOptions& options, std::source_location w);

  // One state of the layer, [layers * directions, N, size]; undefined: zeros.
  struct State {
    const Tensor& given;
    std::int64_t size;
  };
  // Runs `layer` for all layers at once or, where there is dropout between them, one after the
  // other. Gives the output and the last states, as many as `initial`.
  using Layer =
      std::function<std::vector<Tensor>(const Tensor& x, const std::vector<Tensor>& initial,
                                        const std::vector<RecurrentWeights>& weights)>;
  std::vector<Tensor> run(const Tensor& x, const std::vector<State>& initial, const Layer& layer,
                          std::source_location w) const;
  RecurrentOptions function_options(const Tensor& x, const Tensor& lengths) const;
  std::int64_t state_size() const {
    return options_.projection > 0 ? options_.projection : hidden_;
  }

  std::int64_t hidden_;

 private:
  void add(int layer, bool is_reverse, std::int64_t gates, std::int64_t inputs);
  bool is_dropping(std::source_location w) const;

  std::string_view name_;
  std::int64_t inputs_;
  RecurrentLayerOptions options_;
  std::deque<RecurrentWeights> weights_;
  Guarded<bool> is_training_{true, "training"};
};

class Lstm : public RecurrentLayer {
 public:
  Lstm(std::int64_t inputs, std::int64_t hidden, const RecurrentLayerOptions& options = {},
       std::source_location w = std::source_location::current())
      : RecurrentLayer("lstm", 4, inputs, hidden, options, w) {}
  LstmResult forward(const Tensor& x, const LstmState& initial = {}, const Tensor& lengths = {},
                     std::source_location w = std::source_location::current()) const;
  LstmResult operator()(const Tensor& x, const LstmState& initial = {}, const Tensor& lengths = {},
                        std::source_location w = std::source_location::current()) const {
    return forward(x, initial, lengths, w);
  }
};

// Gives the output and the last hidden states.
class Gru : public RecurrentLayer {
 public:
  Gru(std::int64_t inputs, std::int64_t hidden, const RecurrentLayerOptions& options = {},
      std::source_location w = std::source_location::current())
      : RecurrentLayer("gru", 3, inputs, hidden, options, w) {}
  std::pair<Tensor, Tensor> forward(const Tensor& x, const Tensor& initial = {},
                                    const Tensor& lengths = {},
                                    std::source_location w = std::source_location::current()) const;
  std::pair<Tensor, Tensor> operator()(
      const Tensor& x, const Tensor& initial = {}, const Tensor& lengths = {},
      std::source_location w = std::source_location::current()) const {
    return forward(x, initial, lengths, w);
  }
};

enum class RnnActivation : std::uint8_t { tanh, relu };

// Gives the output and the last hidden states.
class Rnn : public RecurrentLayer {
 public:
  Rnn(std::int64_t inputs, std::int64_t hidden, const RecurrentLayerOptions& options = {},
      RnnActivation activation = RnnActivation::tanh,
      std::source_location w = std::source_location::current())
      : RecurrentLayer("rnn", 1, inputs, hidden, options, w), activation_(activation) {}
  std::pair<Tensor, Tensor> forward(const Tensor& x, const Tensor& initial = {},
                                    const Tensor& lengths = {},
                                    std::source_location w = std::source_location::current()) const;
  std::pair<Tensor, Tensor> operator()(
      const Tensor& x, const Tensor& initial = {}, const Tensor& lengths = {},
      std::source_location w = std::source_location::current()) const {
    return forward(x, initial, lengths, w);
  }

 private:
  RnnActivation activation_;
};

}  // namespace tilewright
