// A check of derivatives for tests: of rules that a program gives its own operations, above all.
//
//   check_gradients([&](const Tensor& x) { return my_op(x); }, x);
//   check_gradients(loss, std::tuple{parameters, x});
//
// Each floating tensor among the arguments is moved in random directions by itself, and the
// derivative by the gradient is compared with differences of the function, both in f64 by the
// interpreter, whatever the dtypes are. So it is for small tensors. Where the function has a kink
// in that direction nothing is compared; a rule that is not the derivative on purpose, such as
// that of a rounding that gradients pass through, is an Error.
//
// Raises `Error` naming the tensor, the direction, both values and, where a single operation is at
// fault, that with its line.
#pragma once

#include <cstdint>
#include <source_location>
#include <tuple>
#include <utility>

#include "graph/differentiating/differentiate.h"

namespace tilewright {

struct GradientCheckOptions {
  int directions = 3;       // at least 1
  std::uint64_t seed = 0;   // of the first one; the next have the numbers after it
  double tolerance = 1e-6;  // relative
};

template <typename F, typename... Each>
void check_gradients(F f, const std::tuple<Each...>& arguments,
                     const GradientCheckOptions& options = {},
                     std::source_location w = std::source_location::current()) {
  std::apply(
      [&](const Each&... each) {
        const detail::StructuredCall<F, Each...> call("check_gradients", f, w, {}, each...);
        call.function().check(options.directions, options.seed, options.tolerance);
      },
      arguments);
}
// The same for one argument.
template <typename F, typename T>
void check_gradients(F f, const T& argument, const GradientCheckOptions& options = {},
                     std::source_location w = std::source_location::current()) {
  check_gradients(std::move(f), std::tuple<T>(argument), options, w);
}

}  // namespace tilewright
