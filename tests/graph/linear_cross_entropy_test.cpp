// A linear layer's cross entropy without its logits: as cross_entropy of them, in less memory.
#include <gtest/gtest.h>

#include <random>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/linear_cross_entropy.h"
#include "graph/functions/reducing/class_losses.h"
#include "graph/tensor/precision/autocast.h"
#include "tests/errors.h"
#include "tests/graph/derivatives/doubles.h"

namespace tilewright::linear_cross_entropy_test {
namespace {

using testing_doubles::Doubles;

struct Case {
  const char* name;
  std::int64_t rows = 200, columns = 16, classes = 37;
  LossReduction reduction = LossReduction::mean;
  double smoothing = 0;
  bool has_bias = false, has_weight = false, ignores = false, is_squared = false;
};

Tensor random(const Shape& shape, unsigned seed, DType dtype) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Doubles values(static_cast<std::size_t>(element_count(shape)));
  for (double& value : values) value = normal(random);
  return Tensor::from(values, shape).to(dtype);
}
Tensor targets_of(const Case& c) {
  std::mt19937 random(9);
  std::vector<std::int64_t> targets;
  for (std::int64_t i = 0; i < c.rows; ++i) {
    targets.push_back(static_cast<std::int64_t>(random() % static_cast<unsigned>(c.classes)));
    if (c.ignores && i % 3 == 0) targets.back() = -100;
  }
  return Tensor::from(targets, {c.rows});
}

// One number, which is made of the losses of rows in a way of its own where they are not reduced.
Tensor reduced(const Tensor& loss, const Case& c) {
  if (c.reduction != LossReduction::none) return loss;
  const Tensor factors = cos(arange(0, c.rows).to(loss.dtype())) + 1.5;
  return sum((c.is_squared ? square(loss) : loss) * factors);
}

class LinearCrossEntropy : public testing::TestWithParam<Case> {};

TEST_P(LinearCrossEntropy, IsThatOfTheLayersResults) {
  const Case c = GetParam();
  const Tensor targets = targets_of(c);
  auto own = [&](const Tensor& x, const Tensor& table, const Tensor& bias) {
    const Tensor weight = random({c.classes}, 4, x.dtype());
    LinearCrossEntropyOptions options{.reduction = c.reduction, .label_smoothing = c.smoothing};
    if (c.has_bias) options.bias = bias;
    if (c.has_weight) options.weight = square(weight);
    return reduced(linear_cross_entropy(x, table, targets, options), c);
  };
  auto plain = [&](const Tensor& x, const Tensor& table, const Tensor& bias) {
    const Tensor weight = random({c.classes}, 4, x.dtype());
    const Tensor logits = linear(x, table, c.has_bias ? bias : Tensor());
    return reduced(cross_entropy(logits, targets, c.has_weight ? square(weight) : Tensor(),
                                 {.reduction = c.reduction, .label_smoothing = c.smoothing}),
                   c);
  };
  auto operand = [&](const Shape& shape, unsigned seed, DType dtype) {
    return random(shape, seed, f32).to(dtype);  // of the same values
  };
  auto results = [&](const auto& loss, DType dtype) {
    auto step = compile(
        [&](const Tensor& x, const Tensor& table, const Tensor& bias) {
          const auto [value, gradients] = value_and_grad<0, 1, 2>(loss)(x, table, bias);
          const auto [of_x, of_table, of_bias] = gradients;
          return std::vector<Tensor>{value, of_x, of_table, of_bias};
        },
        {.fullgraph = true});
    return step(operand({c.rows, c.columns}, 1, dtype), operand({c.classes, c.columns}, 2, dtype),
                operand({c.classes}, 3, dtype));
  };
  const std::vector<Tensor> wanted = results(plain, f64);
  for (DType dtype : {f64, f32, bf16}) {
    const std::vector<Tensor> found = results(own, dtype);
    const double tolerance = dtype == f64 ? 1e-12 : dtype == f32 ? 2e-6 : 3e-2;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Doubles got = testing_doubles::values(found[i]),
                    expected = testing_doubles::values(wanted[i]);
      double largest = 1e-3;
      for (double value : expected) largest = std::max(largest, std::abs(value));
      for (std::size_t k = 0; k < got.size(); ++k)
        ASSERT_NEAR(got[k], expected[k], tolerance * largest) << dtype << " result " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, LinearCrossEntropy,
    testing::Values(Case{.name = "mean"}, Case{.name = "few_rows", .rows = 5},
                    Case{.name = "sum", .reduction = LossReduction::sum, .ignores = true},
                    Case{.name = "smoothed", .smoothing = 0.2, .has_bias = true, .ignores = true},
                    Case{.name = "weighed", .smoothing = 0.1, .has_weight = true, .ignores = true},
                    Case{.name = "rows", .reduction = LossReduction::none, .has_weight = true},
                    Case{.name = "of_their_losses",
                         .rows = 130,
                         .reduction = LossReduction::none,
                         .has_bias = true,
                         .is_squared = true}),
    [](const auto& info) { return info.param.name; });

auto step_of(const Tensor& targets) {
  return value_and_grad<0, 1>([=](const Tensor& x, const Tensor& table) {
    return linear_cross_entropy(x, table, targets);
  });
}

TEST(LinearCrossEntropyMemory, IsAShareOfThatOfLogits) {
  const std::int64_t columns = 16, classes = 4096;
  const Tensor table = zeros({classes, columns}, f32);
  for (std::int64_t rows : {1152, 1151, 3000}) {  // in whole turns, and otherwise
    auto step = compile(step_of(arange(0, rows)), {.fullgraph = true});
    const MemoryReport memory = step.memory(zeros({rows, columns}, f32), table);
    // And some numbers for each row.
    EXPECT_LT(memory.intermediate + memory.loops, rows * classes * 4 / 8 + rows * 64) << rows;
  }
}

TEST(LinearCrossEntropyGradients, OfNoRowsAreZero) {
  const Tensor table = random({5, 4}, 1, f32), targets = zeros({0}, i64);
  auto f = [&](const Tensor& x, const Tensor& t) {
    return linear_cross_entropy(x, t, targets, {.reduction = LossReduction::sum});
  };
  const auto [loss, gradients] = value_and_grad<0, 1>(f)(zeros({0, 4}, f32), table);
  EXPECT_EQ(loss.item<float>(), 0);
  EXPECT_EQ(std::get<0>(gradients).shape(), (Shape{0, 4}));
  EXPECT_EQ(amax(abs(std::get<1>(gradients))).item<float>(), 0);
}

// The mean of no numbers is NaN, and ignored rows have no gradient.
TEST(LinearCrossEntropyGradients, OfIgnoredRowsAloneAreZero) {
  const Tensor table = random({5, 4}, 1, f32), targets = full({2}, -100, i64);
  const auto [loss, gradient] = value_and_grad([&](const Tensor& x) {
    return linear_cross_entropy(x, table, targets);
  })(random({2, 4}, 2, f32));
  EXPECT_TRUE(std::isnan(loss.item<float>()));
  EXPECT_EQ(amax(abs(gradient)).item<float>(), 0);
}

TEST(LinearCrossEntropyGradients, DoNotReachTheWeightsOfClasses) {
  const Tensor x = random({6, 4}, 1, f32), table = random({5, 4}, 2, f32),
               targets = full({6}, 3, i64);
  const Tensor gradient = grad([&](const Tensor& weight) {
    return linear_cross_entropy(x, table, targets, {.weight = weight});
  })(full({5}, 0.5, f32));
  EXPECT_EQ(amax(abs(gradient)).item<float>(), 0);
}

TEST(LinearCrossEntropyGradients, KeepTheLossWideUnderAutocast) {
  const Tensor x = random({6, 4}, 1, f32), table = random({5, 4}, 2, f32),
               targets = full({6}, 3, i64);
  const auto loss =
      autocast([&](const Tensor& t) { return linear_cross_entropy(t, table, targets); }, bf16);
  EXPECT_EQ(loss(x).dtype(), f32);
}

TEST(LinearCrossEntropyErrors, NameWhatDoesNotFit) {
  const Tensor x = zeros({4, 8}, f32), table = zeros({10, 8}, f32), targets = zeros({4}, i64);
  auto error = [](const auto& x, const auto& table, const auto& targets,
                  const LinearCrossEntropyOptions& options = {}) {
    return error_of([&] { linear_cross_entropy(x, table, targets, options); });
  };
  expect_contains(error(x, zeros({10, 8}, f64), targets), "x is f32, the table f64");
  expect_contains(error(x, zeros({10, 7}, f32), targets), "x is 4x8, the table 10x7");
  expect_contains(error(x, table, zeros({4}, f32)), "targets are f32");
  expect_contains(error(x, table, zeros({5}, i64)), "targets are 5 ");
  expect_contains(error(x, table, zeros({4}, i64) + 10), "10");
  expect_contains(error(x, table, targets, {.bias = zeros({8}, f32)}), "a bias or weight is f32 8");
  expect_contains(error(x, table, targets, {.label_smoothing = 2}), "label_smoothing is 2");
}

}  // namespace
}  // namespace tilewright::linear_cross_entropy_test
