// Compares functions of tensors with their definition in loops, at once and as one compiled graph.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "graph/compile/compile.h"

namespace tilewright::testing_loops {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;
using Place = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

// Calls visit(place) for each element of the shape, row-major.
inline void for_each_place(const Shape& shape, const std::function<void(const Place&)>& visit) {
  Place at(shape.size(), 0);
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    std::int64_t rest = i;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[static_cast<int>(axis)])
      at[axis] = rest % shape[static_cast<int>(axis)];
    visit(at);
  }
}
inline std::size_t number_of(const Shape& shape, const Place& at) {
  std::int64_t number = 0;
  for (std::size_t axis = 0; axis < at.size(); ++axis)
    number = number * shape[static_cast<int>(axis)] + at[axis];
  return static_cast<std::size_t>(number);
}

// The value of the function at each place, row-major.
template <typename T>
std::vector<T> elements(const Shape& shape, const std::function<T(const Place&)>& element) {
  std::vector<T> result;
  for_each_place(shape, [&](const Place& at) { result.push_back(element(at)); });
  return result;
}

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t end) { return between(0, end); }
  std::int64_t between(std::int64_t begin, std::int64_t end) {
    return begin + static_cast<std::int64_t>(engine_() % static_cast<std::uint32_t>(end - begin));
  }
  Tensor integers(const Shape& shape, std::int64_t begin, std::int64_t end) {
    return Tensor::from(
        elements<std::int64_t>(shape, [&](const Place&) { return between(begin, end); }), shape);
  }
  // Between -1 and 1.
  Tensor floats(const Shape& shape) {
    return Tensor::from(
        elements<float>(
            shape, [&](const Place&) { return static_cast<float>(between(-9999, 10000)) / 10000; }),
        shape);
  }

 private:
  std::mt19937 engine_;
};

// Calls check(results, how) with what the function gives at once and compiled.
inline void expect_at_once_and_compiled(const Function& function, const Tensors& arguments,
                                        const std::function<void(const Tensors&)>& check) {
  {
    SCOPED_TRACE("at once");
    check(function(arguments));
  }
  SCOPED_TRACE("compiled");
  CompiledFunction compiled(function, {.fullgraph = true});
  check(compiled.call(arguments));
}

template <typename T>
void expect_equal(const Function& function, const Tensors& arguments, const Shape& shape,
                  const std::vector<T>& wanted) {
  expect_at_once_and_compiled(function, arguments, [&](const Tensors& got) {
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].shape(), shape);
    EXPECT_EQ(got[0].to_vector<T>(), wanted);
  });
}

inline void expect_close(const Tensor& got, const Shape& shape, const std::vector<float>& wanted,
                         float bound) {
  ASSERT_EQ(got.shape(), shape);
  const std::vector<float> values = got.to_vector<float>();
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(values[i], wanted[i], bound * std::max(1.0F, std::abs(wanted[i]))) << i;
}
inline void expect_near(const Function& function, const Tensors& arguments, const Shape& shape,
                        const std::vector<float>& wanted, float bound = 1e-5F) {
  expect_at_once_and_compiled(function, arguments, [&](const Tensors& got) {
    ASSERT_EQ(got.size(), 1U);
    expect_close(got[0], shape, wanted, bound);
  });
}

}  // namespace tilewright::testing_loops
