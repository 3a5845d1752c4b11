// Convolutions whose rows are transformed (graph/regions/winograd.h), against the interpreter.
#include "graph/regions/winograd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "graph/compile/bindings/weight_copies.h"
#include "graph/compile/compile.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/passes/pipeline.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright::graph::winograd_test {
namespace {

using Floats = std::vector<float>;

TEST(Winograd, GivesTheSumsOfTwoWindows) {
  const double d[] = {3, -5, 7, 11}, g[] = {2, 13, -17};
  const auto of_filter = winograd::filters(g[0], g[1], g[2]);
  double p[winograd::products];
  for (std::int64_t i = 0; i < winograd::products; ++i)
    p[i] = winograd::of_x(d, i) * of_filter[static_cast<std::size_t>(i)];
  EXPECT_EQ(p[0] + (p[1] + p[2]), d[0] * g[0] + d[1] * g[1] + d[2] * g[2]);
  EXPECT_EQ(p[3] + (p[1] - p[2]), d[1] * g[0] + d[2] * g[1] + d[3] * g[2]);
}

// A convolution with an epilogue: relu(conv2d(x, w, b) + x2).
struct Case {
  std::int64_t images, groups, channels, outputs;  // of a group
  std::int64_t rows, columns, kernel, padding, stride, dilation;
  bool is_last, has_bias, is_frozen;  // channels last: in memory, of x

  Shape shape_of_x() const {
    return is_last ? Shape{images, rows, columns, groups * channels}
                   : Shape{images, groups * channels, rows, columns};
  }
  Shape shape_of_filters() const { return {groups * outputs, channels, 3, kernel}; }
  std::string text() const {
    return concat("x ", shape_of_x(), is_last ? " last" : "", ", filters ", shape_of_filters(),
                  ", groups ", groups, ", padding ", padding, ", stride ", stride, ", dilation ",
                  dilation, has_bias ? ", bias" : "", is_frozen ? ", frozen" : "");
  }
  Tensor result(Tensor x, const Tensor& w, const Tensor& bias, const Tensor& factor) const {
    if (is_last) x = x.permute({0, 3, 1, 2});
    Tensor y = conv2d(x, w, has_bias ? bias : Tensor(),
                      {.stride = {1, stride},
                       .padding = {1, padding},
                       .dilation = {1, dilation},
                       .groups = groups});
    return maximum(y * factor.reshape({groups * outputs, 1, 1}), -40);
  }
};

struct Results {
  Floats wanted, got;
  std::vector<PackedWeight> packed;
};

Floats floats(const Buffer& buffer, std::int64_t count) {
  const auto* elements = static_cast<const float*>(buffer.data());
  return {elements, elements + count};
}

Results results_of(const Case& c, const Tensor& x, const Tensor& w, const Tensor& bias,
                   const Tensor& factor, MatmulPrecision precision = MatmulPrecision::high) {
  Capture capture;
  std::vector<Tensor> arguments;
  for (const Tensor* t : {&x, &w, &bias, &factor})
    arguments.push_back(capture.placeholder(DType::f32, t->shape()));
  Tensor y = c.result(arguments[0], arguments[1], arguments[2], arguments[3]);
  const std::int64_t count = element_count(y.shape());
  Graph graph = run_passes(capture.finish({y}).graph);
  const Device cpu = Device::cpu();
  auto expected = make_plan(graph, {.interpret = true, .device = cpu});
  auto plan = make_plan(graph, {.matmul_precision = precision,
                                .device = cpu,
                                .inputs = {{}, {.is_frozen = c.is_frozen}, {}, {}}});
  std::vector<void*> inputs;
  for (const Tensor* t : {&x, &w, &bias, &factor}) inputs.push_back(address_of(*t->body()));
  Results results;
  results.wanted = floats(*expected->run(inputs)[0], count);
  results.packed = plan->packed_weights();
  std::vector<std::shared_ptr<Buffer>> copies;
  for (const PackedWeight& weight : results.packed) {
    copies.push_back(packed_copy(w, weight));
    inputs.push_back(copies.back()->data());
  }
  results.got = floats(*plan->run(inputs)[0], count);
  return results;
}

Tensor made_of(const Shape& shape, const std::function<float()>& next) {
  Floats elements(static_cast<std::size_t>(element_count(shape)));
  for (float& x : elements) x = next();
  return Tensor::from(elements, shape);
}

TEST(Winograd, IsExactOfWholeNumbers) {
  constexpr unsigned seed = 20261126;
  std::mt19937 random(seed);
  auto below = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  auto whole = [&] { return static_cast<float>(below(-6, 6)); };
  int transformed = 0;
  for (int number = 0; number < 60; ++number) {
    const std::int64_t sizes[] = {2, 3, 4, 7, 14, 15, 33};
    const Case c{.images = below(1, 2),
                 .groups = below(1, 4) == 1 ? 2 : 1,
                 .channels = below(16, 35),
                 .outputs = number % 4 == 0 ? 32 : below(32, 100),
                 .rows = sizes[below(0, 6)],
                 .columns = number % 5 == 0 ? below(40, 130) : sizes[below(0, 6)],
                 .kernel = below(1, 3),
                 .padding = below(0, 2),
                 .stride = below(1, 4) == 1 ? 2 : 1,
                 .dilation = below(1, 4) == 1 ? 2 : 1,
                 .is_last = below(0, 2) == 0,
                 .has_bias = below(0, 1) == 0,
                 .is_frozen = below(0, 2) != 0};
    if (c.columns + 2 * c.padding <= c.dilation * (c.kernel - 1)) continue;
    SCOPED_TRACE(concat("seed ", seed, ", case ", number, ": ", c.text()));
    const std::int64_t outputs = c.groups * c.outputs;
    const Results results =
        results_of(c, made_of(c.shape_of_x(), whole), made_of(c.shape_of_filters(), whole),
                   made_of({outputs}, whole), made_of({outputs}, whole));
    ASSERT_EQ(results.got, results.wanted);
    for (const PackedWeight& weight : results.packed) transformed += weight.is_winograd ? 1 : 0;
  }
  EXPECT_GE(transformed, 20);
}

TEST(Winograd, RoundsAsSumsOfWindowsDo) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const Case c{.images = 1,
               .groups = 1,
               .channels = 64,
               .outputs = 48,
               .rows = 20,
               .columns = 21,
               .kernel = 3,
               .padding = 1,
               .stride = 1,
               .dilation = 1,
               .is_last = false,
               .has_bias = false,
               .is_frozen = true};
  auto next = [&] { return normal(random); };
  auto magnitude = [](const Tensor& t) { return abs(t); };
  Tensor x = made_of(c.shape_of_x(), next), w = made_of(c.shape_of_filters(), next);
  Tensor one = full({c.outputs}, 1.0, DType::f32);
  const Results results = results_of(c, x, w, one, one);
  const Floats magnitudes = results_of(c, magnitude(x), magnitude(w), one, one).wanted;
  ASSERT_EQ(results.packed.size(), 1);
  EXPECT_TRUE(results.packed[0].is_winograd);
  EXPECT_EQ(results.packed[0].elements(), std::int64_t{4} * 64 * 3 * 48);
  for (std::size_t i = 0; i < results.got.size(); ++i)
    ASSERT_NEAR(results.got[i], results.wanted[i],
                4 * std::numeric_limits<float>::epsilon() * magnitudes[i])
        << i;
}

// A row of 1e6 that the filter does not look at leaves no trace in its neighbours.
TEST(Winograd, IsNoDefault) {
  const Case c{1, 1, 16, 32, 6, 20, 3, 1, 1, 1, false, false, true};
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Floats x, w;
  for (std::int64_t i = 0; i < element_count(c.shape_of_x()); ++i)
    x.push_back(normal(random) * (i / 20 % 6 == 2 ? 1e6F : 1));
  for (std::int64_t i = 0; i < element_count(c.shape_of_filters()); ++i)
    w.push_back(i / 3 % 3 == 1 ? normal(random) : 0);
  Tensor one = full({c.outputs}, 1.0, DType::f32);
  const Results plain =
      results_of(c, Tensor::from(x, c.shape_of_x()), Tensor::from(w, c.shape_of_filters()), one,
                 one, MatmulPrecision::highest);
  ASSERT_EQ(plain.packed.size(), 1);
  EXPECT_FALSE(plain.packed[0].is_winograd);
  for (std::size_t i = 0; i < plain.got.size(); ++i)
    if (i / 20 % 6 != 2) {
      ASSERT_NEAR(plain.got[i], plain.wanted[i], 1e-4) << i;
    }
}

TEST(Winograd, IsLeftOutWhereItDoesNotPay) {
  auto zero = [] { return 0.0F; };
  auto is_transformed = [&](std::int64_t channels, std::int64_t outputs, std::int64_t rows) {
    const Case c{1, 1, channels, outputs, rows, 20, 3, 1, 1, 1, false, false, true};
    Tensor of_outputs = made_of({outputs}, zero);
    const Results results = results_of(c, made_of(c.shape_of_x(), zero),
                                       made_of(c.shape_of_filters(), zero), of_outputs, of_outputs);
    return results.packed.at(0).is_winograd;
  };
  EXPECT_TRUE(is_transformed(16, 32, 2));
  EXPECT_FALSE(is_transformed(15, 32, 2));
  EXPECT_FALSE(is_transformed(16, 31, 2));
  EXPECT_FALSE(is_transformed(16, 32, 1));
}

}  // namespace
}  // namespace tilewright::graph::winograd_test
