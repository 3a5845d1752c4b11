// Derivatives of activations, norms, losses, lookups and attention against differences of their
// functions.
#include "graph/functions/derivatives/activations.h"

#include <gtest/gtest.h>

#include "graph/functions/attending/general_attention.h"
#include "graph/functions/derivatives/attention.h"
#include "graph/functions/derivatives/indexing.h"
#include "graph/functions/derivatives/losses.h"
#include "graph/functions/derivatives/norms.h"
#include "graph/functions/pointwise/activations.h"
#include "graph/functions/reducing/class_losses.h"
#include "graph/functions/reducing/element_losses.h"
#include "graph/functions/reducing/norms.h"
#include "tests/errors.h"
#include "tests/graph/finite_differences.h"

namespace tilewright::derivatives_test {
namespace {

using testing_differences::doubles;
using testing_differences::expect_derivative;
using testing_differences::Tensors;

// A function of one operand and its derivative.
void expect_slope(const std::function<Tensor(const Tensor&)>& f,
                  const std::function<Tensor(const Tensor& gradient, const Tensor& x)>& backward) {
  expect_derivative([&](const Tensors& x) { return f(x[0]); },
                    [&](const Tensor& gradient, const Tensors& x) -> Tensors {
                      return {backward(gradient, x[0])};
                    },
                    {doubles({3, 7}, 1)});
}

TEST(Derivatives, OfActivationsAreTheirSlopes) {
  auto plain = [](Tensor (*f)(const TensorOperand&),
                  Tensor (*backward)(const Tensor&, const Tensor&, std::source_location)) {
    expect_slope([=](const Tensor& x) { return f(x); },
                 [=](const Tensor& gradient, const Tensor& x) {
                   return backward(gradient, x, std::source_location::current());
                 });
  };
  plain(hardsigmoid, hardsigmoid_backward);
  plain(hardswish, hardswish_backward);
  plain(silu, silu_backward);
  plain(logsigmoid, logsigmoid_backward);
  for (GeluForm form : {GeluForm::erf, GeluForm::tanh})
    expect_slope(
        [=](const Tensor& x) { return gelu(x, form); },
        [=](const Tensor& gradient, const Tensor& x) { return gelu_backward(gradient, x, form); });
  expect_slope([](const Tensor& x) { return threshold(x, 0.5, 7); },
               [](const Tensor& g, const Tensor& x) { return threshold_backward(g, x, 0.5); });
  expect_slope([](const Tensor& x) { return hardtanh(x, -1.5, 0.5); },
               [](const Tensor& g, const Tensor& x) { return hardtanh_backward(g, x, -1.5, 0.5); });
  expect_slope([](const Tensor& x) { return leaky_relu(x, 0.1); },
               [](const Tensor& g, const Tensor& x) { return leaky_relu_backward(g, x, 0.1); });
  expect_slope([](const Tensor& x) { return softplus(x, 2, 3); },
               [](const Tensor& g, const Tensor& x) { return softplus_backward(g, x, 2, 3); });
}

TEST(Derivatives, OfActivationsMayLookAtTheResult) {
  expect_slope([](const Tensor& x) { return sigmoid(x); },
               [](const Tensor& g, const Tensor& x) { return sigmoid_backward(g, sigmoid(x)); });
  expect_slope([](const Tensor& x) { return tanh(x); },
               [](const Tensor& g, const Tensor& x) { return tanh_backward(g, tanh(x)); });
  for (bool of_result : {false, true})
    expect_slope(
        [](const Tensor& x) { return elu(x, 1.5, 2, 0.5); },
        [=](const Tensor& g, const Tensor& x) {
          return elu_backward(g, of_result ? elu(x, 1.5, 2, 0.5) : x, {1.5, 2, 0.5, of_result});
        });
}

TEST(Derivatives, OfPreluGoToTheWeightWhereItCounts) {
  const Tensor x = Tensor::from(std::vector<float>{-2, 3}, {2}),
               weight = Tensor::from(std::vector<float>{0.5F, 0.5F}, {2}),
               gradient = Tensor::from(std::vector<float>{10, 20}, {2});
  auto [of_x, of_weight] = prelu_backward(gradient, x, weight);
  EXPECT_EQ(of_x.to_vector<float>(), (std::vector<float>{5, 20}));
  EXPECT_EQ(of_weight.to_vector<float>(), (std::vector<float>{-20, 0}));
  EXPECT_EQ(dropout_backward(gradient, x > 0.0, 2).to_vector<float>(), (std::vector<float>{0, 40}));
}

TEST(Derivatives, OfActivationsRefuseOtherShapes) {
  expect_contains(error_of([] { silu_backward(zeros({2}), zeros({3})); }),
                  "[silu_backward] the gradient is f32 [2], the operand f32 [3]");
  expect_contains(error_of([] {
                    elu_backward(zeros({2}), zeros({2}), {-1, 1, 1, true});
                  }),
                  "[elu_backward] alpha is -1");
  expect_contains(error_of([] { dropout_backward(zeros({2}), zeros({3}), 1); }),
                  "[dropout_backward] the gradient is [2], the mask [3]");
}

TEST(Derivatives, OfNormsGoThroughTheirStatistics) {
  const Tensors operands = {doubles({3, 4, 5}, 1), doubles({4, 5}, 2), doubles({4, 5}, 3)};
  expect_derivative(
      [](const Tensors& t) {
        return layer_norm(t[0], Shape{4, 5}, t[1], t[2], 1e-3);
      },
      [](const Tensor& g, const Tensors& t) -> Tensors {
        const NormResult all = native_layer_norm(t[0], {4, 5}, t[1], t[2], 1e-3);
        const auto r = layer_norm_backward(g, {t[0], {4, 5}, all.mean, all.rstd, t[1], t[2]});
        return {r.x, r.weight, r.bias};
      },
      operands);
  const Tensors of_channels = {doubles({3, 4, 5}, 1), doubles({4}, 2), doubles({4}, 3)};
  expect_derivative([](const Tensors& t) { return group_norm(t[0], 2, t[1], t[2], 1e-3); },
                    [](const Tensor& g, const Tensors& t) -> Tensors {
                      const NormResult all = native_group_norm(t[0], 2, t[1], t[2], 1e-3);
                      const auto r = group_norm_backward(g, {t[0], all.mean, all.rstd, t[1], 2});
                      return {r.x, r.weight, r.bias};
                    },
                    of_channels);
  expect_derivative(
      [](const Tensors& t) { return batch_norm_training(t[0], t[1], t[2], {}, {}).output; },
      [](const Tensor& g, const Tensors& t) -> Tensors {
        const BatchNormResult all = batch_norm_training(t[0], t[1], t[2], {}, {});
        const auto r =
            batch_norm_backward(g, {.x = t[0], .mean = all.mean, .rstd = all.rstd, .weight = t[1]});
        return {r.x, r.weight, r.bias};
      },
      of_channels);
}

TEST(Derivatives, OfABatchThatIsNotTrainedTakeItsStatisticsAsConstants) {
  const Tensor mean = doubles({4}, 5), variance = doubles({4}, 6) * 0.1 + 1.0;
  expect_derivative(
      [&](const Tensors& t) { return batch_norm_inference(t[0], mean, variance, t[1], t[2]); },
      [&](const Tensor& g, const Tensors& t) -> Tensors {
        const auto r = batch_norm_backward(
            g, {.x = t[0], .mean = mean, .variance = variance, .weight = t[1], .training = false});
        return {r.x, r.weight, r.bias};
      },
      {doubles({3, 4, 5}, 1), doubles({4}, 2), doubles({4}, 3)});
  const auto alone = batch_norm_backward(
      zeros({1, 2}),
      {.x = ones({1, 2}), .mean = zeros({2}), .variance = ones({2}), .training = false},
      {.weight = false, .bias = false});
  EXPECT_TRUE(alone.x.defined());
  EXPECT_FALSE(alone.weight.defined() || alone.bias.defined());
}

TEST(Derivatives, OfNormsRefuseWhatDoesNotFit) {
  const Tensor x = zeros({2, 6}), one = zeros({2, 1});
  expect_contains(error_of([&] {
                    layer_norm_backward(x, {x, {5}, one, one, {}, {}});
                  }),
                  "[layer_norm_backward] the normalized shape is [5], of a tensor [2x6]");
  expect_contains(error_of([&] {
                    group_norm_backward(x, {x, one, one, {}, 4});
                  }),
                  "[group_norm_backward] 4 groups of a tensor [2x6]");
  expect_contains(error_of([&] { batch_norm_backward(x, {.x = x, .mean = zeros({6})}); }),
                  "[batch_norm_backward] the inverse deviation is undefined");
  expect_contains(error_of([&] { softmax_backward(x, zeros({2}), 0); }),
                  "[softmax_backward] the gradient is [2x6], x f32 [2]");
}

TEST(Derivatives, OfSoftmaxLookAtTheResult) {
  expect_slope(
      [](const Tensor& x) { return softmax(x, 1); },
      [](const Tensor& g, const Tensor& x) { return softmax_backward(g, softmax(x, 1), 1); });
  expect_slope([](const Tensor& x) { return log_softmax(x, 0); },
               [](const Tensor& g, const Tensor& x) {
                 return log_softmax_backward(g, log_softmax(x, 0), 0);
               });
  EXPECT_EQ(softmax_backward(ones({}), ones({}), 0).to_vector<float>(), std::vector<float>{0});
}

TEST(Derivatives, OfLossesAreSharesOfTheirElements) {
  const Tensor target = doubles({3, 5}, 8), x = doubles({3, 5}, 1);
  for (LossReduction by : {LossReduction::mean, LossReduction::sum, LossReduction::none}) {
    auto expect = [&](const std::function<Tensor(const Tensor&)>& loss,
                      const std::function<Tensor(const Tensor&, const Tensor&)>& backward,
                      const Tensor& operand) {
      expect_derivative(
          [&](const Tensors& t) { return loss(t[0]); },
          [&](const Tensor& g, const Tensors& t) -> Tensors { return {backward(g, t[0])}; },
          {operand});
    };
    expect([&](const Tensor& t) { return mse_loss(t, target, by); },
           [&](const Tensor& g, const Tensor& t) { return mse_loss_backward(g, t, target, by); },
           x);
    expect([&](const Tensor& t) { return smooth_l1_loss(t, target, by, 0.7); },
           [&](const Tensor& g, const Tensor& t) {
             return smooth_l1_loss_backward(g, t, target, by, 0.7);
           },
           x);
    expect([&](const Tensor& t) { return huber_loss(t, target, by, 0.7); },
           [&](const Tensor& g, const Tensor& t) {
             return huber_loss_backward(g, t, target, by, 0.7);
           },
           x);
    const Tensor weight = doubles({5}, 3) + 3.0, truth = sigmoid(target);
    expect([&](const Tensor& t) { return binary_cross_entropy(t, truth, weight, by); },
           [&](const Tensor& g, const Tensor& t) {
             return binary_cross_entropy_backward(g, t, truth, weight, by);
           },
           sigmoid(x));
    const Tensor classes = Tensor::from(std::vector<std::int64_t>{4, -100, 1}, {3});
    expect(
        [&](const Tensor& t) { return nll_loss(t, classes, {.weight = weight, .reduction = by}); },
        [&](const Tensor& g, const Tensor& t) {
          const Tensor total = weight.select(0, 4) + weight.select(0, 1);
          return nll_loss_backward(g, t, classes,
                                   {.weight = weight, .total_weight = total, .reduction = by});
        },
        x);
  }
}

TEST(Derivatives, OfLossesRefuseWhatDoesNotFit) {
  const Tensor x = zeros({3, 5});
  expect_contains(error_of([&] { mse_loss_backward(x, x, x.to(i64)); }),
                  "[mse_loss_backward] x is f32, the target i64");
  expect_contains(error_of([&] { nll_loss_backward(x, x, zeros({4}, i64), {}); }),
                  "[nll_loss_backward] the target is [4], for scores [3x5]");
  expect_contains(error_of([&] { nll_loss_backward(x, x, zeros({3}, i64), {}); }),
                  "[nll_loss_backward] the total weight is undefined");
  expect_contains(
      error_of([&] { nll_loss_backward(x, x, full({3}, 5, i64), {.total_weight = ones({})}); }),
      "[nll_loss_backward] target 5 is outside 5 classes");
}

TEST(Derivatives, OfLookupsAndPartsGoToWhereTheyWere) {
  const Tensor ids = Tensor::from(std::vector<std::int64_t>{1, 0, 1, 2}, {2, 2});
  expect_derivative([&](const Tensors& t) { return embedding(ids, t[0]); },
                    [&](const Tensor& g, const Tensors&) -> Tensors {
                      return {embedding_dense_backward(g, ids, 3)};
                    },
                    {doubles({3, 4}, 1)});
  const Tensor scaled = embedding_dense_backward(ones({2, 2, 1}), ids, 3,
                                                 {.padding_row = 2, .scale_by_frequency = true});
  EXPECT_EQ(scaled.to_vector<float>(), (std::vector<float>{1, 1, 0}));
  expect_derivative(
      [](const Tensors& t) { return t[0].slice(1, 1, 6, 2); },
      [](const Tensor& g, const Tensors&) -> Tensors {
        return {slice_backward(g, {3, 7}, {.axis = 1, .start = 1, .end = 6, .step = 2})};
      },
      {doubles({3, 7}, 1)});
  expect_derivative([](const Tensors& t) { return t[0].select(0, -1); },
                    [](const Tensor& g, const Tensors&) -> Tensors {
                      return {select_backward(g, {3, 7}, 0, -1)};
                    },
                    {doubles({3, 7}, 1)});
  expect_contains(error_of([&] {
                    embedding_dense_backward(zeros({3, 2}), ids, 3);
                  }),
                  "[embedding_dense_backward] the indices are [2x2], for gradients [3x2]");
}

TEST(Derivatives, OfAttentionComeFromItsLogarithms) {
  const Tensor mask = doubles({3, 5}, 7);
  // Attention of rank 4 and one width is an op.
  for (const auto& [causal, width, batch] :
       {std::tuple<bool, std::int64_t, std::int64_t>{false, 6, 0},
        {true, 6, 0},
        {false, 4, 2},
        {true, 4, 2}}) {
    auto shape = [batch = batch](Shape sizes) {
      if (batch != 0) sizes.insert(sizes.begin(), batch);
      return sizes;
    };
    const GeneralAttentionOptions options{
        .first_place = causal ? std::optional<std::int64_t>(0) : std::nullopt, .mask = mask};
    expect_derivative(
        [&](const Tensors& t) { return general_attention(t[0], t[1], t[2], options); },
        [&](const Tensor& g, const Tensors& t) -> Tensors {
          const auto r =
              attention_backward(g, {.query = t[0],
                                     .key = t[1],
                                     .value = t[2],
                                     .output = general_attention(t[0], t[1], t[2], options),
                                     .logsumexp = attention_logsumexp(t[0], t[1], options),
                                     .mask = mask,
                                     .causal = causal});
          return {r.query, r.key, r.value};
        },
        {doubles(shape({2, 3, 4}), 1), doubles(shape({2, 5, 4}), 2),
         doubles(shape({2, 5, width}), 3)});
  }
  const Tensor q = zeros({2, 3, 4});
  expect_contains(error_of([&] {
                    attention_backward(q, {q, zeros({2, 5, 3}), q, q, q});
                  }),
                  "[attention_backward] queries [2x3x4], keys [2x5x3]");
  expect_contains(error_of([&] {
                    attention_backward(q, {q, q, q, q, q, zeros({3, 3}, f64)});
                  }),
                  "[attention_backward] a mask of f64 for queries of f32");
}

}  // namespace
}  // namespace tilewright::derivatives_test
