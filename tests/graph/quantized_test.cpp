// Linear layers with quantised weights, against sums in double of what the integers mean.
#include "graph/functions/quantized.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/compile/compile.h"
#include "graph/ir/evaluate.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"
#include "tests/errors.h"

namespace tilewright::quantized_test {
namespace {

Tensor waves(const Shape& shape, DType dtype = DType::f32) {
  std::vector<float> x(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i % 7919));
  return Tensor::from(x, shape).to(dtype);
}

// The values of a quantised weight's integers, [N, K].
std::vector<double> weights_of(const QuantizedWeight& weight) {
  std::vector<float> scales = weight.scales.to(DType::f32).to_vector<float>();
  std::vector<float> zeros(scales.size(), weight.values.dtype() == DType::u8 ? 8.0F : 0.0F);
  if (weight.zeros.defined()) zeros = weight.zeros.to(DType::f32).to_vector<float>();
  std::vector<double> integers;
  if (weight.values.dtype() == DType::i8) {
    for (std::int8_t x : weight.values.to_vector<std::int8_t>()) integers.push_back(x);
  } else {
    auto bytes = weight.values.to_vector<std::uint8_t>();
    for (std::size_t block = 0; block < bytes.size(); block += 16)
      for (std::size_t j = 0; j < 32; ++j)
        integers.push_back(j < 16 ? bytes[block + j] & 15 : bytes[block + j - 16] >> 4);
  }
  std::size_t group = integers.size() / scales.size();
  for (std::size_t i = 0; i < integers.size(); ++i)
    integers[i] = (integers[i] - zeros[i / group]) * scales[i / group];
  return integers;
}

void expect_linear(const Tensor& y, const Tensor& x, const QuantizedWeight& weight, double unit) {
  std::vector<double> w = weights_of(weight);
  auto n = static_cast<std::size_t>(weight.scales.size(0)), k = w.size() / n;
  std::vector<float> left = x.to(DType::f32).to_vector<float>(),
                     right = y.to(DType::f32).to_vector<float>();
  ASSERT_EQ(right.size(), left.size() / k * n);
  for (std::size_t i = 0; i < right.size(); ++i) {
    double total = 0, size = 0;
    for (std::size_t j = 0; j < k; ++j) {
      double term = left[i / n * k + j] * w[i % n * k + j];
      total += term;
      size += std::abs(term);
    }
    ASSERT_NEAR(right[i], total, unit * (size + std::abs(total))) << "element " << i;
  }
}

struct Case {
  QuantizeOptions options;
  std::int64_t rows, depth, width;
  DType dtype;
};
const Case cases[] = {
    {{}, 1, 96, 40, DType::f32},
    {{.group_size = 32}, 1, 512, 24, DType::bf16},
    {{.group_size = 48}, 3, 96, 17, DType::f32},
    {{}, 6, 256, 40, DType::f16},
    {{.format = WeightFormat::int4}, 1, 64, 33, DType::f32},
    {{.format = WeightFormat::int4, .group_size = 32}, 1, 1024, 64, DType::f16},
    {{.format = WeightFormat::int4, .group_size = 64, .zero_points = true},
     1,
     192,
     19,
     DType::bf16},
    {{.format = WeightFormat::int4, .group_size = 128, .zero_points = true},
     2,
     1280,
     72,
     DType::f32},
    {{.format = WeightFormat::int4, .group_size = 64, .scale_dtype = DType::f16},
     8,
     256,
     48,
     DType::f16},
    {{.format = WeightFormat::int4, .group_size = 32}, 40, 96, 24, DType::f32},
};

TEST(QuantizedLinear, IsALinearOfWhatTheIntegersMean) {
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.rows << " rows of " << c.depth << ", " << c.dtype
                                    << ", groups of " << c.options.group_size);
    QuantizedWeight weight = quantize(waves({c.width, c.depth}), c.options);
    Tensor x = waves({c.rows, c.depth}, c.dtype);
    double unit = c.dtype == DType::f32 ? 0x1p-20 : c.dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
    expect_linear(quantized_linear(x, weight), x, weight, unit);
    auto fast = compile([&](const Tensor& given) { return -quantized_linear(given, weight); });
    expect_linear(-fast(x), x, weight, unit);
  }
}

TEST(QuantizedLinear, ReadsWeightsOfFewRowsInOneProgramAndNoOther) {
  for (const char* device : {"cpu", "emulated:sm_80", "emulated:sm_90a"})
    for (const Case& c : cases) {
      graph::Capture capture;
      bool packed = c.options.format == WeightFormat::int4;
      std::int64_t groups = c.options.group_size == 0 ? 1 : c.depth / c.options.group_size;
      Tensor x = capture.placeholder(c.dtype, {c.rows, c.depth});
      QuantizedWeight weight;
      weight.values = packed ? capture.placeholder(DType::u8, {c.width, c.depth / 2})
                             : capture.placeholder(DType::i8, {c.width, c.depth});
      weight.scales = capture.placeholder(c.options.scale_dtype, {c.width, groups});
      Tensor y = quantized_linear(x, weight);
      weight = {};  // whose handles a capture would not leave behind
      graph::Captured captured = capture.finish({y});
      auto plan = graph::make_plan(graph::run_passes(captured.graph),
                                   {.interpret = true, .device = Device::parse(device)});
      EXPECT_EQ(plan->programs().size(), c.rows <= 16 ? 1 : 2) << device << ", " << c.rows;
    }
}

// The reference evaluation of the product: integers are the same in both, sums exact.
std::vector<double> meaning_of(const Tensor& x, const QuantizedWeight& weight) {
  std::vector<graph::HostTensor> inputs;
  for (const Tensor& tensor : {x, weight.values, weight.scales, weight.zeros}) {
    if (!tensor.defined()) continue;
    graph::HostTensor& host = inputs.emplace_back(tensor.dtype(), tensor.shape());
    std::vector<double> numbers = tensor.to(DType::f64).to_vector<double>();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      host.set(static_cast<std::int64_t>(i), ir::Scalar::of(tensor.dtype(), numbers[i]));
  }
  graph::Capture capture;
  std::vector<Tensor> given;
  for (const graph::HostTensor& host : inputs)
    given.push_back(capture.placeholder(host.dtype, host.shape));
  given.resize(4);
  graph::Captured captured = capture.finish(
      {quantized_linear(given[0], {given[1], given[2], given[3], weight.activations})});
  return graph::evaluate(captured.graph, inputs, graph::Rounding::double_).outputs[0].floating;
}

const Case rounded_cases[] = {
    {{}, 6, 96, 40, DType::f32},
    {{}, 60, 256, 72, DType::bf16},
    {{.group_size = 48}, 7, 96, 17, DType::f32},
    {{.group_size = 32}, 100, 1024, 96, DType::f32},
    {{.format = WeightFormat::int4}, 9, 64, 33, DType::f16},
    {{.format = WeightFormat::int4, .group_size = 32}, 70, 320, 64, DType::bf16},
    {{.format = WeightFormat::int4, .group_size = 64, .scale_dtype = DType::f16},
     49,
     256,
     48,
     DType::f32},
    {{.format = WeightFormat::int4, .zero_points = true}, 5, 64, 20, DType::f32},
    {{.format = WeightFormat::int4, .group_size = 64, .zero_points = true},
     130,
     192,
     50,
     DType::f32},
};

// With few rows nothing is rounded; with more, each activation is rounded by at most half a step.
TEST(QuantizedLinear, MultipliesIntegersWhereThatIsWanted) {
  for (Case c : rounded_cases) {
    SCOPED_TRACE(testing::Message() << c.rows << " rows of " << c.depth << ", " << c.dtype
                                    << ", groups of " << c.options.group_size);
    c.options.activations = Activations::int8;
    QuantizedWeight weight = quantize(waves({c.width, c.depth}), c.options);
    Tensor x = waves({c.rows, c.depth}, c.dtype);
    double unit = c.dtype == DType::f32 ? 0x1p-20 : c.dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
    std::vector<double> meant = meaning_of(x, weight);
    std::vector<Tensor> results = {quantized_linear(x, weight)};
    for (const char* device : {"cpu", "emulated:sm_80", "emulated:sm_90a"}) {
      const bool takes_long = c.rows * c.depth * c.width > 1 << 20;
      if (takes_long && device != std::string("cpu")) continue;
      auto fast = compile([&](const Tensor& given) { return -quantized_linear(given, weight); },
                          {.device = Device::parse(device)});
      results.push_back(-fast(x));
    }
    for (const Tensor& y : results) {
      std::vector<float> numbers = y.to(DType::f32).to_vector<float>();
      ASSERT_EQ(numbers.size(), meant.size());
      for (std::size_t i = 0; i < numbers.size(); ++i)
        ASSERT_NEAR(numbers[i], meant[i], unit * (1 + std::abs(meant[i]))) << "element " << i;
    }
    expect_linear(quantized_linear(x, weight), x, weight, 0.04);
    Tensor few = x.slice(0, 0, 4).clone();
    expect_linear(quantized_linear(few, weight), few, weight, unit);
  }
}

// Whole numbers up to 127, and scales that share the step that groups get.
TEST(QuantizedLinear, LosesNothingOfWhatIntegersHold) {
  constexpr std::int64_t rows = 64, depth = 128, width = 48;
  std::vector<float> x(rows * depth), scales(width * 2);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = i % depth == 0 ? 127.0F : static_cast<float>(i * i % 251) - 125;
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = i % 2 == 0 ? 15.0F : 0x1p-2F * 12;
  std::vector<std::uint8_t> bytes(width * depth / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 % 256);
  QuantizedWeight weight{Tensor::from(bytes, {width, depth / 2}),
                         Tensor::from(scales, {width, 2}),
                         {},
                         Activations::int8};
  Tensor left = Tensor::from(x, {rows, depth});
  expect_linear(quantized_linear(left, weight), left, weight, 0x1p-22);
}

TEST(QuantizedLinear, KeepsRowsOfZerosAndWhatIsNoNumberToTheirRows) {
  QuantizedWeight weight =
      quantize(waves({40, 64}),
               {.format = WeightFormat::int4, .group_size = 32, .activations = Activations::int8});
  std::vector<float> x = waves({8, 64}).to_vector<float>();
  std::fill(x.begin(), x.begin() + 64, 0.0F);
  x[64 + 3] = NAN;
  x[2 * 64 + 5] = INFINITY;
  x[3 * 64 + 7] = 1e38F;
  std::vector<float> y = quantized_linear(Tensor::from(x, {8, 64}), weight).to_vector<float>();
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i / 40 == 0)
      EXPECT_EQ(y[i], 0);
    else
      EXPECT_EQ(std::isfinite(y[i]), i / 40 > 2) << i;
  }
}

TEST(Quantize, KeepsWeightsToHalfAStep) {
  Tensor x = waves({5, 256});
  std::vector<float> from = x.to_vector<float>();
  for (auto [options, levels] :
       {std::pair{QuantizeOptions{.group_size = 64}, 254.0},
        {QuantizeOptions{.format = WeightFormat::int4, .group_size = 32}, 14.0},
        {QuantizeOptions{.format = WeightFormat::int4, .group_size = 32, .zero_points = true},
         15.0}}) {
    std::vector<double> to = weights_of(quantize(x, options));
    for (std::size_t i = 0; i < from.size(); ++i)
      ASSERT_NEAR(from[i], to[i], 2.0 / levels * 0.51) << levels;
  }
}

TEST(Quantize, SaysWhatDoesNotFit) {
  Tensor x = waves({4, 64});
  auto message = [&](const Tensor& weight, const QuantizeOptions& options) {
    return error_of([&] { quantize(weight, options); });
  };
  expect_contains(message(x.reshape({256}), {}), "it must be floating, [out, in]");
  expect_contains(message(x, {.group_size = 48}), "groups of 48 do not divide rows of 64 weights");
  expect_contains(message(x, {.format = WeightFormat::int4, .group_size = 16}),
                  "groups must be whole blocks of 32");
  expect_contains(message(x, {.zero_points = true}), "only weights of 4 bits have them");
}

TEST(Quantize, RefusesWhatIntegersAndScalesCannotStandFor) {
  auto error = [](float bad, const QuantizeOptions& options) {
    std::vector<float> weight(64, 0.5F);
    weight[35] = bad;
    return error_of([&] { quantize(Tensor::from(weight, {2, 32}), options); });
  };
  expect_contains(error(NAN, {}), "[quantize] the weight's element [1, 3] is nan");
  expect_contains(error(INFINITY, {.format = WeightFormat::int4}), "element [1, 3] is inf");
  for (DType dtype : {DType::i64, DType::i8, DType::boolean, DType::f8e4m3})
    expect_contains(error(1, {.scale_dtype = dtype}), concat("[quantize] scale_dtype is ", dtype));
  expect_contains(error(1e9F, {.scale_dtype = DType::f16}), "of group 1 is inf as f16");
  EXPECT_EQ(error(1e9F, {.scale_dtype = DType::bf16}), "no error");
  std::vector<float> tiny(32, 1e-7F);
  expect_contains(error_of([&] {
                    quantize(Tensor::from(tiny, {1, 32}), {.scale_dtype = DType::f16});
                  }),
                  "of group 0 is 0 as f16");
}

TEST(QuantizedLinear, SaysWhatDoesNotFit) {
  QuantizedWeight whole = quantize(waves({4, 64}), {.group_size = 32});
  QuantizedWeight packed = quantize(waves({4, 64}), {.format = WeightFormat::int4});
  auto message = [](const Tensor& x, const QuantizedWeight& weight) {
    return error_of([&] { quantized_linear(x, weight); });
  };
  Tensor x = waves({2, 64});
  expect_contains(message(x.to(DType::i32), whole), "it must be floating");
  expect_contains(message(waves({2, 32}), whole), "[out, in] with in = x's last size");
  expect_contains(message(x, {x, whole.scales, {}}), "it must be i8, or u8");
  expect_contains(message(x, {whole.values, packed.scales.reshape({1, 4}), {}}),
                  "they must be [4, groups]");
  expect_contains(message(x, {whole.values, Tensor::empty({4, 0}, f32), {}}),
                  "the scales are 4x0, the weight is 4x64; they must be [4, groups]");
  expect_contains(message(x, {whole.values, whole.scales, packed.scales}), "as the scales");
  expect_contains(message(x, {packed.values, waves({4, 4}), {}}), "groups must be whole blocks");
  Tensor odd = waves({2, 48});
  QuantizedWeight deep;
  deep.activations = Activations::int8;
  deep.values = Tensor::empty({1, 1 << 18}, DType::i8);
  deep.scales = Tensor::empty({1, 1}, DType::f32);
  expect_contains(message(Tensor::empty({8, 1 << 18}, DType::f32), deep), "at most 131072 add up");
  deep.values = Tensor::empty({1, 1 << 17}, DType::i8);
  EXPECT_EQ(message(Tensor::empty({8, 1 << 17}, DType::f32), deep), "no error");
  expect_contains(message(odd, {packed.values.slice(1, 0, 24), packed.scales, {}}),
                  "come in blocks of 32");
}

TEST(QuantizedLinear, OfAWeightWithoutRowsHasNoColumns) {
  for (DType dtype : {DType::i8, DType::u8}) {
    const QuantizedWeight weight{.values = zeros({0, dtype == DType::u8 ? 32 : 64}, dtype),
                                 .scales = zeros({0, 2}),
                                 .zeros = {},
                                 .activations = Activations::int8};
    for (std::int64_t rows : {1, 40})
      EXPECT_EQ(quantized_linear(ones({rows, 64}), weight).shape(), (Shape{rows, 0})) << dtype;
  }
}

}  // namespace
}  // namespace tilewright::quantized_test
