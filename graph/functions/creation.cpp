#include "graph/functions/creation.h"

#include "graph/functions/pointwise/elementary.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

// In f64.
Tensor steps_between(const char* name, double start, double end, std::int64_t steps,
                     source_location w) {
  require(steps >= 0 && steps <= INT32_MAX, "[", name, "] ", steps, " steps (at ", At{w},
          "); a number in [0, 2^31) is wanted");
  const Tensor at = arange(0, steps, 1, DType::i64, w).to(DType::f64, w);
  const double parts = steps > 1 ? static_cast<double>(steps - 1) : 1;
  const double step = steps > 1 ? (end - start) / parts : 0;
  const double half = static_cast<double>(steps / 2) + (steps == 1);
  return where({at < half, w}, {at * step + start, w}, {at * step - (parts * step - end), w});
}

}  // namespace

Tensor full_like(const Tensor& x, const Number& value, std::optional<DType> dtype,
                 source_location w) {
  return full(x.shape(), value, dtype.value_or(x.dtype()), w);
}
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype, source_location w) {
  return zeros(x.shape(), dtype.value_or(x.dtype()), w);
}
Tensor ones_like(const Tensor& x, std::optional<DType> dtype, source_location w) {
  return ones(x.shape(), dtype.value_or(x.dtype()), w);
}

Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns, DType dtype, source_location w) {
  const std::int64_t width = columns.value_or(rows);
  require(rows >= 0 && width >= 0 && rows <= INT32_MAX && width <= INT32_MAX, "[eye] ", rows,
          " rows and ", width, " columns (at ", At{w}, "); numbers in [0, 2^31) are wanted");
  auto numbers = [&](std::int64_t count) { return arange(0, count, 1, DType::i64, w); };
  return (numbers(rows).unsqueeze(1, w) == numbers(width)).to(dtype, w);
}

Tensor linspace(double start, double end, std::int64_t steps, DType dtype, source_location w) {
  return steps_between("linspace", start, end, steps, w).to(dtype, w);
}
Tensor linspace(const TensorOperand& start, const TensorOperand& end, std::int64_t steps,
                DType dtype) {
  if (start.is_number && end.is_number)
    return linspace(start.number.as_double(), end.number.as_double(), steps, dtype, start.where);
  require(steps >= 0 && steps <= INT32_MAX, "[linspace] ", steps, " steps (at ", At{start.where},
          "); a number in [0, 2^31) is wanted");
  return graph::of_user_call("linspace", start.where, [&] {
    auto as_tensor = [](const TensorOperand& x) {
      return x.is_number ? full({}, x.number.as_double(), f64)
                         : graph::tensor_of(x, "linspace").to(f64);
    };
    const Tensor first = as_tensor(start), last = as_tensor(end);
    if (steps == 1) return first.reshape({1}).to(dtype);
    const double parts = steps > 1 ? static_cast<double>(steps - 1) : 1;
    const Tensor at = arange(0, steps).to(f64), step = (last - first) / parts;
    return where(at < static_cast<double>(steps / 2), at * step + first,
                 at * step - (step * parts - last))
        .to(dtype);
  });
}

Tensor spaced(double start, double step, std::int64_t count, DType dtype, source_location w) {
  const Tensor steps = arange(0, count, 1, DType::i64, w).to(DType::f64, w);
  return (TensorOperand(steps * step, w) + start).to(dtype, w);
}

static Tensor frequencies(const char* name, std::int64_t n, double d, bool is_half, DType dtype,
                          source_location w) {
  require(n > 0 && n <= INT32_MAX, "[", name, "] ", n, " places (at ", At{w},
          "); a number in [1, 2^31) is wanted");
  Tensor places = arange(0, is_half ? n / 2 + 1 : (n + 1) / 2);
  if (!is_half) places = cat({places, arange(-(n / 2), 0)}, 0, w);
  return (places.to(DType::f64, w) * (1 / (static_cast<double>(n) * d))).to(dtype, w);
}
Tensor fftfreq(std::int64_t n, double d, DType dtype, source_location w) {
  return frequencies("fftfreq", n, d, false, dtype, w);
}
Tensor rfftfreq(std::int64_t n, double d, DType dtype, source_location w) {
  return frequencies("rfftfreq", n, d, true, dtype, w);
}

Tensor graph::powers_of(double base, const Tensor& exponents, DType dtype, source_location w) {
  const Tensor power = pow(base, {exponents, w});
  if (is_floating(dtype)) return power.to(dtype, w);
  const Tensor whole = round({power, w});
  return where({abs(power - whole) < abs(whole) * 1e-14, w}, {whole, w}, {power, w}).to(dtype, w);
}

Tensor logspace(double start, double end, std::int64_t steps, double base, DType dtype,
                source_location w) {
  return graph::powers_of(base, steps_between("logspace", start, end, steps, w), dtype, w);
}

}  // namespace tilewright
