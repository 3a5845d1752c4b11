// Options::batch_invariant: products of up to 16 rows have the bits of each row alone, whatever
// blocks they are cut into: of weights of floats, stored either way, and of quantised
// ones.
#include <gtest/gtest.h>

#include "graph/functions/quantized.h"
#include "graph/functions/random/generator.h"
#include "graph/functions/random/random.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/graph/step_rows.h"

namespace tilewright::step_rows_test {
namespace {

using step_rows::expect_rows_alike;

Tensor numbers(const Shape& shape, DType dtype = f32) {
  const Tensor x = randn(shape);
  return dtype == f32 ? x : x.to(dtype);
}

struct Size {
  std::int64_t depth, width;
};
// Small, above the bytes that programs cut into blocks, and without whole vectors.
const Size sizes[] = {{64, 48}, {512, 416}, {1100, 131}};

TEST(StepRows, OfFloatsHaveTheBitsOfEachAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  manual_seed(3);
  for (DType dtype : {f32, bf16})
    for (const Size& s : sizes) {
      SCOPED_TRACE(::testing::Message() << s.depth << "x" << s.width << " of " << dtype);
      const Tensor x = numbers({16, s.depth}, dtype), w = numbers({s.width, s.depth}, dtype),
                   turned = w.transpose(0, 1).contiguous(), bias = numbers({s.width}, dtype);
      expect_rows_alike([&](const Tensor& rows) { return linear(rows, w, bias); }, x);
      expect_rows_alike([&](const Tensor& rows) { return matmul(rows, turned); }, x);
    }
}

TEST(StepRows, OfIntegersWithScalesHaveTheBitsOfEachAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  manual_seed(4);
  const QuantizeOptions ways[] = {
      {},
      {.group_size = 32, .scale_dtype = f16},
      {.format = WeightFormat::int4},
      {.format = WeightFormat::int4, .group_size = 32, .zero_points = true}};
  for (DType dtype : {f32, bf16})
    for (const QuantizeOptions& options : ways)
      for (const Size& s : {Size{64, 48}, Size{1088, 416}}) {
        SCOPED_TRACE(::testing::Message() << s.depth << "x" << s.width << " for " << dtype);
        const QuantizedWeight weight = quantize(numbers({s.width, s.depth}), options);
        expect_rows_alike([&](const Tensor& rows) { return quantized_linear(rows, weight); },
                          numbers({16, s.depth}, dtype));
      }
}

// Sums of so many elements are grouped; and rows of 8 bits may end within a vector.
TEST(StepRows, OfDeepAndUnevenIntegersHaveTheBitsOfEachAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  manual_seed(5);
  for (std::int64_t depth : {8 * 1024 + 328, 333}) {
    const QuantizedWeight weight = quantize(numbers({24, depth}), {});
    expect_rows_alike([&](const Tensor& rows) { return quantized_linear(rows, weight); },
                      numbers({16, depth}));
  }
}

// Weights that the function computes are multiplied as they are made, of a single row element by
// element.
TEST(StepRows, OfComputedAndSharedWeightsHaveTheBitsOfEachAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  manual_seed(8);
  const Tensor x = numbers({16, 304}), by_columns = numbers({304, 200}, bf16),
               by_depth = numbers({200, 304}, f16), scale = numbers({200});
  expect_rows_alike([&](const Tensor& r) { return matmul(r, by_columns.to(f32)); }, x);
  expect_rows_alike([&](const Tensor& r) { return matmul(r, by_columns.to(f32) * scale); }, x);
  expect_rows_alike([&](const Tensor& r) { return linear(r, by_depth.to(bf16)); }, x.to(bf16));
  const QuantizedWeight shared =
      quantize(numbers({32, 128}), {.format = WeightFormat::int4, .group_size = 32});
  expect_rows_alike(
      [&](const Tensor& r) {
        return quantized_linear(r, shared) + quantized_linear(r * 2.0, shared);
      },
      numbers({16, 128}));
}

// Plans for one size and for sizes that change take other blocks of keys.
TEST(StepRows, OfAttentionHaveTheBitsOfEachAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  manual_seed(9);
  const Tensor keys = numbers({1, 2, 139, 32}), values = numbers({1, 2, 139, 32});
  auto attend = [&](const Tensor& r) {
    const std::int64_t rows = r.size(0);
    const Tensor q = r.reshape({rows, 2, 1, 32}), k = keys.expand({rows, 2, 139, 32}),
                 v = values.expand({rows, 2, 139, 32});
    return scaled_dot_product_attention(q, k, v).reshape({rows, 64});
  };
  expect_rows_alike(attend, numbers({16, 64}));
}

TEST(StepRows, AreRefusedWithOptionsThatExcludeThem) {
  auto error = [](const Options& options) {
    return error_of([&] { compile([](const Tensor& x) { return x; }, options); });
  };
  expect_contains(error({.mode = Mode::max_autotune, .batch_invariant = true}),
                  "[compile] batch_invariant is set, and so is a mode that searches");
  expect_contains(error({.batch_invariant = true, .tune_in_background = true}),
                  "batch_invariant is set, and so is tune_in_background");
  expect_contains(error({.backend = Backend::eager, .batch_invariant = true}),
                  "batch_invariant is set with the backend eager");
}

// A norm before a product and a gate behind it are part of the programs.
TEST(StepRows, OfALayerHaveTheBitsOfEachAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  manual_seed(6);
  for (DType dtype : {f32, bf16}) {
    const Tensor x = numbers({16, 256}, dtype), scale = numbers({256}, dtype),
                 gate = numbers({384, 256}, dtype), up = numbers({384, 256}, dtype),
                 down = numbers({256, 384}, dtype);
    expect_rows_alike(
        [&](const Tensor& rows) {
          const Tensor normed = rms_norm(rows, scale, 1e-6);
          return rows + linear(silu(linear(normed, gate)) * linear(normed, up), down);
        },
        x);
  }
}

// A single row of a quantised weight is summed element by element; a plain weight in the same
// program is not.
TEST(StepRows, OfPlainWeightsBehindQuantisedOnesHaveTheBitsOfEachAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  manual_seed(7);
  for (DType dtype : {f32, bf16})
    for (const Size& s : {Size{256, 128}, Size{96, 384}}) {
      const QuantizedWeight first = quantize(numbers({s.width, s.depth}), {});
      const Tensor second = numbers({s.depth, s.width}, dtype);
      expect_rows_alike(
          [&](const Tensor& rows) { return linear(quantized_linear(rows, first), second); },
          numbers({16, s.depth}, dtype));
    }
}

}  // namespace
}  // namespace tilewright::step_rows_test
