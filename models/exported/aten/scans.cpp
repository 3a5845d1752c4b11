// Sums and products up to each element of an axis: log2 n steps, in each of which an element joins
// one that is twice as far away as in the step before (Hillis and Steele, 1986).
#include <algorithm>
#include <limits>

#include "graph/functions/pointwise/elementary.h"
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

template <typename Join>
Tensor scanned(const Tensor& x, int given_axis, double neutral, const Join& join) {
  if (x.rank() == 0) return x;
  auto axis = normalise_axis(given_axis, x.rank());
  require(axis.has_value(), "[exported] axis ", given_axis, " is outside the rank ", x.rank());
  std::int64_t size = x.size(*axis);
  Tensor result = x;
  for (std::int64_t distance = 1; distance < size; distance *= 2) {
    Shape sizes = x.shape();
    sizes[*axis] = distance;
    Tensor before = full(sizes, neutral, f64).to(x.dtype());
    result = join(result, cat({before, result.slice(*axis, 0, size - distance)}, *axis));
  }
  return result;
}

// In the dtype that is asked for, else integers in i64; sums of 16 bits are carried in f32.
template <typename Join>
Tensor accumulated(const Call& call, double neutral, const Join& join) {
  Tensor x = call.tensor("self");
  DType dtype = call.dtype().value_or(is_floating(x.dtype()) ? x.dtype() : i64);
  return scanned(x.to(dtype).to(accumulator(dtype)), call.axis("dim"), neutral, join).to(dtype);
}

constexpr Operator rows[] = {
    {"aten.cumsum.default",
     [](const Call& c) {
       return accumulated(c, 0, [](const Tensor& a, const Tensor& b) { return a + b; });
     }},
    {"aten.cumprod.default",
     [](const Call& c) {
       return accumulated(c, 1, [](const Tensor& a, const Tensor& b) { return a * b; });
     }},
    {"aten.logcumsumexp.default",
     [](const Call& c) {
       return accumulated(c, -std::numeric_limits<double>::infinity(),
                          [](const Tensor& a, const Tensor& b) { return logaddexp(a, b); });
     }},
};

}  // namespace

std::span<const Operator> scan_operators() { return rows; }

}  // namespace tilewright::exported
