// What quantisation refuses.
#include <gtest/gtest.h>

#include "graph/functions/convolving/convolution.h"
#include "graph/functions/quantisation/affine.h"
#include "graph/functions/quantisation/linear.h"
#include "graph/functions/quantisation/qparams.h"
#include "graph/functions/quantisation/rescaled.h"
#include "tests/errors.h"

namespace tilewright::quantisation_misuse_test {
namespace {

TEST(QuantisationMisuse, SaysWhatDoesNotFit) {
  const Tensor x = zeros({2, 4}), one = ones({1});
  auto expect = [](const std::function<void()>& call, const std::string& part) {
    expect_contains(error_of(call), part);
  };
  expect([&] { quantize_per_tensor(x.to(i64), 1.0, 0, {u8}); }, "[quantize_per_tensor] x is i64");
  expect([&] { quantize_per_tensor(x, 0.0, 0, {u8}); }, "[quantize_per_tensor] the scale is 0");
  expect([&] { quantize_per_tensor(x, x, 0, {u8}); }, "the scale is [2x4]");
  expect([&] { quantize_per_tensor(x, 1.0, 0, {f32}); },
         "[quantize_per_tensor] the integers are f32");
  expect(
      [&] {
        quantize_per_tensor(x, 1.0, 0, {i8, -128, 255});
      },
      "[quantize_per_tensor] the range is from -128 to 255");
  expect([&] { quantize_per_channel(x, ones({3}), {}, 0, {i8}); },
         "[quantize_per_channel] scales or zero points are [3], for axis 0 of [2x4]");
  expect([&] { quantize_per_token(x, ones({3}), one, {i8}); },
         "[quantize_per_token] scales or zero points are [");
  expect([&] { quantize_per_channel_group(x, one, one, 3, {i8}); },
         "[quantize_per_channel_group] the group size is 3");
  expect([&] { quantize_per_channel_group(x, one, one, 2, {i8}); },
         "scales or zero points are [1] (at");
  expect([&] { quantize_per_channel_group(zeros({2}), one, one, 2, {i8}); }, "x is [2]");
  expect(
      [&] {
        quantize_affine(x, {1, 3}, one, {}, {i8});
      },
      "[quantize_affine] the block size has 3 along an axis of 4");
  expect([&] { quantize_affine(x, {1}, one, {}, {i8}); },
         "[quantize_affine] the block size is [1], of a tensor [2x4]");
  expect([&] { dequantize_affine(x.to(i8), {1, 2}, one, {}); }, "there are 4 blocks");
  expect([&] { choose_qparams(x, {5, 5}); }, "[choose_qparams] the range is from 5 to 5");
  expect(
      [&] {
        fake_quantize_per_tensor_affine(x, 1.0, 999, {0, 15});
      },
      "[fake_quantize_per_tensor_affine] the zero point is 999");
  expect([&] { fake_quantize_per_tensor_affine(x, 0.0, 1, {0, 15}); }, "the scale is 0");
  expect([&] { fake_quantize_per_tensor_affine(x, 1.0, 1, {10, 5}); }, "the range is from 10 to 5");
  expect([&] { quantize_linear(x, ones({3}), {}, {}); },
         "[quantize_linear] scales [3] for axis 1 of [2x4]");
  expect(
      [&] {
        quantize_linear(x, ones({2, 3}), {}, {.block_size = 3});
      },
      "[quantize_linear] scales [2x3] for blocks of 3 along axis 1 of [2x4]");
  expect([&] { saturated(x, f32); }, "[saturated] the dtype is f32");
  expect([&] { not_saturated(x, f32); }, "[not_saturated] the dtype is f32");
  expect([&] { integer_matmul(x.to(i8), {}, x.to(i8), {}); }, "[integer_matmul] [2x4] times [2x4]");
  expect(
      [&] {
        integer_matmul(x, {}, zeros({4, 2}, i8), {});
      },
      "[integer_matmul] an operand is f32");
  // The function that was called is named, with its line.
  const Tensor bytes = x.to(i8), words = zeros({4, 2}, i16);
  const std::string at = "i16 (at quantisation_misuse_test.cpp:";
  expect([&] { integer_matmul(bytes, {}, words, {}); }, "[integer_matmul] an operand is " + at);
  expect(
      [&] {
        scaled_matmul({bytes, one, {}}, {words, one, {}});
      },
      "[scaled_matmul] an operand is " + at);
  expect(
      [&] {
        dynamic_scaled_matmul(x, {words, one, {}});
      },
      "[dynamic_scaled_matmul] an operand is " + at);
  expect(
      [&] {
        rescaled_gemm({{bytes, one, {}}, {words, one, {}}}, {one, one, i8});
      },
      "[rescaled_gemm] an operand is " + at);
  const Convolve convolve = [](const Tensor& t, const Tensor& w) { return conv1d(t, w); };
  expect(
      [&] {
        integer_convolution(zeros({1, 2, 3}, i32), {}, zeros({1, 2, 1}, i8), {}, convolve);
      },
      "[integer_convolution] an operand is i32 (at quantisation_misuse_test.cpp:");
  expect(
      [&] {
        integer_convolution(zeros({1, 2, 3}, u8), {}, ones({1, 2, 1}), {}, convolve);
      },
      "[integer_convolution] an operand is f32");
  expect([&] { weight_int8pack_mm(x, x, one); }, "[weight_int8pack_mm] x is f32, the weight f32");
  expect(
      [&] {
        dynamic_scaled_matmul(x.to(f64), {x.to(i8), one, {}});
      },
      "[dynamic_scaled_matmul] x is f64");
  expect(
      [&] {
        scaled_matmul({x.to(i8), one, one}, {zeros({4, 2}, i8), one, {}}, ones({3}));
      },
      "[scaled_matmul] a bias [3] for [2x2]");
  expect(
      [&] {
        scaled_gemm({{x.to(i8), one, one}, {zeros({4, 2}, i8), one, {}}, one});
      },
      "[scaled_gemm] what is added is f32 [1] to [2x2]");
}

}  // namespace
}  // namespace tilewright::quantisation_misuse_test
