// Quantisation against its definition, and numbers of PyTorch 2.15 and torchao 0.18.
#include "graph/functions/quantisation/affine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/functions/quantisation/linear.h"
#include "graph/functions/quantisation/packed_bits.h"
#include "graph/functions/quantisation/qparams.h"
#include "graph/functions/quantisation/rescaled.h"
#include "tests/errors.h"
#include "tests/graph/at_once_and_compiled.h"

namespace tilewright::quantisation_test {
namespace {

using testing_loops::expect_at_once_and_compiled;
using testing_loops::Floats;
using testing_loops::Integers;
using testing_loops::Tensors;

Tensor x() { return Tensor::from(Floats{-1.5, -0.25, 0.125, 0.75, 2.5, 100, -100, 0}, {2, 4}); }
Tensor floats(const Floats& elements, const Shape& shape) { return Tensor::from(elements, shape); }
Tensor integers(const Integers& elements, const Shape& shape) {
  return Tensor::from(elements, shape);
}
void expect_integers(const std::function<Tensor(const Tensor&)>& f, const Tensor& operand,
                     DType dtype, const Integers& wanted) {
  expect_at_once_and_compiled([&](const Tensors& t) -> Tensors { return {f(t[0])}; }, {operand},
                              [&](const Tensors& got) {
                                EXPECT_EQ(got[0].dtype(), dtype);
                                EXPECT_EQ(got[0].to(i64).to_vector<std::int64_t>(), wanted);
                              });
}

TEST(Quantisation, RoundsToTheScaleOfATensor) {
  const Integers wanted = {0, 2, 3, 6, 13, 255, 0, 3};
  expect_integers([](const Tensor& t) { return quantize_per_tensor(t, 0.25, 3, {u8}); }, x(), u8,
                  wanted);
  const Tensor scale = full({1}, 0.25, f64), zero = integers({3}, {1});
  expect_integers([&](const Tensor& t) { return quantize_per_tensor(t, scale, zero, {u8}); }, x(),
                  u8, wanted);
  expect_integers(
      [&](const Tensor& t) {
        return quantize_per_tensor(t, scale, zero, integers({1}, {1}), integers({9}, {1}), u8);
      },
      x(), u8, {1, 2, 3, 6, 9, 9, 1, 3});
  const Tensor stored = integers({0, 3, 255}, {3}).to(u8);
  EXPECT_EQ(dequantize_per_tensor(stored, 0.25, 3).to_vector<float>(), (Floats{-0.75, 0, 63}));
  EXPECT_EQ(dequantize_per_tensor(stored, scale, zero, f64).dtype(), f64);
}

TEST(Quantisation, RoundsToTheScalesOfChannelsTokensAndGroups) {
  const Tensor scales = floats({0.25, 0.5}, {2}), zeros = integers({0, -7}, {2});
  expect_integers([&](const Tensor& t) { return quantize_per_channel(t, scales, zeros, 0, {i8}); },
                  x(), i8, {-6, -1, 0, 3, -2, 127, -128, -7});
  const Tensor stored = integers({1, 2, 3, 4}, {2, 2}).to(i8);
  EXPECT_EQ(dequantize_per_channel(stored, scales, zeros, 1).to_vector<float>(),
            (Floats{0.25, 4.5, 0.75, 5.5}));
  EXPECT_EQ(dequantize_per_channel(stored, scales, {}, -1).to_vector<float>(),
            (Floats{0.25, 1, 0.75, 2}));
  const Tensor of_rows = floats({0.5, 1}, {2, 1}), zero_of_rows = integers({0, 1}, {2, 1});
  expect_integers(
      [&](const Tensor& t) { return quantize_per_token(t, of_rows, zero_of_rows, {i8}); }, x(), i8,
      {-3, 0, 0, 2, 4, 101, -99, 1});
  EXPECT_EQ(dequantize_per_token(stored, of_rows, zero_of_rows).to_vector<float>(),
            (Floats{0.5, 1, 2, 3}));
  const Tensor of_groups = floats({0.5, 0.25, 1, 2}, {2, 2}),
               zero_of_groups = integers({0, 1, 2, 3}, {2, 2});
  expect_integers(
      [&](const Tensor& t) {
        return quantize_per_channel_group(t, of_groups, zero_of_groups, 2, {i8, -8, 7});
      },
      x(), i8, {-3, 0, 2, 4, 4, 7, -8, 3});
  EXPECT_EQ(dequantize_per_channel_group(integers({1, 2, 3, 4}, {1, 4}).to(i8),
                                         floats({0.5, 2}, {1, 2}), {}, 2)
                .to_vector<float>(),
            (Floats{0.5, 1, 6, 8}));
}

TEST(Quantisation, HasScalesOfBlocks) {
  const Tensor scale = floats({0.5, 0.25, 1, 2}, {2, 2}), zero = integers({0, 1, 2, 3}, {2, 2});
  expect_integers(
      [&](const Tensor& t) {
        return quantize_affine(t, {1, 2}, scale, zero, {i8, -8, 7});
      },
      x(), i8, {-3, 0, 1, 4, 4, 7, -8, 3});
  EXPECT_EQ(
      dequantize_affine(integers({1, 2, 3, 4}, {2, 2}).to(i8), {2, -1}, floats({0.5}, {1}), {})
          .to_vector<float>(),
      (Floats{0.5, 1, 1.5, 2}));
}

TEST(Quantisation, ChoosesScales) {
  auto [scale, zero] = choose_qparams(x(), {0, 255, 0.000244140625});
  EXPECT_EQ(scale.to_vector<double>(), std::vector<double>{0.7843137383460999});
  EXPECT_EQ(zero.to_vector<std::int64_t>(), Integers{128});
  auto symmetric = choose_qparams_symmetric(x(), {-127, 127, 0.000244140625});
  EXPECT_EQ(symmetric.scale.to_vector<double>(), std::vector<double>{0.787401556968689});
  EXPECT_EQ(symmetric.zero_point.to_vector<std::int64_t>(), Integers{0});
  EXPECT_EQ(choose_qparams_per_token(x()).scale.to_vector<float>(),
            (Floats{1.5F / 127, 100.0F / 127}));
  auto asymmetric = choose_qparams_per_token_asymmetric(floats({-1, 254}, {1, 2}));
  EXPECT_EQ(asymmetric.scale.to_vector<double>(), std::vector<double>{1});
  EXPECT_EQ(asymmetric.zero_point.to_vector<std::int64_t>(), Integers{-127});
  auto affine = choose_qparams_affine(x(), {1, 2}, {.type = {i8}, .eps = 1e-5});
  EXPECT_EQ(affine.scale.to_vector<float>(), (Floats{0.0058823530562222F, 0.0029411765281111F,
                                                     0.3921568691730499F, 0.3921568691730499F}));
  EXPECT_EQ(affine.zero_point.to(i64).to_vector<std::int64_t>(), (Integers{127, -128, -128, 127}));
  auto kept = choose_qparams_affine(
      x(), {-1, 2},
      {.mapping = AffineMapping::symmetric_no_clipping_error, .type = {i8}, .keep_dims = true});
  EXPECT_EQ(kept.scale.shape(), (Shape{1, 2}));
  EXPECT_EQ(kept.scale.to_vector<float>(), (Floats{100.0F / 127, 100.0F / 128}));
}

TEST(Quantisation, IsSeenByTraining) {
  auto [faked, within] = fake_quantize_per_tensor_affine_cachemask(x(), 0.25, 3, {0, 15});
  EXPECT_EQ(faked.to_vector<float>(), (Floats{-0.75, -0.25, 0, 0.75, 2.5, 3, -0.75, 0}));
  EXPECT_EQ(within.to(i64).to_vector<std::int64_t>(), (Integers{0, 1, 1, 1, 1, 0, 0, 1}));
  auto [off, all] = fake_quantize_per_tensor_affine_cachemask(x(), 0.25, 3, zeros({1}), {0, 15});
  EXPECT_EQ(off.to_vector<float>(), x().to_vector<float>());
  EXPECT_EQ(all.to(i64).to_vector<std::int64_t>(), Integers(8, 1));
  const Tensor channels = fake_quantize_per_channel_affine(x(), floats({0.25, 1}, {2}),
                                                           integers({3, 0}, {2}), 0, {0, 15});
  EXPECT_EQ(channels.to_vector<float>(), (Floats{-0.75, -0.25, 0, 0.75, 2, 15, 0, 0}));
}

TEST(Quantisation, IsLinearInOnnx) {
  // Quotients are true ones: 0.5 / 0.1 is 5 and rounds so, halves go to even integers.
  expect_integers(
      [](const Tensor& t) {
        return quantize_linear(t, full({}, 2.0), full({}, 128, u8), {.dtype = u8});
      },
      floats({-300, -3, -1, 1, 3, 5, 300}, {7}), u8, {0, 126, 128, 128, 130, 130, 255});
  const Tensor blocks = quantize_linear(floats({1, 2, 3, 4, 5}, {1, 5}), floats({1, 2, 5}, {1, 3}),
                                        {}, {.axis = 1, .block_size = 2, .dtype = i8});
  EXPECT_EQ(blocks.to(i64).to_vector<std::int64_t>(), (Integers{1, 2, 2, 2, 1}));
  EXPECT_EQ(
      dequantize_linear(blocks, floats({1, 2, 5}, {1, 3}), full({1, 3}, 1, i8), {.block_size = 2})
          .to_vector<float>(),
      (Floats{0, 1, 2, 2, 0}));
  EXPECT_EQ(saturated(floats({1e9F, -1e9F, 1}, {3}), f8e4m3).to(f32).to_vector<float>(),
            (Floats{448, -448, 1}));
  const DynamicallyQuantized found =
      dynamic_quantize_linear(floats({0, 2, -3, -2.5, 1.34F, 0.5F}, {6}));
  EXPECT_NEAR(found.scale.item<float>(), 0.0196078438F, 1e-9F);
  EXPECT_EQ(found.zero_point.item<float>(), 153);
  EXPECT_EQ(found.steps.to_vector<float>(), (Floats{153, 255, 0, 26, 221, 179}));
  EXPECT_EQ(dynamic_quantize_linear(zeros({3})).scale.item<float>(), 1);
}

// NaN as 0.125, which none of the numbers below becomes.
Floats with_marks(const Tensor& values) {
  return where(values != values, 0.125, values).to_vector<float>();
}
// Casts as PyTorch 2.15's on CPUs, and casts that do not saturate as ONNX's reference.
TEST(Quantisation, CastsToFloatsOf8BitsBeyondTheirRange) {
  constexpr float inf = std::numeric_limits<float>::infinity(), mark = 0.125F;
  const Floats one = {448,           464,  464.1F, 500,   1e5F,  inf,   -inf,
                      std::nanf(""), -500, 248,    57344, 61439, 61440, -1e30F};
  struct Case {
    DType dtype;
    Floats cast, not_saturated, saturated;
  };
  const Case cases[] = {
      {f8e4m3,
       {448, 448, 448, 448, 448, 448, -448, mark, -448, 256, 448, 448, 448, -448},
       {448, 448, mark, mark, mark, mark, mark, mark, mark, 256, mark, mark, mark, mark},
       {448, 448, 448, 448, 448, 448, -448, mark, -448, 256, 448, 448, 448, -448}},
      {f8e5m2,
       {448, 448, 448, 512, inf, inf, -inf, mark, -512, 256, 57344, 57344, inf, -inf},
       {448, 448, 448, 512, inf, inf, -inf, mark, -512, 256, 57344, 57344, inf, -inf},
       {448, 448, 448, 512, 57344, 57344, -57344, mark, -512, 256, 57344, 57344, 57344, -57344}},
      {f8e4m3fnuz,
       {mark, mark, mark, mark, mark, mark, mark, mark, mark, mark, mark, mark, mark, mark},
       {mark, mark, mark, mark, mark, mark, mark, mark, mark, mark, mark, mark, mark, mark},
       {240, 240, 240, 240, 240, 240, -240, mark, -240, 240, 240, 240, 240, -240}},
      {f8e5m2fnuz,
       {448, 448, 448, 512, mark, mark, mark, mark, -512, 256, 57344, 57344, mark, mark},
       {448, 448, 448, 512, mark, mark, mark, mark, -512, 256, 57344, 57344, mark, mark},
       {448, 448, 448, 512, 57344, 57344, -57344, mark, -512, 256, 57344, 57344, 57344, -57344}}};
  for (const Case& each : cases)
    for (const DType from : {f32, f64})
      expect_at_once_and_compiled(
          [&](const Tensors& t) -> Tensors {
            const Tensor many = cat({t[0], t[0], t[0]}, 0).to(from);
            return {many.to(each.dtype).to(f32), not_saturated(many, each.dtype).to(f32),
                    saturated(many, each.dtype).to(f32)};
          },
          {floats(one, {14})},
          [&](const Tensors& got) {
            for (int copy = 0; copy < 3; ++copy) {
              auto part = [&](std::size_t i) {
                return with_marks(got[i].slice(0, 14 * copy, 14 * copy + 14));
              };
              EXPECT_EQ(part(0), each.cast) << each.dtype << " from " << from;
              EXPECT_EQ(part(1), each.not_saturated) << each.dtype << " from " << from;
              EXPECT_EQ(part(2), each.saturated) << each.dtype << " from " << from;
            }
          });
}

TEST(Quantisation, ProductsAreOfIntegers) {
  const Tensor a = integers({1, 2, 3, 4}, {2, 2}).to(u8), b = integers({5, 6, 7, 8}, {2, 2}).to(u8);
  const Tensor one = full({1}, 1, u8);
  // [[0, 1], [2, 3]] times [[4, 5], [6, 7]].
  EXPECT_EQ(integer_matmul(a, one, b, one).to(i64).to_vector<std::int64_t>(),
            (Integers{6, 7, 26, 31}));
  const Tensor half = full({}, 0.5), unit = full({}, 1.0);
  EXPECT_EQ(scaled_matmul({a, half, unit}, {b, floats({1, 2}, {2}), one}, floats({1, 0}, {2}))
                .to_vector<float>(),
            (Floats{4, 7, 14, 31}));
  EXPECT_EQ(quantized_matmul({a, full({1}, 0.5), one}, {b, full({1}, 1.0), one},
                             {full({1}, 2.0), full({1}, 10, u8)})
                .to(i64)
                .to_vector<std::int64_t>(),
            (Integers{12, 12, 16, 18}));
  EXPECT_EQ(weight_int8pack_mm(floats({1, 2}, {1, 2}), integers({3, 4, 5, 6}, {2, 2}).to(i8),
                               floats({1, 0.5F}, {2}))
                .to_vector<float>(),
            (Floats{11, 8.5F}));
  const ScaledGemm product{{a, half, unit}, {b, unit, one}, full({2}, 2, i32), 2};
  EXPECT_EQ(scaled_gemm(product).to_vector<float>(), (Floats{8, 9, 28, 33}));
  EXPECT_EQ(
      rescaled_gemm(product, {full({}, 3.0), full({}, 1.0), u8}).to(i64).to_vector<std::int64_t>(),
      (Integers{4, 4, 10, 12}));
}

TEST(Quantisation, FunctionsOfIntegersGiveIntegers) {
  const Tensor unit = full({}, 1.0), half = full({}, 0.5), none = full({}, 0.0);
  const ScaledIntegers a{integers({2, 4}, {2}).to(i8), half, none},
      b{integers({1, -3}, {2}).to(i8), unit, none};
  const ScaledForm form{half, unit, i8};
  auto values = [](const Tensor& t) { return t.to(i64).to_vector<std::int64_t>(); };
  EXPECT_EQ(values(rescaled(a, form)), (Integers{3, 5}));
  EXPECT_EQ(values(rescaled_add(a, b, form)), (Integers{5, -1}));
  EXPECT_EQ(values(rescaled_mul(a, b, form)), (Integers{3, -11}));
  EXPECT_EQ(values(rescaled_cat({a, b}, 0, form)), (Integers{3, 5, 3, -5}));
  EXPECT_EQ(values(rescaled_where(b.integers > 0, a, b, form)), (Integers{3, -5}));
  EXPECT_EQ(values(rescaled_leaky_relu(b, 0.5, form)), (Integers{3, -2}));
  EXPECT_EQ(values(rescaled_sigmoid({zeros({1}, i8), unit, none}, form)), Integers{2});
  EXPECT_EQ(values(rescaled_mean(a, {0}, form)), Integers{4});
  EXPECT_EQ(values(rescaled_softmax({zeros({4}, i8), unit, none}, {0}, {full({}, 0.25), none, i8})),
            Integers(4, 1));
  expect_contains(error_of([&] {
                    rescaled_add(a, {zeros({2}, u8), unit, none}, form);
                  }),
                  "[rescaled_add] operands are i8 and u8");
}

TEST(Quantisation, BitsShareBytes) {
  const Tensor bytes = integers({0x21, 0x43}, {2}).to(u8);
  auto unpacked = [&](std::int64_t bits) {
    return unpacked_bits(bytes, bits).to(i64).to_vector<std::int64_t>();
  };
  EXPECT_EQ(unpacked(4), (Integers{1, 2, 3, 4}));
  EXPECT_EQ(unpacked(2), (Integers{1, 0, 2, 0, 3, 0, 0, 1}));
  EXPECT_EQ(unpacked(8), (Integers{0x21, 0x43}));
  const Tensor steps = integers({9, 8, 7, 0, 15}, {1, 5}).to(i32);
  EXPECT_EQ(dequantized_blocks({steps, floats({1, 2, 3}, {1, 3}), {}, 2, 4}).to_vector<float>(),
            (Floats{1, 0, -2, -16, 21}));
  EXPECT_EQ(dequantized_blocks(
                {steps.slice(1, 0, 4), floats({1, 2}, {1, 2}), floats({0.5, 1}, {1, 2}), 2, 4})
                .to_vector<float>(),
            (Floats{8.5F, 7.5F, 12, -2}));
  expect_contains(error_of([&] { unpacked_bits(bytes, 3); }), "[unpacked_bits] 3 bits of u8 [2]");
  expect_contains(error_of([&] {
                    dequantized_blocks({steps, floats({1}, {1, 1}), {}, 2, 4});
                  }),
                  "[dequantized_blocks] scales [1x1] for [1x5] in blocks of 2");
}

}  // namespace
}  // namespace tilewright::quantisation_test
