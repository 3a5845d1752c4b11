// The cost of compiling gradients: equal layers have the same programs backwards too, and rules of
// functions leave few programs to a layer.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/compile/compile.h"
#include "graph/derivatives/joined_slices.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/reducing/norms.h"
#include "tests/graph/derivatives/gradient_cases.h"

namespace tilewright::repeated_layers_test {
namespace {

using testing_gradients::tensor_of;
using testing_gradients::Tensors;

constexpr std::int64_t channels = 8, heads = 2, tokens = 16;
constexpr std::size_t parameters_of_layer = 4;

// Causal attention of slices of one product, and a product with an activation.
Tensor layer(const Tensors& p, std::size_t first, const Tensor& x) {
  const Tensor qkv = linear(layer_norm(x), p[first])
                         .reshape({1, tokens, 3 * heads, channels / heads})
                         .transpose(1, 2);
  auto part = [&](std::int64_t i) { return qkv.slice(1, i * heads, (i + 1) * heads); };
  const Tensor seen = scaled_dot_product_attention(part(0), part(1), part(2), {.causal = true});
  const Tensor joined = seen.transpose(1, 2).reshape({tokens, channels});
  const Tensor attended = x + linear(joined, p[first + 1]);
  return attended + linear(gelu(linear(layer_norm(attended), p[first + 2])), p[first + 3]);
}

PlanReport report_of_gradient(std::size_t layers) {
  Tensors p;
  const Shape shapes[] = {{3 * channels, channels},
                          {channels, channels},
                          {4 * channels, channels},
                          {channels, 4 * channels}};
  for (std::size_t i = 0; i < layers * parameters_of_layer; ++i)
    p.push_back(tensor_of({shapes[i % parameters_of_layer], -0.5, 0.5}, i).to(f32));
  const Tensor x = tensor_of({{tokens, channels}, -1, 1}, 99).to(f32);
  auto loss = [layers](const Tensors& all, const Tensor& input) {
    Tensor y = input;
    for (std::size_t i = 0; i < layers; ++i) y = layer(all, i * parameters_of_layer, y);
    return sum(y * y);
  };
  auto step = compile(
      [&](const Tensors& all, const Tensor& input) { return value_and_grad(loss)(all, input); });
  step(p, x);
  return step.report().at(0);
}

TEST(RepeatedLayers, HaveTheSameProgramsBackwards) {
  // From four on they are seen to repeat; before that the last may be fused into what follows it.
  const PlanReport three = report_of_gradient(3), five = report_of_gradient(5),
                   nine = report_of_gradient(9);
  EXPECT_EQ(nine.regions.size(), five.regions.size());
  EXPECT_LE(nine.regions.size(), three.regions.size() + 1);
  const auto in_all = std::ranges::count_if(
      nine.regions, [](const RegionReport& region) { return region.instances == 9; });
  EXPECT_GE(in_all, 9);  // the others begin or end the stretch of layers
}

// The first statistics are a result too; running ones are written from them.
TEST(RepeatedLayers, NormalisedByTheBatchPassXTwiceBackwards) {
  const Tensor x = tensor_of({{4, 3, 5, 5}, -1, 1}, 1).to(f32);
  auto loss = [](const Tensor& input) { return sum(square(batch_norm_training(input).output)); };
  auto gradient = compile([&](const Tensor& input) { return grad(loss)(input); });
  gradient(x);
  EXPECT_LE(gradient.report().at(0).launches, 9);
}

TEST(JoinedSlices, AreOneValueWhereTheyDoNotOverlap) {
  graph::Graph whole;
  graph::GraphBuilder builder(whole);
  const graph::Term like{&builder, builder.input(f32, {2, 3})};
  auto in_zeros = [&](std::int64_t before, std::int64_t behind) {
    std::vector<graph::Term> parts;
    for (std::int64_t gap : {before, std::int64_t{-1}, behind}) {
      if (gap < 0) parts.push_back(like);
      if (gap > 0) parts.push_back({&builder, builder.full(f32, {2, gap}, 0)});
    }
    std::vector<graph::NodeId> ids;
    for (const graph::Term& part : parts) ids.push_back(part.id);
    return like.make(graph::Op::cat, ids, {.axes = {1}, .sizes = {}});
  };
  const graph::Term other{&builder, builder.input(f32, {2, 9})};
  const auto joined = graph::joined_slices({in_zeros(6, 0), other, in_zeros(0, 6), in_zeros(3, 3)});
  ASSERT_EQ(joined.size(), 2U);
  EXPECT_EQ(whole.node(joined[0].id).operands, std::vector<graph::NodeId>(3, like.id));
  EXPECT_EQ(joined[1].id, other.id);
  // One that overlaps another stays, and gaps are zeros.
  const auto apart = graph::joined_slices({in_zeros(6, 0), in_zeros(5, 1), in_zeros(0, 6)});
  ASSERT_EQ(apart.size(), 2U);
  EXPECT_EQ(whole.node(apart[0].id).operands.size(), 3U);
  EXPECT_EQ(apart[0].shape(), (Shape{2, 9}));
}

}  // namespace
}  // namespace tilewright::repeated_layers_test
