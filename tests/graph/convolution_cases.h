// Convolutions of all kinds, and what they are by definition in loops, for tests of them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/tensor/tensor.h"
#include "runtime/base/error.h"

namespace tilewright::testing_convolutions {

using Floats = std::vector<float>;

// Three axes; those that are not there have size 1.
struct Extent {
  std::int64_t n = 1, channels = 1, outputs = 1, groups = 1;
  std::vector<std::int64_t> sizes = {1}, kernel = {1}, stride = {1}, padding = {0}, dilation = {1},
                            more = {0};

  int rank() const { return static_cast<int>(sizes.size()); }
  std::int64_t size(int i) const { return sizes[static_cast<std::size_t>(i)]; }
  Shape with(std::int64_t a, std::int64_t b, const std::vector<std::int64_t>& last) const {
    Shape shape = {a, b};
    shape.insert(shape.end(), last.begin(), last.end());
    return shape;
  }
};

// Whole numbers, so that sums are exact in any order.
inline Tensor numbers(const Shape& shape) {
  Floats elements(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<float>(i * 31 % 13) - 6;
  return Tensor::from(elements, shape);
}

// Calls visit(place) for each list of numbers below `sizes`, row-major.
inline void for_each(const std::vector<std::int64_t>& sizes,
                     const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  std::vector<std::int64_t> at(sizes.size(), 0);
  for (std::int64_t i = 0; i < element_count(Shape(sizes)); ++i) {
    std::int64_t rest = i;
    for (std::size_t axis = sizes.size(); axis-- > 0; rest /= sizes[axis])
      at[axis] = rest % sizes[axis];
    visit(at);
  }
}
inline std::int64_t place_in(const std::vector<std::int64_t>& sizes,
                             const std::vector<std::int64_t>& at) {
  std::int64_t place = 0;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) place = place * sizes[axis] + at[axis];
  return place;
}

// Calls visit(index in x, index in y, place in the kernel) for the pairs along the axes that meet:
// x at start, from which a window begins, + place * dilation.
inline void for_each_meeting(
    const Extent& e, const std::vector<std::int64_t>& of_x, const std::vector<std::int64_t>& of_y,
    const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) {
  for_each(of_y, [&](const std::vector<std::int64_t>& window) {
    for_each(e.kernel, [&](const std::vector<std::int64_t>& place) {
      std::vector<std::int64_t> at(window.size());
      for (std::size_t i = 0; i < at.size(); ++i) {
        at[i] = window[i] * e.stride[i] - e.padding[i] + place[i] * e.dilation[i];
        if (at[i] < 0 || at[i] >= of_x[i]) return;
      }
      visit(place_in(of_x, at), place_in(of_y, window), place_in(e.kernel, place));
    });
  });
}

inline Floats wanted(const Extent& e, const Floats& x, const Floats& weight, const Floats& bias,
                     const std::vector<std::int64_t>& result, bool is_transposed) {
  std::int64_t ins = e.channels / e.groups, outs = e.outputs / e.groups;
  std::int64_t from = element_count(Shape(e.sizes)), to = element_count(Shape(result)),
               places = element_count(Shape(e.kernel));
  Floats y(static_cast<std::size_t>(e.n * e.outputs * to));
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = bias[i / static_cast<std::size_t>(to) % static_cast<std::size_t>(e.outputs)];
  auto add = [&](std::int64_t n, std::int64_t c, std::int64_t o, std::int64_t x_at,
                 std::int64_t y_at, std::int64_t place) {
    std::int64_t filter = is_transposed ? c * outs + o % outs : o * ins + c % ins;
    y[static_cast<std::size_t>((n * e.outputs + o) * to + y_at)] +=
        x[static_cast<std::size_t>((n * e.channels + c) * from + x_at)] *
        weight[static_cast<std::size_t>(filter * places + place)];
  };
  for (std::int64_t n = 0; n < e.n; ++n)
    for (std::int64_t o = 0; o < e.outputs; ++o)
      for (std::int64_t c = o / outs * ins; c < (o / outs + 1) * ins; ++c) {
        if (is_transposed)
          for_each_meeting(e, result, e.sizes, [&](auto y_at, auto x_at, auto place) {
            add(n, c, o, x_at, y_at, place);
          });
        else
          for_each_meeting(e, e.sizes, result, [&](auto x_at, auto y_at, auto place) {
            add(n, c, o, x_at, y_at, place);
          });
      }
  return y;
}

inline Tensor convolved(const Extent& e, const Tensor& x, const Tensor& weight,
                        const Tensor& bias) {
  ConvolutionOptions options{
      .stride = e.stride, .padding = e.padding, .dilation = e.dilation, .groups = e.groups};
  if (e.rank() == 1) return conv1d(x, weight, bias, options);
  return e.rank() == 2 ? conv2d(x, weight, bias, options) : conv3d(x, weight, bias, options);
}
inline Tensor transposed(const Extent& e, const Tensor& x, const Tensor& weight,
                         const Tensor& bias) {
  TransposedConvolutionOptions options{.stride = e.stride,
                                       .padding = e.padding,
                                       .output_padding = e.more,
                                       .dilation = e.dilation,
                                       .groups = e.groups};
  if (e.rank() == 1) return conv_transpose1d(x, weight, bias, options);
  return e.rank() == 2 ? conv_transpose2d(x, weight, bias, options)
                       : conv_transpose3d(x, weight, bias, options);
}

// At once, compiled, and compiled with a weight that is packed before.
inline void expect_definition(const Extent& e, bool is_transposed) {
  Tensor x = numbers(e.with(e.n, e.channels, e.sizes)), bias = numbers({e.outputs});
  Tensor weight = numbers(is_transposed ? e.with(e.channels, e.outputs / e.groups, e.kernel)
                                        : e.with(e.outputs, e.channels / e.groups, e.kernel));
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < e.sizes.size(); ++i) {
    std::int64_t reach = e.dilation[i] * (e.kernel[i] - 1);
    result.push_back(is_transposed
                         ? (e.sizes[i] - 1) * e.stride[i] - 2 * e.padding[i] + reach + e.more[i] + 1
                         : (e.sizes[i] + 2 * e.padding[i] - reach - 1) / e.stride[i] + 1);
  }
  Floats want = wanted(e, x.to_vector<float>(), weight.to_vector<float>(), bias.to_vector<float>(),
                       result, is_transposed);
  auto function = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    return is_transposed ? transposed(e, a, b, c) : convolved(e, a, b, c);
  };
  SCOPED_TRACE(concat("x ", x.shape(), ", weight ", weight.shape()));
  auto of_x = [&](const Tensor& a) { return function(a, weight, bias); };
  for (const Tensor& y : {function(x, weight, bias), compile(function)(x, weight, bias),
                          compile(of_x, {.freezing = true})(x)}) {
    EXPECT_EQ(y.shape(), e.with(e.n, e.outputs, result));
    EXPECT_EQ(y.to_vector<float>(), want);
  }
}

}  // namespace tilewright::testing_convolutions
