// The bytes of intermediate values are known before anything is recorded: of many functions, what a
// plan foresees is what its recording takes on the device.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "runtime/cuda/context.h"
#include "tests/cuda/fake_driver.h"

namespace tilewright::arena_test {
namespace {

using Function = Tensor (*)(const Tensor& x, const Tensor& w);

// x [96, 64], w [64, 64]: too many rows for one product to be computed within another.
constexpr Function functions[] = {
    [](const Tensor& x, const Tensor&) { return x * 2; },
    [](const Tensor& x, const Tensor&) { return softmax(x, 1); },
    [](const Tensor& x, const Tensor&) { return softmax(x, 0); },
    [](const Tensor& x, const Tensor&) { return layer_norm(x); },
    [](const Tensor& x, const Tensor&) { return x - mean(x); },
    [](const Tensor& x, const Tensor&) { return x / sum(x, {0}, true); },
    [](const Tensor& x, const Tensor& w) { return matmul(x, w); },
    [](const Tensor& x, const Tensor& w) { return matmul(matmul(x, w), w); },
    [](const Tensor& x, const Tensor& w) { return matmul(relu(matmul(x, w)), w) + x; },
    [](const Tensor& x, const Tensor& w) { return softmax(matmul(x, w), 1); },
    [](const Tensor& x, const Tensor& w) { return matmul(softmax(x, 1), w); },
    [](const Tensor& x, const Tensor& w) { return layer_norm(matmul(layer_norm(x), w)); },
    [](const Tensor& x, const Tensor& w) { return linear(rms_norm(x), w) * x; },
    [](const Tensor& x, const Tensor& w) { return gelu(linear(x, w)) + silu(linear(x, w * 2)); },
    [](const Tensor& x, const Tensor& w) { return matmul(matmul(x, w), matmul(w, w)); },
    [](const Tensor& x, const Tensor&) { return matmul(x, x.transpose(0, 1)); },
    [](const Tensor& x, const Tensor&) { return sum(matmul(x.transpose(0, 1), x), {1}); },
    [](const Tensor& x, const Tensor& w) {
      return cat({matmul(x, w), x}, 1);
    },
    [](const Tensor& x, const Tensor& w) { return embedding(argmax(matmul(x, w), 1), w); },
    [](const Tensor& x, const Tensor& w) { return sum(x, {0}) + sum(matmul(x, w), {0}); },
    [](const Tensor& x, const Tensor&) {
      Tensor heads = x.reshape({1, 96, 4, 16}).permute({0, 2, 1, 3});
      return scaled_dot_product_attention(heads, heads, heads, {.causal = true});
    },
    [](const Tensor& x, const Tensor& w) {
      Tensor h = x;
      for (int layer = 0; layer < 3; ++layer) h = h + matmul(relu(layer_norm(matmul(h, w))), w);
      return h;
    },
    [](const Tensor& x, const Tensor& w) {
      return cross_entropy(matmul(x, w), remainder(arange(0, 96), 64));
    },
    [](const Tensor& x, const Tensor& w) {
      return exp(x - amax(matmul(x, w), {0, 1}, true));
    },
};

TEST(CudaArena, TakesTheBytesThatThePlanForesees) {
  static_assert(std::size(functions) >= 20);
  int with_values_between = 0;
  for (std::size_t i = 0; i < std::size(functions); ++i) {
    cuda::FakeDriver fake;
    std::vector<float> elements(96 * 64);
    for (std::size_t k = 0; k < elements.size(); ++k)
      elements[k] = 0.01F * static_cast<float>(k % 13) - 0.05F;
    Tensor x = Tensor::from(elements, {96, 64}).to(Device::cuda());
    Tensor w = x.slice(0, 16, 80);
    Compiled fast =
        compile([f = functions[i]](const Tensor& x, const Tensor& w) { return f(x, w); },
                {.mode = Mode::reduce_overhead});
    fast(x, w).device().synchronize();
    std::int64_t foreseen = fast.report()[0].arena_bytes;
    with_values_between += foreseen > 0;
    std::int64_t taken = cuda::context(0).pool().bytes_of("intermediate values");
    EXPECT_EQ(taken, (foreseen + 511) / 512 * 512) << "function " << i;
  }
  EXPECT_GE(with_values_between, 10);
}

}  // namespace
}  // namespace tilewright::arena_test
