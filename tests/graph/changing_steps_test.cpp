// Random steps of a function are right with many sizes.
#include <gtest/gtest.h>

#include <random>

#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/graph/many_sizes.h"
#include "tests/tensors.h"

namespace tilewright::changing_steps_test {
namespace {

using namespace testing_sizes;

// A chain of steps on rows [n, 48], chosen by chance.
Tensor random_steps(std::uint64_t seed, const Tensor& rows) {
  std::mt19937_64 random(seed);
  Tensor x = rows;
  for (int step = 0; step < 5; ++step) {
    const auto salt = static_cast<double>(random() % 7 + 1);
    switch (random() % 8) {
      case 0: x = gelu(matmul(x, sin(ramp({48, 48}) * salt) * 0.3)); break;
      // A weight that lies along what is summed up, too large to be read as a whole.
      case 1: {
        Tensor wide = cos(ramp({700, 48}) * salt) * 0.2, narrow = sin(ramp({48, 700}) * salt) * 0.1;
        Tensor gate = matmul(x, wide.transpose(0, 1));
        x = x + tanh(matmul(gate * sigmoid(gate), narrow.transpose(0, 1)));
        break;
      }
      case 2: x = x * rsqrt(mean(x * x, {-1}, true) + 1e-2); break;
      case 3: x = softmax(x, -1) * salt; break;
      case 4: x = x + rows * 0.5; break;
      case 5: {
        Tensor heads = x.reshape({1, x.size(0), 3, 16}).permute({0, 2, 1, 3});
        Tensor mixed = scaled_dot_product_attention(heads, heads, heads, {.causal = true});
        x = mixed.permute({0, 2, 1, 3}).reshape({x.size(0), 48});
        break;
      }
      case 6: x = x - x.slice(0, 0, 1) * 0.5; break;
      case 7: x = (x.transpose(0, 1) * 0.7).transpose(0, 1) + ramp({48}) * 0.01; break;
    }
  }
  return x;
}

TEST(ChangingSizes, AreRightInRandomSteps) {
  const std::vector<SizeList> sizes = {
      {1, 2, 17, 64, 129}, {5, 16, 47, 48, 49}, {3, 31, 96, 97, 256}, {1, 13, 33, 127, 300}};
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    auto steps = [&](const Tensor& x) { return random_steps(seed, x); };
    Compiled many = compile(steps, on_host(Dynamic::always));
    for (std::int64_t n : sizes[seed % sizes.size()]) {
      SCOPED_TRACE(concat("seed ", seed, ", ", n, " rows"));
      Tensor x = rows_of(n, 48);
      expect_same(many(x), steps(x), 1e-5);
    }
  }
}

}  // namespace
}  // namespace tilewright::changing_steps_test
