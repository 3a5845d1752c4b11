// Second and third derivatives of whole networks. Those of perceptrons are PyTorch's, in
// tests/models/training/mlp_ACTIVATION.safetensors: reverse mode over reverse mode in float64 by
// PyTorch 2.15, checked by central differences. The loss is the mean cross entropy of
// act(x w1 + b1) w2 + b2; `hessian` has the parameters w1, b1, w2, b2 flattened in this order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/pointwise/elementary.h"
#include "models/weights/safetensors.h"
#include "tests/source_folder.h"

namespace tilewright::higher_derivatives_test {
namespace {

using Tensors = std::vector<Tensor>;

constexpr const char* names[] = {"w1", "b1", "w2", "b2"};

double largest(const std::vector<double>& all) {
  double size = 0;
  for (double x : all) size = std::max(size, std::abs(x));
  return size;
}
// By the largest element.
void expect_close(const Tensor& got, const Tensor& wanted, double share) {
  ASSERT_EQ(got.count(), wanted.count());
  const auto a = got.to(Device::cpu()).to_vector<double>(), b = wanted.to_vector<double>();
  const double allowed = share * largest(b) + 1e-14;
  double far = 0;
  for (std::size_t i = 0; i < a.size(); ++i) far = std::max(far, std::abs(a[i] - b[i]));
  EXPECT_LE(far, allowed);
}

class Perceptron {
 public:
  explicit Perceptron(const std::string& activation)
      : file_(Safetensors::open(source_folder() / "tests/models/training" /
                                ("mlp_" + activation + ".safetensors"))),
        activation_(activation),
        x_(file_.tensor("in.x")),
        labels_(file_.tensor("in.labels")) {}

  Tensor of(const std::string& name) const { return file_.tensor(name); }
  // The four parts of a tensor or list in the file, also of "in." itself.
  Tensors parts(const std::string& prefix) const {
    Tensors all;
    for (const char* name : names) all.push_back(of(prefix + name));
    return all;
  }
  Tensor flat(const std::string& prefix) const {
    Tensors all = parts(prefix);
    for (Tensor& each : all) each = each.reshape({each.count()});
    return cat(all);
  }

  Tensor loss(const Tensor& parameters) const {
    const Tensors p = apart(parameters);
    return cross_entropy(scores(p, x_), labels_);
  }
  // The mean of (|d output 0 / d x| - 1)^2.
  Tensor penalty(const Tensor& parameters) const {
    const Tensors p = apart(parameters);
    const Tensor slope =
        grad([&](const Tensor& x) { return sum(scores(p, x).slice(1, 0, 1)); })(of("in.penalty_x"));
    return mean(square(sqrt(sum(square(slope), {1})) - 1.0));
  }

 private:
  Tensors apart(const Tensor& flat) const {
    Tensors all;
    std::int64_t next = 0;
    for (const Tensor& part : parts("in.")) {
      all.push_back(flat.slice(0, next, next + part.count()).reshape(part.shape()));
      next += part.count();
    }
    return all;
  }
  Tensor scores(const Tensors& p, const Tensor& x) const {
    const Tensor sums = matmul(x, p[0]) + p[1];
    const Tensor inner = activation_ == "tanh"   ? tanh(sums)
                         : activation_ == "gelu" ? gelu(sums)
                                                 : softplus(sums);
    return matmul(inner, p[2]) + p[3];
  }

  Safetensors file_;
  std::string activation_;
  Tensor x_, labels_;
};

class HigherDerivatives : public ::testing::TestWithParam<const char*> {};

TEST_P(HigherDerivatives, OfAPerceptronArePyTorchs) {
  const Perceptron network(GetParam());
  const Tensor p = network.flat("in."), v = network.flat("in.v.");
  auto loss = [&](const Tensor& t) { return network.loss(t); };
  auto curvature = [&](const Tensor& t) { return sum(hessian_vector_product(loss, t, v) * v); };
  expect_close(loss(p), network.of("loss"), 1e-12);
  expect_close(grad(loss)(p), network.flat("gradient."), 1e-12);
  expect_close(hessian(loss)(p), network.of("hessian"), 1e-10);
  expect_close(hessian_vector_product(loss, p, v), network.flat("hessian_vector."), 1e-10);
  expect_close(grad(curvature)(p), network.flat("gradient_of_curvature."), 1e-10);
  auto squared_norm = [&](const Tensor& t) { return sum(square(grad(loss)(t))); };
  expect_close(grad(squared_norm)(p), network.flat("gradient_of_squared_norm."), 1e-10);
  auto penalty = [&](const Tensor& t) { return network.penalty(t); };
  expect_close(penalty(p), network.of("penalty"), 1e-12);
  expect_close(grad(penalty)(p), network.flat("gradient_of_penalty."), 1e-10);
}

// The whole matrix and third derivatives, each one graph.
TEST_P(HigherDerivatives, OfAPerceptronAreTheSameCompiled) {
  const Perceptron network(GetParam());
  const Tensor p = network.flat("in."), direction = network.flat("in.v.");
  auto loss = [&](const Tensor& t) { return network.loss(t); };
  const Options whole{.fullgraph = true};
  auto matrix = compile([&](const Tensor& t) { return hessian(loss)(t); }, whole);
  expect_close(matrix(p), network.of("hessian"), 1e-10);
  auto third = compile(
      [&](const Tensor& t, const Tensor& v) {
        return grad([&](const Tensor& u) { return sum(hessian_vector_product(loss, u, v) * v); })(
            t);
      },
      whole);
  expect_close(third(p, direction), network.flat("gradient_of_curvature."), 1e-10);
}

INSTANTIATE_TEST_SUITE_P(Activations, HigherDerivatives,
                         ::testing::Values("tanh", "gelu", "softplus"),
                         [](const auto& info) { return std::string(info.param); });

constexpr std::int64_t channels = 8, heads = 2, tokens = 6, words = 11;

Tensor waves(const Shape& shape, double step) {
  std::vector<double> elements(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = 0.4 * std::sin(step * static_cast<double>(i + 1));
  return Tensor::from(elements, shape);
}

Tensors gpt_parameters(std::int64_t layers, double step) {
  Tensors p = {waves({words, channels}, step)};
  for (std::int64_t i = 0; i < layers; ++i)
    for (const Shape& shape : {Shape{3 * channels, channels}, Shape{channels, channels},
                               Shape{4 * channels, channels}, Shape{channels, 4 * channels}})
      p.push_back(waves(shape, step + 0.1 * static_cast<double>(p.size())));
  return p;
}

Tensor gpt_loss(const Tensors& p, const Tensor& ids, const Tensor& targets) {
  Tensor x = embedding(ids, p[0]);
  for (std::size_t next = 1; next < p.size(); next += 4) {
    const Tensor qkv = linear(layer_norm(x), p[next])
                           .reshape({1, tokens, 3 * heads, channels / heads})
                           .transpose(1, 2);
    auto part = [&](std::int64_t i) { return qkv.slice(1, i * heads, (i + 1) * heads); };
    const Tensor seen = scaled_dot_product_attention(part(0), part(1), part(2), {.causal = true});
    x = x + linear(seen.transpose(1, 2).reshape({tokens, channels}), p[next + 1]);
    x = x + linear(gelu(linear(layer_norm(x), p[next + 2])), p[next + 3]);
  }
  return cross_entropy(linear(layer_norm(x), p[0]), targets);
}

// Reverse over reverse as one graph, forward over reverse, and differences of gradients agree.
TEST(HessianVectorProducts, OfAGptAreOneGraph) {
  const Tensors p = gpt_parameters(4, 0.7), v = gpt_parameters(4, 1.3);
  const Tensor ids = Tensor::from(std::vector<std::int64_t>{3, 1, 4, 1, 5, 9}),
               targets = Tensor::from(std::vector<std::int64_t>{1, 4, 1, 5, 9, 2});
  auto loss = [&](const Tensors& t) { return gpt_loss(t, ids, targets); };
  auto compiled =
      compile([&](const Tensors& t,
                  const Tensors& along) { return hessian_vector_product(loss, t, along); },
              {.fullgraph = true});
  const Tensors product = compiled(p, v), forward = jvp(grad(loss), p, v).second;
  ASSERT_EQ(compiled.report().size(), 1U);
  constexpr double step = 1e-5;
  auto moved = [&](double by) {
    Tensors all;
    for (std::size_t i = 0; i < p.size(); ++i) all.push_back(p[i] + v[i] * by);
    return grad(loss)(all);
  };
  const Tensors ahead = moved(step), behind = moved(-step);
  ASSERT_EQ(product.size(), p.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    expect_close(product[i], forward[i].to(Device::cpu()), 1e-10);
    expect_close((ahead[i] - behind[i]) / (2 * step), product[i].to(Device::cpu()), 1e-6);
  }
}

}  // namespace
}  // namespace tilewright::higher_derivatives_test
