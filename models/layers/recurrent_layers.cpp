#include "models/layers/recurrent_layers.h"

#include <cmath>
#include <string>

#include "graph/functions/random/random.h"
#include "graph/functions/shaping/joining.h"
#include "graph/ir/location.h"
#include "models/layers/random.h"
#include "runtime/base/error.h"

namespace tilewright {

using std::source_location;

RecurrentLayer::RecurrentLayer(std::string_view name, int gates, std::int64_t inputs,
                               std::int64_t hidden, const RecurrentLayerOptions& options,
                               source_location w)
    : hidden_(hidden), name_(name), inputs_(inputs), options_(options) {
  require(inputs > 0 && hidden > 0 && options.layers > 0, "[", name, "] ", inputs,
          " inputs, a hidden state of ", hidden, " and ", options.layers, " layers (at ",
          describe(w), "); all must be above 0");
  require(options.projection >= 0 && options.projection < hidden, "[", name, "] the projection is ",
          options.projection, " (at ", describe(w), "); it must be in [0, ", hidden, ")");
  require(options.projection == 0 || name == "lstm", "[", name, "] the projection is ",
          options.projection, " (at ", describe(w), "); only an Lstm has one");
  require(options.dropout >= 0 && options.dropout <= 1, "[", name, "] the dropout is ",
          options.dropout, " (at ", describe(w), "); it must be in [0, 1]");
  const std::int64_t directions = options.bidirectional ? 2 : 1;
  for (int layer = 0; layer < options.layers; ++layer)
    for (std::int64_t direction = 0; direction < directions; ++direction)
      add(layer, direction == 1, gates, layer == 0 ? inputs : directions * state_size());
}

void RecurrentLayer::add(int layer, bool is_reverse, std::int64_t gates, std::int64_t inputs) {
  const std::string suffix = concat("_l", layer, is_reverse ? "_reverse" : "");
  RecurrentWeights& weights = weights_.emplace_back();
  const double bound = 1 / std::sqrt(static_cast<double>(hidden_));
  auto make = [&](Tensor& tensor, const char* name, const Shape& shape) {
    tensor = Tensor::empty(shape, options_.layer.dtype, options_.layer.device);
    if (options_.layer.init == Init::random)
      fill_uniform(tensor, -bound, bound, next_random_stream());
    register_parameter(name + suffix, tensor);
  };
  make(weights.input, "weight_ih", {gates * hidden_, inputs});
  make(weights.hidden, "weight_hh", {gates * hidden_, state_size()});
  if (options_.bias) make(weights.input_bias, "bias_ih", {gates * hidden_});
  if (options_.bias) make(weights.hidden_bias, "bias_hh", {gates * hidden_});
  if (options_.projection > 0)
    make(weights.projection, "weight_hr", {options_.projection, hidden_});
}

void RecurrentLayer::train(bool is_training) {
  is_training_ = is_training;
  Module::train(is_training);
}

bool RecurrentLayer::is_dropping(source_location w) const {
  return options_.dropout > 0 && options_.layers > 1 && is_training_.get(w);
}

RecurrentOptions RecurrentLayer::function_options(const Tensor& x, const Tensor& lengths) const {
  RecurrentOptions options;
  if (lengths.defined())
    options.lengths = x.rank() == 2 && lengths.rank() == 0 ? lengths.unsqueeze(0) : lengths;
  options.bidirectional = options_.bidirectional;
  options.batch_first = options_.batch_first;
  return options;
}

std::vector<Tensor> RecurrentLayer::run(const Tensor& x, const std::vector<State>& initial,
                                        const Layer& layer, source_location w) const {
  require(x.defined() && (x.rank() == 2 || x.rank() == 3) && x.size(-1) == inputs_, "[", name_,
          "] ", path(), path().empty() ? "" : ": ", "the input is ",
          x.defined() ? to_string(x.shape()) : std::string("an undefined tensor"), " (at ",
          graph::At{w}, "); it must be ", options_.batch_first ? "[N, T, " : "[T, N, ", inputs_,
          "], or [T, ", inputs_, "]");
  const bool has_batch = x.rank() == 3;
  const int batch_axis = options_.batch_first ? 0 : 1;
  const Tensor sequences = has_batch ? x : x.unsqueeze(batch_axis, w);
  const std::int64_t directions = options_.bidirectional ? 2 : 1,
                     batch = sequences.size(batch_axis);
  std::vector<Tensor> states;
  for (const State& state : initial) {
    if (!state.given.defined()) {
      states.push_back({});
      continue;
    }
    const Tensor whole = has_batch ? state.given : state.given.unsqueeze(1, w);
    const Shape wanted = {options_.layers * directions, batch, state.size};
    require(whole.shape() == wanted, "[", name_, "] ", path(), path().empty() ? "" : ": ",
            "an initial state is ", state.given.shape(), " (at ", graph::At{w}, "); it must be [",
            wanted[0], has_batch ? concat(", ", batch) : "", ", ", state.size, "]");
    states.push_back(whole);
  }
  std::vector<Tensor> results;
  if (!is_dropping(w)) {
    results = layer(sequences, states, {weights_.begin(), weights_.end()});
  } else {
    Tensor y = sequences;
    std::vector<std::vector<Tensor>> last(initial.size());
    for (std::int64_t i = 0; i < options_.layers; ++i) {
      const auto first = weights_.begin() + i * directions;
      std::vector<Tensor> own;
      for (const Tensor& state : states)
        own.push_back(state.defined() ? state.slice(0, i * directions, (i + 1) * directions, 1, w)
                                      : Tensor());
      const std::vector<Tensor> one = layer(y, own, {first, first + directions});
      y = i + 1 == options_.layers ? one[0] : dropout({one[0], w}, options_.dropout, true);
      for (std::size_t k = 0; k < last.size(); ++k) last[k].push_back(one[1 + k]);
    }
    results = {y};
    for (const std::vector<Tensor>& parts : last) results.push_back(cat(parts, 0, w));
  }
  if (has_batch) return results;
  results[0] = results[0].squeeze(batch_axis, w);
  for (std::size_t i = 1; i < results.size(); ++i) results[i] = results[i].squeeze(1, w);
  return results;
}

LstmResult Lstm::forward(const Tensor& x, const LstmState& initial, const Tensor& lengths,
                         source_location w) const {
  const std::vector<Tensor> results = run(
      x, {{initial.hidden, state_size()}, {initial.cell, hidden_}},
      [&](const Tensor& rows, const std::vector<Tensor>& states,
          const std::vector<RecurrentWeights>& weights) -> std::vector<Tensor> {
        LstmResult r =
            lstm({rows, w}, {states[0], states[1]}, weights, function_options(x, lengths));
        return {r.output, r.hidden, r.cell};
      },
      w);
  return {results[0], results[1], results[2]};
}

std::pair<Tensor, Tensor> Gru::forward(const Tensor& x, const Tensor& initial,
                                       const Tensor& lengths, source_location w) const {
  const std::vector<Tensor> results = run(
      x, {{initial, hidden_}},
      [&](const Tensor& rows, const std::vector<Tensor>& states,
          const std::vector<RecurrentWeights>& weights) -> std::vector<Tensor> {
        auto [output, hidden] = gru({rows, w}, states[0], weights, function_options(x, lengths));
        return {output, hidden};
      },
      w);
  return {results[0], results[1]};
}

std::pair<Tensor, Tensor> Rnn::forward(const Tensor& x, const Tensor& initial,
                                       const Tensor& lengths, source_location w) const {
  const auto function = activation_ == RnnActivation::tanh ? rnn_tanh : rnn_relu;
  const std::vector<Tensor> results = run(
      x, {{initial, hidden_}},
      [&](const Tensor& rows, const std::vector<Tensor>& states,
          const std::vector<RecurrentWeights>& weights) -> std::vector<Tensor> {
        auto [output, hidden] =
            function({rows, w}, states[0], weights, function_options(x, lengths));
        return {output, hidden};
      },
      w);
  return {results[0], results[1]};
}

}  // namespace tilewright
