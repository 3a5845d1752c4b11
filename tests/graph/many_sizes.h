// Functions on the host that are called with many sizes, and comparing their results.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "graph/compile/compile.h"
#include "tests/tensors.h"

namespace tilewright::testing_sizes {

using SizeList = std::vector<std::int64_t>;
// Two classes, with primes, powers of two and their neighbours; the last block of rows is never
// full where blocks have more than one.
inline const SizeList many_sizes = {17,  16,  31,  32,  33,  63,  64,  65, 97,
                                 127, 128, 129, 200, 255, 257, 300, 511};

inline Tensor rows_of(std::int64_t rows, std::int64_t width) { return sin(ramp({rows, width})); }

inline Options on_host(Dynamic dynamic) { return {.dynamic = dynamic, .device = Device::cpu()}; }

// Sums may be in another order.
inline void expect_same(const Tensor& actual, const Tensor& expected, double most = 2e-6) {
  ASSERT_EQ(actual.shape(), expected.shape());
  EXPECT_LE(relative_difference(actual.to(DType::f32).to_vector<float>(),
                                expected.to(DType::f32).to_vector<float>()),
            most);
}

}  // namespace tilewright::testing_sizes
