#include "tests/graph/derivatives/special_functions.h"

#include <limits>

#include "graph/functions/linear_algebra/matrix_norms.h"
#include "include/tilewright/tilewright.h"

namespace tilewright::testing_points {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor ids(const std::vector<std::int64_t>& numbers) { return Tensor::from(numbers); }
Tensor numbers(const std::vector<double>& elements) { return Tensor::from(elements); }

Tensor filled(const Tensor& x) {
  Tensor copy = x.clone();
  copy.fill_(2.0);
  return copy;
}

// The first row sees nothing.
Tensor attention_of_seen_rows(const Tensor& x) {
  const Tensor all = x.reshape({1, 1, 2, 2}), mask = ids({0, 0, 1, 1}).reshape({2, 2}) != 0;
  return scaled_dot_product_attention(all, all, all, {.mask = mask}).reshape({2, 2});
}

}  // namespace

const std::map<std::string, PointFunction>& point_functions() {
#define TILEWRIGHT_POINT(text, ...)                      \
  {text,                                                 \
   [](const Tensor& a, [[maybe_unused]] const Tensor& b, \
      [[maybe_unused]] const Tensor& c) -> Tensor { return __VA_ARGS__; }},
  static const std::map<std::string, PointFunction> functions = {
#include "tests/graph/derivatives/special_points.def"
  };
#undef TILEWRIGHT_POINT
  return functions;
}

}  // namespace tilewright::testing_points
