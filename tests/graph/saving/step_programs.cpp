#include "tests/graph/saving/step_programs.h"

#include "graph/differentiating/differentiate.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/pooling/pooling.h"
#include "graph/functions/random/generator.h"
#include "graph/functions/random/random.h"
#include "graph/functions/reducing/element_losses.h"
#include "tests/graph/derivatives/gradient_cases.h"

namespace tilewright::testing_steps {
namespace {

Tensor numbers(const Shape& shape, std::size_t seed) {
  return testing_gradients::tensor_of({shape, -0.3, 0.3}, seed).to(f32);
}
Tensor integers(const Shape& shape, std::int64_t below) {
  std::vector<std::int64_t> elements;
  for (std::int64_t i = 0; i < element_count(shape); ++i) elements.push_back(i * 7 % below);
  return Tensor::from(elements, shape);
}

constexpr std::int64_t batch = 4, context = 32, width = 32, heads = 4, characters = 50;
constexpr std::size_t blocks = 3, weights_of_block = 4;

Tensor attended(const Tensor& x, const Tensor& qkv, const Tensor& projection) {
  const Tensor all = matmul(x, qkv).reshape({batch, context, 3, heads, width / heads});
  const auto part = [&](std::int64_t i) { return all.select(2, i).permute({0, 2, 1, 3}); };
  const Tensor y = scaled_dot_product_attention(part(0), part(1), part(2), {.causal = true});
  return matmul(y.permute({0, 2, 1, 3}).reshape({batch, context, width}), projection);
}

Tensor block(const Tensor& x, const Tensors& p, std::size_t first, const Generator& generator) {
  const Tensor middle =
      x + dropout(attended(layer_norm(x), p[first], p[first + 1]), 0.2, true, generator);
  const Tensor wide = gelu(matmul(layer_norm(middle), p[first + 2]));
  return middle + dropout(matmul(wide, p[first + 3]), 0.2, true, generator);
}

Tensors weights_of_gpt() {
  Tensors p = {numbers({characters, width}, 1), numbers({context, width}, 2)};
  for (std::size_t i = 0; i < blocks; ++i)
    for (const Shape& shape : {Shape{width, 3 * width}, Shape{width, width},
                               Shape{width, 4 * width}, Shape{4 * width, width}})
      p.push_back(numbers(shape, p.size() + 1));
  return p;
}

// Over the batch and the axes of an image.
Tensor normed(const Tensor& x) {
  const Tensor centred = x - mean(x, {0, 2, 3}, true);
  return centred * rsqrt(mean(centred * centred, {0, 2, 3}, true) + 1e-5);
}

}  // namespace

std::function<Tensors(const Tensors&)> StepProgram::gradients() const {
  return [loss = loss, p = parameters](const Tensors& given) {
    auto [value, gradients] =
        value_and_grad([&](const Tensors& each) { return loss(each, given); })(p);
    gradients.push_back(value);
    return gradients;
  };
}

std::function<Tensors(const Tensors&)> StepProgram::descent() const {
  return [loss = loss, p = parameters](const Tensors& given) mutable {
    auto [value, gradients] =
        value_and_grad([&](const Tensors& each) { return loss(each, given); })(p);
    for (std::size_t i = 0; i < p.size(); ++i) p[i].copy_from(p[i] - gradients[i] * 0.1);
    return Tensors{value};
  };
}

StepProgram mlp() {
  StepProgram program{"mlp", {}, {numbers({64, 48}, 1), numbers({64, 8}, 2)}, {}};
  for (const Shape& shape : {Shape{48, 64}, Shape{64, 64}, Shape{64, 64}, Shape{64, 8}})
    program.parameters.push_back(numbers(shape, program.parameters.size()));
  program.loss = [](const Tensors& p, const Tensors& data) {
    Tensor h = data[0];
    for (std::size_t i = 0; i + 1 < p.size(); ++i) h = tanh(matmul(h, p[i])) * 1.5;
    return mse_loss(matmul(h, p.back()), data[1]);
  };
  return program;
}

StepProgram cnn() {
  StepProgram program{"cnn", {}, {numbers({8, 1, 16, 16}, 1), integers({8}, 10)}, {}};
  program.parameters = {numbers({8, 1, 3, 3}, 1), numbers({16, 8, 3, 3}, 2),
                        numbers({16 * 16, 10}, 3)};
  program.loss = [](const Tensors& p, const Tensors& data) {
    Tensor x = relu(normed(conv2d(data[0], p[0], {}, {.padding = {1, 1}})));
    x = max_pool2d(x, {2, 2});
    x = max_pool2d(relu(normed(conv2d(x, p[1], {}, {.padding = {1, 1}}))), {2, 2});
    return cross_entropy(matmul(x.reshape({8, 16 * 16}), p[2]), data[1]);
  };
  return program;
}

StepProgram gpt() {
  StepProgram program{"gpt", weights_of_gpt(), {}, {}};
  program.data = {integers({batch, context}, characters), integers({batch * context}, characters)};
  program.loss = [generator = Generator(5)](const Tensors& p, const Tensors& data) {
    Tensor x = embedding(data[0], p[0]) + p[1];
    for (std::size_t i = 0; i < blocks; ++i) x = block(x, p, 2 + i * weights_of_block, generator);
    const Tensor scores = matmul(layer_norm(x), p[0].t()).reshape({batch * context, characters});
    return cross_entropy(scores, data[1]);
  };
  return program;
}

StepProgram lstm() {
  StepProgram program{"lstm", {}, {numbers({12, 8, 16}, 1)}, {}};
  program.parameters = {numbers({16, 4 * 24}, 1), numbers({24, 4 * 24}, 2), numbers({24, 1}, 3)};
  program.loss = [](const Tensors& p, const Tensors& data) {
    const auto turn = [&](const Tensors& state, const Tensors& at) -> Turn {
      const Tensor gates = matmul(at[0], p[0]) + matmul(state[0], p[1]);
      const auto gate = [&](std::int64_t i) { return gates.slice(1, i * 24, (i + 1) * 24); };
      const Tensor cell = sigmoid(gate(0)) * state[1] + sigmoid(gate(1)) * tanh(gate(2));
      const Tensor hidden = sigmoid(gate(3)) * tanh(cell);
      return {{hidden, cell}, {sum(hidden)}};
    };
    const Tensor start = zeros({8, 24}, f32);
    auto [last, sums] = scan(turn, {start, start}, {data[0]});
    return mean(square(matmul(tanh(last[0]), p[2]))) + mean(sums[0]);
  };
  return program;
}

std::vector<StepProgram> step_programs() { return {mlp(), cnn(), gpt(), lstm()}; }

}  // namespace tilewright::testing_steps
