#include "tools/programs/training_losses.h"

#include <cmath>
#include <random>
#include <utility>

#include "graph/functions/convolving/convolution.h"
#include "graph/functions/pooling/pooling.h"
#include "graph/functions/reducing/norms.h"
#include "graph/tensor/capture.h"

namespace tilewright::tools {
namespace {

Tensor random_tensor(const Shape& shape, std::mt19937& random, float mean, float deviation) {
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float> elements(static_cast<std::size_t>(element_count(shape)));
  for (float& x : elements) x = normal(random);
  return Tensor::from(elements, shape);
}

Tensor random_ids(const Shape& shape, std::mt19937& random, std::int64_t below) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(element_count(shape)));
  for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random()) % below;
  return Tensor::from(ids, shape);
}

// Hands out the parameters of a network in the order of its code. The first run draws them.
class Parameters {
 public:
  explicit Parameters(const std::vector<Tensor>& given) : given_(&given) {}
  explicit Parameters(std::mt19937& random) : random_(&random) {}

  Tensor weight(const Shape& shape) {
    const auto rows = static_cast<float>(element_count(shape) / shape[0]);
    return next(shape, 0, 1 / std::sqrt(rows));
  }
  Tensor scale(std::int64_t size) { return next({size}, 1, 0.02F); }
  Tensor bias(std::int64_t size) { return next({size}, 0, 0.02F); }
  const std::vector<Tensor>& drawn() const { return drawn_; }

 private:
  Tensor next(const Shape& shape, float mean, float deviation) {
    if (given_ != nullptr) return (*given_)[next_++];
    drawn_.push_back(random_tensor(shape, *random_, mean, deviation));
    return drawn_.back();
  }

  const std::vector<Tensor>* given_ = nullptr;
  std::mt19937* random_ = nullptr;
  std::vector<Tensor> drawn_;
  std::size_t next_ = 0;
};

using Network = std::function<Tensor(Parameters& p, const std::vector<Tensor>& data)>;

TrainingLoss training_loss(const Network& network, std::vector<Tensor> data, std::mt19937& random) {
  Parameters drawing(random);
  {
    graph::Capture unused;  // the network's values are no matter, and are not computed
    unused.finish({network(drawing, data)});
  }
  return {drawing.drawn(), std::move(data),
          [network](const std::vector<Tensor>& parameters, const std::vector<Tensor>& batch) {
            Parameters p(parameters);
            return network(p, batch);
          }};
}

constexpr std::int64_t channels = 64, heads = 4, words = 256, tokens = 64, texts = 2;

Tensor normed(Parameters& p, const Tensor& x) {
  const Tensor scale = p.scale(channels);
  return layer_norm(x, scale, p.bias(channels));
}

Tensor projected(Parameters& p, const Tensor& x, std::int64_t from, std::int64_t to) {
  const Tensor weight = p.weight({to, from});
  return linear(x, weight, p.bias(to));
}

Tensor gpt2_layer(Parameters& p, const Tensor& x) {
  const Tensor qkv = projected(p, normed(p, x), channels, 3 * channels)
                         .reshape({texts, tokens, 3 * heads, channels / heads})
                         .transpose(1, 2);
  const Tensor seen =
      scaled_dot_product_attention(qkv.slice(1, 0, heads), qkv.slice(1, heads, 2 * heads),
                                   qkv.slice(1, 2 * heads, 3 * heads), {.causal = true});
  const Tensor joined = seen.transpose(1, 2).reshape({texts, tokens, channels});
  const Tensor attended = x + projected(p, joined, channels, channels);
  const Tensor inner = gelu(projected(p, normed(p, attended), channels, 4 * channels));
  return attended + projected(p, inner, 4 * channels, channels);
}

Tensor convolved(Parameters& p, const Tensor& x, std::int64_t to, std::int64_t kernel,
                 std::int64_t stride) {
  const Tensor weight = p.weight({to, x.shape()[1], kernel, kernel});
  const Tensor y = conv2d(x, weight, {}, {.stride = stride, .padding = kernel / 2});
  const Tensor scale = p.scale(to);
  return batch_norm_training(y, scale, p.bias(to)).output;
}

Tensor resnet_block(Parameters& p, const Tensor& x, std::int64_t to, std::int64_t stride) {
  const Tensor inner = relu(convolved(p, x, to, 3, stride));
  const Tensor outer = convolved(p, inner, to, 3, 1);
  return relu(outer + (x.shape()[1] == to ? x : convolved(p, x, to, 1, stride)));
}

}  // namespace

TrainingLoss gpt2_loss(std::int64_t layers) {
  std::mt19937 random(7);
  const Network network = [layers](Parameters& p, const std::vector<Tensor>& data) {
    const Tensor table = p.weight({words, channels});
    Tensor x = embedding(data[0], table) + p.weight({tokens, channels});
    for (std::int64_t i = 0; i < layers; ++i) x = gpt2_layer(p, x);
    const Tensor logits = linear(normed(p, x), table);
    return cross_entropy(logits.reshape({texts * tokens, words}), data[1]);
  };
  std::vector<Tensor> data = {random_ids({texts, tokens}, random, words),
                              random_ids({texts * tokens}, random, words)};
  return training_loss(network, std::move(data), random);
}

TrainingLoss resnet18_loss() {
  std::mt19937 random(7);
  const Network network = [](Parameters& p, const std::vector<Tensor>& data) {
    Tensor x = relu(convolved(p, data[0], 16, 7, 2));
    x = max_pool2d(x, 3, {.stride = 2, .padding = 1});
    for (std::int64_t stage = 0; stage < 4; ++stage)
      for (std::int64_t block = 0; block < 2; ++block)
        x = resnet_block(p, x, 16 << stage, stage > 0 && block == 0 ? 2 : 1);
    const Tensor pooled = mean(x, {2, 3});
    return cross_entropy(projected(p, pooled, 128, 10), data[1]);
  };
  std::vector<Tensor> data = {random_tensor({2, 3, 64, 64}, random, 0, 1),
                              random_ids({2}, random, 10)};
  return training_loss(network, std::move(data), random);
}

}  // namespace tilewright::tools
