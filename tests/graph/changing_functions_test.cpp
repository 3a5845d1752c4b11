// Functions with many sizes are right wherever the sizes change: a table of operations, and
// attention.
#include <gtest/gtest.h>

#include <limits>

#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/graph/many_sizes.h"
#include "tests/tensors.h"

namespace tilewright::changing_functions_test {
namespace {

using namespace testing_sizes;

// Each function as a name, its shape for a size, and itself.
struct Shaped {
  const char* name;
  Shape (*shape)(std::int64_t size);
  Tensor (*function)(const Tensor& x);
};
const Shaped shaped[] = {
    {"softmax of rows",
     [](std::int64_t n) {
       return Shape{n, 100};
     },
     [](const Tensor& x) { return softmax(x, -1); }},
    {"softmax of columns",
     [](std::int64_t n) {
       return Shape{100, n};
     },
     [](const Tensor& x) { return softmax(x, -1); }},
    {"softmax along the first axis",
     [](std::int64_t n) {
       return Shape{n, 40};
     },
     [](const Tensor& x) { return softmax(x, 0); }},
    {"sum over what changes",
     [](std::int64_t n) {
       return Shape{n, 40};
     },
     [](const Tensor& x) { return sum(x, {0}); }},
    {"transposed",
     [](std::int64_t n) {
       return Shape{n, 40};
     },
     [](const Tensor& x) { return x.transpose(0, 1) * 2 + 1; }},
    {"transposed, the other way round",
     [](std::int64_t n) {
       return Shape{40, n};
     },
     [](const Tensor& x) { return x.transpose(0, 1) * 2 + 1; }},
    {"a chain over contiguous elements", [](std::int64_t n) { return Shape{n}; },
     [](const Tensor& x) { return tanh(x) * 2 + exp(x); }},
    {"a row is added to each",
     [](std::int64_t n) {
       return Shape{n, 24};
     },
     [](const Tensor& x) { return x + ramp({24}); }},
    {"heads",
     [](std::int64_t n) {
       return Shape{2, n, 32};
     },
     [](const Tensor& x) {
       Tensor heads = x.reshape({2, x.size(1), 4, 8}).transpose(1, 2);
       return matmul(softmax(matmul(heads, heads.transpose(2, 3)), -1), heads);
     }},
    {"product with itself",
     [](std::int64_t n) {
       return Shape{n, 40};
     },
     [](const Tensor& x) { return matmul(x.transpose(0, 1), x); }},
    {"arg max of rows",
     [](std::int64_t n) {
       return Shape{n, 33};
     },
     [](const Tensor& x) { return argmax(x, -1); }},
    {"a part of the rows",
     [](std::int64_t n) {
       return Shape{n, 33};
     },
     [](const Tensor& x) { return x.slice(0, 1, x.size(0)) + x.slice(0, 0, x.size(0) - 1); }},
    {"wide rows",
     [](std::int64_t n) {
       return Shape{n, 3000};
     },
     [](const Tensor& x) { return x - mean(x, {-1}, true); }},
};

TEST(ChangingSizes, AreRightWhereverTheyChange) {
  for (const Shaped& one : shaped) {
    Compiled many = compile(one.function, on_host(Dynamic::always));
    for (std::int64_t size : {1, 2, 15, 16, 17, 64, 67, 130, 257}) {
      SCOPED_TRACE(concat(one.name, " of ", size));
      Tensor x = sin(ramp(one.shape(size)));
      if (element_count(one.function(x).shape()) == 0) continue;
      expect_same(many(x), one.function(x));
    }
  }
}

// Attention of 6 heads that share 2 of keys, in rows of [batch, rows, heads * size] as of a layer,
// or in heads apart.
struct Attended {
  const char* name;
  std::int64_t head_size, extra_keys;  // keys that are before the first row
  bool apart;
  AttentionOptions options;
  // A mask for scores [batch, heads, rows, keys].
  Tensor (*mask)(std::int64_t batch, std::int64_t rows, std::int64_t keys) = nullptr;
};
// Each text has its own number of keys, as in an encoder.
Tensor seen_keys(std::int64_t batch, std::int64_t, std::int64_t keys) {
  Tensor last = arange(1, batch + 1).reshape({batch, 1, 1, 1}) * 5 + (keys - batch * 5 - 1);
  return arange(0, keys) <= last;
}
Tensor bias_of_places(std::int64_t, std::int64_t rows, std::int64_t keys) {
  return sin(ramp({6, rows, keys}));
}
Tensor hidden_corner(std::int64_t batch, std::int64_t rows, std::int64_t keys) {
  Tensor hides = arange(0, keys) > arange(0, rows).unsqueeze(1) + 3;
  Tensor number = where(hides, std::numeric_limits<float>::lowest(), 0.0);
  return number.expand({batch, 1, rows, keys});
}
const Attended attended[] = {
    {"plain", 64, 0, false, {}},
    {"causal", 64, 0, false, {.causal = true}},
    {"causal, heads apart", 48, 0, true, {.causal = true}},
    {"causal, keys before",
     32,
     37,
     false,
     {.causal = true, .alignment = CausalAlignment::bottom_right}},
    {"in a window", 64, 0, false, {.causal = true, .window = 40}},
    {"wide heads", 96, 11, true, {}},
    {"keys of each text", 64, 0, false, {}, seen_keys},
    {"a bias", 32, 0, false, {}, bias_of_places},
    {"a bias, causal", 64, 5, true, {.causal = true}, bias_of_places},
    {"a hidden corner", 64, 0, false, {}, hidden_corner},
};

TEST(ChangingSizes, AreRightInAttention) {
  for (const Attended& one : attended)
    for (DType dtype : {DType::f32, DType::bf16}) {
      auto function = [&](const Tensor& q, const Tensor& k, const Tensor& mask) {
        AttentionOptions options = one.options;
        if (one.mask != nullptr) options.mask = mask;
        return scaled_dot_product_attention(q, k, k * 0.5, options);
      };
      Compiled many = compile(function, on_host(Dynamic::always));
      auto heads = [&](std::int64_t batch, std::int64_t rows, std::int64_t count) {
        if (one.apart) return sin(ramp({batch, count, rows, one.head_size})).to(dtype);
        return sin(ramp({batch, rows, count, one.head_size})).to(dtype).permute({0, 2, 1, 3});
      };
      for (auto [batch, rows] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
               {1, 1}, {2, 13}, {1, 47}, {1, 67}, {2, 130}, {2, 257}}) {
        SCOPED_TRACE(concat(one.name, ", ", dtype, ", ", batch, " x ", rows));
        Tensor q = heads(batch, rows, 6), k = heads(batch, rows + one.extra_keys, 2);
        Tensor mask =
            one.mask != nullptr ? one.mask(batch, rows, rows + one.extra_keys) : ramp({1});
        Compiled alone = compile(function, on_host(Dynamic::never));
        expect_same(many(q, k, mask), alone(q, k, mask), dtype == DType::f32 ? 2e-6 : 2e-2);
      }
    }
}

}  // namespace
}  // namespace tilewright::changing_functions_test
