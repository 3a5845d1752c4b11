// Windows that signals are multiplied by: sums of cosines, and Kaiser's. One that is periodic is
// that of one element more, without its last.
#include <cmath>
#include <numbers>

#include "graph/functions/pointwise/special.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace signal_window_rows {
namespace {

// From 0 to 1, in f64.
template <typename Make>
Tensor window(const Call& call, Make make) {
  const std::int64_t size = call.integer("window_length");
  if (size < 0 || size > INT32_MAX) call.refuse("window_length", concat("is ", size));
  const bool is_periodic = call.flag("periodic", true);
  const DType dtype = call.dtype().value_or(f32);
  if (size <= 1) return ones({size}, dtype);
  const double last = static_cast<double>(is_periodic ? size : size - 1);
  return make(arange(0, size).to(f64) / last).to(dtype);
}

Tensor of_cosines(const Tensor& x, double a, double b, double c = 0) {
  constexpr double turn = 2 * std::numbers::pi;
  Tensor sum = a - b * cos(x * turn);
  return c == 0 ? sum : sum + c * cos(x * (2 * turn));
}
Tensor hann(const Call& call) {
  return window(call, [](const Tensor& x) { return of_cosines(x, 0.5, 0.5); });
}
Tensor hamming(const Call& call) {
  const double alpha = call.number("alpha", 0.54), beta = call.number("beta", 0.46);
  return window(call, [&](const Tensor& x) { return of_cosines(x, alpha, beta); });
}
Tensor blackman(const Call& call) {
  return window(call, [](const Tensor& x) { return of_cosines(x, 0.42, 0.5, 0.08); });
}
Tensor bartlett(const Call& call) {
  return window(call, [](const Tensor& x) { return 1.0 - abs(2.0 * x - 1.0); });
}
Tensor kaiser(const Call& call) {
  const double beta = call.number("beta", 12);
  return window(call, [&](const Tensor& x) {
    Tensor from_middle = 2.0 * x - 1.0;
    return i0(beta * sqrt(maximum(1.0 - from_middle * from_middle, 0.0))) / i0(full({}, beta, f64));
  });
}

constexpr Operator rows[] = {
    {"aten.hann_window.default", by<hann>},
    {"aten.hann_window.periodic", by<hann>},
    {"aten.hamming_window.default", by<hamming>},
    {"aten.hamming_window.periodic", by<hamming>},
    {"aten.hamming_window.periodic_alpha", by<hamming>},
    {"aten.hamming_window.periodic_alpha_beta", by<hamming>},
    {"aten.blackman_window.default", by<blackman>},
    {"aten.blackman_window.periodic", by<blackman>},
    {"aten.bartlett_window.default", by<bartlett>},
    {"aten.bartlett_window.periodic", by<bartlett>},
    {"aten.kaiser_window.default", by<kaiser>},
    {"aten.kaiser_window.periodic", by<kaiser>},
    {"aten.kaiser_window.beta", by<kaiser>},
};

}  // namespace
}  // namespace signal_window_rows

std::span<const Operator> signal_window_operators() { return signal_window_rows::rows; }

}  // namespace tilewright::exported
