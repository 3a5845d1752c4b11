// Functions whose values are computed again for their derivative: the same bits for less memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/random/generator.h"
#include "graph/functions/random/random.h"
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"
#include "tests/graph/derivatives/doubles.h"
#include "tests/graph/derivatives/gradient_cases.h"

namespace tilewright::checkpoint_test {
namespace {

using testing_doubles::values;
using testing_gradients::tensor_of;
using Tensors = std::vector<Tensor>;
using Layer = std::function<Tensor(const Tensor& x, const Tensor& weight)>;
using Loss = std::function<Tensor(const Tensor& x, const Tensors& weights)>;

Tensor numbers(const Shape& shape, std::size_t seed) {
  return tensor_of({shape, -0.5, 0.5}, seed).to(f32);
}

// x goes three ways, so that its cotangents are summed inside and outside of the layer.
Tensor layer(const Tensor& x, const Tensor& weight) {
  const Tensor h = tanh(matmul(x, weight));
  const Tensor gate = sigmoid(matmul(x * h, weight));
  return x + sin(h * gate) * exp(-gate);
}
Layer checkpointed(const Layer& of) {
  return
      [again = checkpoint(of)](const Tensor& x, const Tensor& weight) { return again(x, weight); };
}
Loss chain(const Layer& of) {
  return [of](const Tensor& x, const Tensors& weights) {
    Tensor h = x;
    for (const Tensor& weight : weights) h = of(h, weight);
    return mean(h * h);
  };
}

// The gradients by the input and the weights.
Tensors gradients(const Loss& loss, const Tensor& x, const Tensors& weights) {
  auto [of_x, of_weights] = grad<0, 1>(loss)(x, weights);
  of_weights.push_back(of_x);
  return of_weights;
}
Tensors weights_of(std::size_t layers, std::int64_t size) {
  Tensors weights;
  for (std::size_t i = 0; i < layers; ++i) weights.push_back(numbers({size, size}, i));
  return weights;
}
void expect_same_bits(const Tensors& got, const Tensors& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(values(got[i]), values(wanted[i])) << i;
}
void expect_same_gradients(const Loss& loss, const Loss& wanted, const Tensor& x,
                           const Tensors& weights) {
  expect_same_bits(gradients(loss, x, weights), gradients(wanted, x, weights));
  auto compiled = compile([&](const Tensor& t, const Tensors& w) { return gradients(loss, t, w); });
  auto plain = compile([&](const Tensor& t, const Tensors& w) { return gradients(wanted, t, w); });
  expect_same_bits(compiled(x, weights), plain(x, weights));
}

TEST(Checkpoint, GradientsAreTheSameBits) {
  expect_same_gradients(chain(checkpointed(layer)), chain(layer), numbers({16, 32}, 90),
                        weights_of(5, 32));
}

TEST(Checkpoint, NestedOnesGiveTheSameBits) {
  const auto twice = [](const Layer& of) -> Layer {
    return [of](const Tensor& x, const Tensor& w) { return of(of(x, w) * 0.5, w) + x; };
  };
  expect_same_gradients(chain(checkpointed(twice(checkpointed(layer)))), chain(twice(layer)),
                        numbers({8, 16}, 91), weights_of(3, 16));
}

TEST(Checkpoint, BodiesMayHaveThem) {
  const auto looping = [](const Layer& of) -> Loss {
    return [of](const Tensor& x, const Tensors& weights) {
      auto turn = [&](const Tensors& state, const Tensors& at) -> Turn {
        const Tensor h = of(state[0], at[0]);
        return {{h}, {sum(h)}};
      };
      auto [last, sums] =
          scan(turn, {x}, {cat({weights[0].unsqueeze(0), weights[1].unsqueeze(0)})});
      const Tensor chosen = cond(
          sums[0].select(0, 0) > -100,
          [&](const Tensors& t) { return Tensors{of(t[0], weights[2])}; },
          [&](const Tensors& t) { return Tensors{t[0] * 2}; }, {last[0]})[0];
      return mean(chosen * chosen) + sum(sums[0]);
    };
  };
  expect_same_gradients(looping(checkpointed(layer)), looping(layer), numbers({8, 16}, 92),
                        weights_of(3, 16));
}

// Values that are computed again have cotangents of their own, which are summed in another order.
TEST(Checkpoint, SecondDerivativesDifferByTheOrderOfSumsAlone) {
  const Tensor x = numbers({4, 8}, 93).to(f64);
  const Tensors weights = {numbers({8, 8}, 1).to(f64)};
  auto second = [&](const Layer& of) {
    auto loss = [&](const Tensor& t) { return chain(of)(t, weights); };
    return hessian_vector_product(loss, x, x);
  };
  testing_doubles::expect_values(second(checkpointed(layer)), values(second(layer)), 1e-16);
}

std::ptrdiff_t tanhs(const Loss& loss, std::size_t layers) {
  graph::Capture capture;
  Tensors symbols;
  for (std::size_t i = 0; i < layers; ++i) symbols.push_back(capture.placeholder(f32, {8, 8}));
  const Tensor x = capture.placeholder(f32, {4, 8});
  const graph::Graph graph = capture.finish(gradients(loss, x, symbols)).graph;
  return std::ranges::count(graph::run_passes(graph).nodes, graph::Op::tanh, &graph::Node::op);
}

TEST(Checkpoint, EqualValuesAreNotMadeOne) {
  EXPECT_EQ(tanhs(chain(layer), 3), 3);
  EXPECT_EQ(tanhs(chain(checkpointed(layer)), 3), 6);
  // With two within another, each is computed again for its own derivative, and the first one
  // before that for the second.
  const auto two = [](const Layer& of) -> Layer {
    return [of](const Tensor& x, const Tensor& w) { return of(of(x, w), w); };
  };
  EXPECT_EQ(tanhs(chain(two(layer)), 3), 6);
  EXPECT_EQ(tanhs(chain(checkpointed(two(checkpointed(layer)))), 3), 15);
}

// Without checkpoints each layer keeps five values of the input's size.
TEST(Checkpoint, AChainOfLayersTakesLessMemory) {
  const Tensor x = numbers({64, 32}, 94);
  const Tensors weights = weights_of(12, 32);
  auto planned = [&](const Loss& loss) {
    auto compiled =
        compile([&](const Tensor& t, const Tensors& w) { return gradients(loss, t, w); },
                {.fullgraph = true});
    compiled(x, weights);
    return std::pair{compiled.report()[0].arena_bytes, compiled.explain()};
  };
  const auto [kept, plain_text] = planned(chain(layer));
  const auto [again, text] = planned(chain(checkpointed(layer)));
  EXPECT_LT(2 * again, kept);
  expect_contains(text, "region checkpoint: called 12 times");
  EXPECT_EQ(plain_text.find("region checkpoint"), std::string::npos);
}

TEST(Checkpoint, DrawsAreTheSameAgain) {
  const Tensor x = numbers({8, 8}, 95);
  auto gradient = [&](bool again) {
    Generator generator(3);
    const std::function<Tensor(const Tensor&)> noisy = [&](const Tensor& t) {
      return tanh(t * rand({8, 8}, f32, generator)) * rand({8, 8}, f32, generator);
    };
    const auto marked = checkpoint(noisy);
    auto loss = [&](const Tensor& t) { return sum(square(again ? marked(t) : noisy(t))); };
    const auto at_once = values(grad(loss)(x));
    auto compiled = compile([&](const Tensor& t) { return grad(loss)(t); });
    return std::tuple{at_once, values(compiled(x)), values(rand({4}, f32, generator))};
  };
  EXPECT_EQ(gradient(true), gradient(false));
}

TEST(Checkpoint, WithoutADerivativeItIsTheFunction) {
  const Tensor x = numbers({4, 8}, 96), weight = numbers({8, 8}, 2);
  const Layer marked = checkpointed(layer);
  EXPECT_EQ(values(marked(x, weight)), values(layer(x, weight)));
  auto compiled = compile(checkpoint(layer), {.fullgraph = true}), plain = compile(layer);
  EXPECT_EQ(values(compiled(x, weight)), values(plain(x, weight)));
  EXPECT_TRUE(compiled.report()[0].marked.empty());
}

TEST(Checkpoint, TheTextOfACallReadsBack) {
  graph::Capture capture;
  Tensors symbols = {capture.placeholder(f32, {4, 8}), capture.placeholder(f32, {8, 8})};
  auto called = [&] { return Tensors{checkpoint(layer)(symbols[0], symbols[1])}; };
  const graph::Graph graph = capture.finish(called()).graph;
  const std::string text = graph::print(graph);
  expect_contains(text, "custom=checkpoint(body=<");
  EXPECT_EQ(graph::print(graph::parse(text)), text);
}

TEST(Checkpoint, MisuseIsAnErrorWithTheLine) {
  const Tensor x = numbers({4}, 97);
  auto writes = checkpoint([](Tensor t) {
    t.add_(1);
    return sum(t);
  });
  expect_contains(error_of([&] { grad(writes)(x); }),
                  "[checkpoint] the function writes an argument in place (at ");
}

}  // namespace
}  // namespace tilewright::checkpoint_test
