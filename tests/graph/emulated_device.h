// Compiled functions on emulated GPUs, compared with the same functions op by op on the host.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <sstream>

#include "dsl/launch/device.h"
#include "graph/compile/compile.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"
#include "tests/graph/noise.h"

namespace tilewright::testing_emulated {

inline const AttentionOptions at_the_end{.causal = true,
                                         .alignment = CausalAlignment::bottom_right};

inline Tensor numbers(const std::vector<std::int64_t>& x) {
  return Tensor::from(x, {static_cast<std::int64_t>(x.size())});
}
inline std::vector<double> elements_of(const Tensor& x) {
  if (x.dtype() == DType::i64) {
    auto integers = x.to_vector<std::int64_t>();
    return {integers.begin(), integers.end()};
  }
  auto floats = x.to(DType::f32).to_vector<float>();
  return {floats.begin(), floats.end()};
}
inline void expect_near(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  ASSERT_EQ(a.dtype(), b.dtype());
  auto x = elements_of(a), y = elements_of(b);
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(std::abs(x[i] - y[i]), tolerance * (1 + std::abs(y[i]))) << "element " << i;
}

// The most elements of any tile of the programs.
inline std::int64_t largest_tile(const std::string& dump) {
  std::int64_t largest = 0;
  std::regex tile(R"(: [a-z0-9]+\[([0-9x]+)\])");
  bool in_program = false;
  std::stringstream lines(dump);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("func")) in_program = true;
    if (line.starts_with("}")) in_program = false;
    std::smatch match;
    if (!in_program || !std::regex_search(line, match, tile)) continue;
    std::int64_t count = 1;
    std::stringstream sizes(match[1].str());
    for (std::string size; std::getline(sizes, size, 'x');) count *= std::stoll(size);
    largest = std::max(largest, count);
  }
  return largest;
}

class EmulatedDevice : public ::testing::TestWithParam<const char*> {
 protected:
  // The reference for f32 is computed in f64: its own error, which differs from one processor to
  // another, would add to that of the tested code.
  static std::vector<Tensor> reference_arguments(std::vector<Tensor> arguments) {
    for (Tensor& x : arguments)
      if (x.dtype() == DType::f32) x = x.to(DType::f64);
    return arguments;
  }

  // Compiled for the device, the function gives the same result as op by op on the host.
  template <typename F>
  void expect_same(F function, const std::vector<Tensor>& arguments, double tolerance = 2e-5,
                   MatmulPrecision precision = MatmulPrecision::highest) {
    CompiledFunction fast(
        [=](const std::vector<Tensor>& a) { return detail::call_with(function, a); },
        {.fullgraph = true, .matmul_precision = precision, .device = Device::emulated(GetParam())});
    Tensor actual = fast.call(arguments).front();
    Tensor expected = detail::call_with(function, reference_arguments(arguments)).tensors.front();
    expect_near(actual, expected.to(actual.dtype()), tolerance);
    EXPECT_LE(largest_tile(fast.dump()), 32 << 10) << fast.dump();
    EXPECT_GT(largest_tile(fast.dump()), 1);
  }
};

}  // namespace tilewright::testing_emulated
