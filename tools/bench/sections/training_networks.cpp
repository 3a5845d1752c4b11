#include "tools/bench/sections/training_networks.h"

#include <deque>
#include <optional>

#include "graph/functions/random/random.h"
#include "models/layers/containers.h"
#include "models/layers/convolutions.h"
#include "models/layers/norms.h"
#include "models/layers/recurrent_layers.h"
#include "models/layers/stateless.h"
#include "models/optimizers/rules/adam.h"
#include "models/optimizers/rules/sgd.h"

namespace tilewright::tools {
namespace {

struct GptSizes {
  std::int64_t layers, width, heads, vocabulary, positions, batch;
  bool bias;  // of norms and linear layers
  bool tanh;  // GELU's form
  double deviation = 0.02;
};

struct GptLayer : Module {
  Norm ln_1, ln_2;
  Linear attn, proj, up, down;
  GptSizes sizes;
  explicit GptLayer(const GptSizes& s)
      : ln_1(norm_of(s), s.width, 1e-5),
        ln_2(norm_of(s), s.width, 1e-5),
        attn(s.width, 3 * s.width, s.bias),
        proj(s.width, s.width, s.bias),
        up(s.width, 4 * s.width, s.bias),
        down(4 * s.width, s.width, s.bias),
        sizes(s) {
    register_module("ln_1", ln_1);
    register_module("attn", attn);
    register_module("proj", proj);
    register_module("ln_2", ln_2);
    register_module("up", up);
    register_module("down", down);
  }
  static NormKind norm_of(const GptSizes& s) {
    return s.bias ? NormKind::layer : NormKind::layer_no_bias;
  }
  // `added`: to the projection to queries, keys and values, of the same rows.
  Tensor forward(const Tensor& x, const std::function<Tensor(const Tensor&)>& added = {}) const {
    const std::int64_t rows = x.size(0), length = x.size(1), width = sizes.width;
    const Tensor normed = ln_1(x), own = attn(normed), all = added ? own + added(normed) : own;
    const Tensor split = all.reshape({rows, length, 3, sizes.heads, width / sizes.heads});
    auto part = [&](int i) { return split.select(2, i).permute({0, 2, 1, 3}); };
    const Tensor mixed = scaled_dot_product_attention(part(0), part(1), part(2), {.causal = true});
    const Tensor y = x + proj(mixed.permute({0, 2, 1, 3}).reshape({rows, length, width}));
    return y + down(gelu(up(ln_2(y)), sizes.tanh ? GeluForm::tanh : GeluForm::erf));
  }
};

struct Gpt : Module {
  Embedding tokens, positions;
  std::deque<GptLayer> layers;
  Norm final_norm;
  explicit Gpt(const GptSizes& s)
      : tokens(s.vocabulary, s.width),
        positions(s.positions, s.width),
        final_norm(GptLayer::norm_of(s), s.width, 1e-5) {
    register_module("tokens", tokens);
    register_module("positions", positions);
    for (std::int64_t i = 0; i < s.layers; ++i)
      register_module(concat("layers.", i), layers.emplace_back(s));
    register_module("final_norm", final_norm);
    tokens.weight.copy_from(tokens.weight * s.deviation);
    positions.weight.copy_from(positions.weight * s.deviation);
  }
  Tensor forward(const Tensor& ids) const {
    return forward(
        ids, [](const GptLayer& layer, std::size_t, const Tensor& x) { return layer.forward(x); });
  }
  // `apply(layer, number, x)` is the output of a layer.
  template <typename Apply>
  Tensor forward(const Tensor& ids, const Apply& apply) const {
    Tensor x = tokens(ids) + positions.weight.slice(0, 0, ids.size(1));
    for (std::size_t i = 0; i < layers.size(); ++i) x = apply(layers[i], i, x);
    return linear(final_norm(x), tokens.weight).reshape({-1, tokens.weight.size(0)});
  }
};

// An update of low rank (LoRA, Hu et al., 2021): scale * B A x, where B begins as 0.
struct LowRankUpdate : Module {
  Linear a, b;
  double scale;
  LowRankUpdate(std::int64_t in, std::int64_t out, std::int64_t rank, double scale)
      : a(in, rank, false), b(rank, out, false), scale(scale) {
    register_module("a", a);
    register_module("b", b);
    b.weight.copy_from(zeros({out, rank}));
  }
  Tensor operator()(const Tensor& x) const { return b(a(x)) * scale; }
};

// A GPT of which only updates of its attention's first projections are trained, as PEFT's LoRA of
// rank 8 does for GPT-2. The GPT's own weights are buffers.
struct AdaptedGpt : Module {
  Gpt gpt;
  std::vector<NamedParameter> frozen = gpt.named_parameters();
  std::deque<LowRankUpdate> updates;
  explicit AdaptedGpt(const GptSizes& s, std::int64_t rank) : gpt(s) {
    for (const NamedParameter& weight : frozen) register_buffer(weight.tensor);
    for (std::int64_t i = 0; i < s.layers; ++i)
      register_module(concat("updates.", i), updates.emplace_back(s.width, 3 * s.width, rank, 2.0));
  }
  Tensor forward(const Tensor& ids) const {
    return gpt.forward(ids, [&](const GptLayer& layer, std::size_t i, const Tensor& x) {
      return layer.forward(x, [&](const Tensor& normed) { return updates[i](normed); });
    });
  }
};

struct RecurrentClassifier : Module {
  Lstm lstm;
  Linear output;
  RecurrentClassifier(std::int64_t inputs, std::int64_t hidden)
      : lstm(inputs, hidden), output(hidden, 10) {
    register_module("lstm", lstm);
    register_module("output", output);
  }
  Tensor forward(const Tensor& x) const {
    const LstmResult result = lstm(x);
    return output(result.hidden.select(0, 0));
  }
};

struct BasicBlock : Module {
  Conv2d conv1, conv2;
  BatchNorm2d bn1, bn2;
  std::optional<Conv2d> downsample;
  std::optional<BatchNorm2d> downsample_norm;
  BasicBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1(in, out, 3, {.stride = {stride}, .padding = {1}, .bias = false}),
        conv2(out, out, 3, {.padding = {1}, .bias = false}),
        bn1(out),
        bn2(out) {
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    register_module("conv2", conv2);
    register_module("bn2", bn2);
    if (stride == 1 && in == out) return;
    downsample.emplace(in, out, 1, ConvolutionLayerOptions{.stride = {stride}, .bias = false});
    downsample_norm.emplace(out);
    register_module("downsample", *downsample);
    register_module("downsample_norm", *downsample_norm);
  }
  Tensor forward(const Tensor& x) const {
    const Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
    return relu(y + (downsample ? (*downsample_norm)((*downsample)(x)) : x));
  }
};

// He et al., 2015, with `width` channels behind the first convolution, 64 in the paper.
std::shared_ptr<Module> resnet18(std::int64_t width, std::int64_t classes,
                                 std::function<Tensor(const Tensor&)>& forward) {
  auto net = std::make_shared<Sequential>();
  net->add<Conv2d>(3, width, 7, {.stride = {2}, .padding = {3}, .bias = false});
  net->add<BatchNorm2d>(width);
  net->add<Relu>();
  net->add<MaxPool2d>(3, MaxPoolOptions{.stride = {2}, .padding = {1}});
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    const std::int64_t out = width << stage, in = stage == 0 ? width : out / 2;
    net->add<BasicBlock>(in, out, stage == 0 ? 1 : 2);
    net->add<BasicBlock>(out, out, 1);
  }
  net->add<AdaptiveAvgPool2d>(1);
  net->add<Flatten>();
  net->add<Linear>(8 * width, classes);
  forward = [net = net.get()](const Tensor& x) { return net->forward(x); };
  return net;
}

Tensor labels(std::int64_t count, std::int64_t classes) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(i * 7919 % classes);
  return Tensor::from(all, {count});
}

Tensor images(const Shape& shape) { return randn(shape, f32, Generator(7)).clone(); }

// `rank`: of updates that alone are trained; 0: all weights are.
TrainedNetwork gpt_network(const std::string& name, const GptSizes& s, double clip,
                           std::int64_t rank = 0) {
  TrainedNetwork network{.name = name, .clip = clip};
  auto train = [&](auto module) {
    network.module = module;
    network.loss = [net = module.get()](const Tensor& x, const Tensor& y) {
      return cross_entropy(net->forward(x), y);
    };
  };
  if (rank > 0)
    train(std::make_shared<AdaptedGpt>(s, rank));
  else
    train(std::make_shared<Gpt>(s));
  network.question = {{"network", "gpt"},
                      {"layers", s.layers},
                      {"hidden", s.width},
                      {"heads", s.heads},
                      {"vocabulary", s.vocabulary},
                      {"positions", s.positions},
                      {"batch", s.batch},
                      {"bias", s.bias},
                      {"tanh", s.tanh},
                      {"rank", rank},
                      {"clip", clip}};
  const std::int64_t count = s.batch * s.positions;
  network.x = labels(count, s.vocabulary).reshape({s.batch, s.positions});
  network.y = labels(count, s.vocabulary);
  network.optimizer = std::make_unique<AdamW>(
      *network.module, AdamWOptions{.lr = 1e-3, .betas = {0.9, 0.99}, .weight_decay = 0.1});
  return network;
}

TrainedNetwork mlp_network(std::int64_t batch) {
  auto module = std::make_shared<Sequential>();
  module->add<Linear>(64, 64);
  module->add<Relu>();
  module->add<Linear>(64, 32);
  module->add<Relu>();
  module->add<Linear>(32, 10);
  TrainedNetwork network{.name = "digits MLP", .module = module};
  network.question = {{"network", "mlp"}, {"batch", batch}};
  network.loss = [net = module.get()](const Tensor& x, const Tensor& y) {
    return cross_entropy(net->forward(x), y);
  };
  network.x = images({batch, 64});
  network.y = labels(batch, 10);
  network.optimizer = std::make_unique<Sgd>(*module, SgdOptions{.lr = 0.01, .momentum = 0.9});
  return network;
}

TrainedNetwork lstm_network(std::int64_t turns, std::int64_t batch, std::int64_t inputs,
                            std::int64_t hidden) {
  auto module = std::make_shared<RecurrentClassifier>(inputs, hidden);
  TrainedNetwork network{.name = concat("LSTM ", turns, " turns"), .module = module};
  network.question = {{"network", "lstm"},
                      {"turns", turns},
                      {"batch", batch},
                      {"inputs", inputs},
                      {"hidden", hidden}};
  network.loss = [net = module.get()](const Tensor& x, const Tensor& y) {
    return cross_entropy(net->forward(x), y);
  };
  network.x = images({turns, batch, inputs});
  network.y = labels(batch, 10);
  network.optimizer = std::make_unique<AdamW>(*module, AdamWOptions{.lr = 1e-3});
  return network;
}

TrainedNetwork resnet_network(std::int64_t width, std::int64_t batch, std::int64_t size) {
  std::function<Tensor(const Tensor&)> forward;
  TrainedNetwork network{.name = concat("ResNet-18 batch ", batch)};
  network.module = resnet18(width, 1000, forward);
  network.question = {{"network", "resnet18"}, {"width", width}, {"batch", batch}, {"size", size}};
  network.loss = [forward](const Tensor& x, const Tensor& y) {
    return cross_entropy(forward(x), y);
  };
  network.x = images({batch, 3, size, size});
  network.y = labels(batch, 1000);
  network.optimizer =
      std::make_unique<Sgd>(*network.module, SgdOptions{.lr = 0.01, .momentum = 0.9});
  return network;
}

}  // namespace

std::vector<std::pair<std::string, NetworkMaker>> training_networks(bool tiny) {
  const GptSizes small{1, 16, 2, 20, 8, 2, true, true};
  if (tiny)
    return {{"GPT tiny", [=] { return gpt_network("GPT tiny", small, 1); }},
            {"GPT tiny adapters", [=] { return gpt_network("GPT tiny adapters", small, 1, 2); }},
            {"digits MLP", [] { return mlp_network(4); }},
            {"LSTM 3 turns", [] { return lstm_network(3, 2, 4, 8); }}};
  const GptSizes characters{4, 128, 4, 65, 64, 12, false, false},
      gpt2{12, 768, 12, 50257, 256, 1, true, true};
  return {{"digits MLP", [] { return mlp_network(64); }},
          {"character GPT 12x64", [=] { return gpt_network("character GPT", characters, 1); }},
          {"LSTM 128 turns", [] { return lstm_network(128, 16, 64, 128); }},
          {"ResNet-18 batch 8", [] { return resnet_network(64, 8, 224); }},
          {"GPT-2 124M 1x256", [=] { return gpt_network("GPT-2 124M", gpt2, 1); }},
          {"GPT-2 124M adapters 1x256",
           [=] { return gpt_network("GPT-2 124M adapters", gpt2, 1, 8); }}};
}

}  // namespace tilewright::tools
