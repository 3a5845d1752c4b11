#include "graph/functions/reducing/own_dtype.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/reducing/reductions.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "runtime/base/error.h"

namespace tilewright::own_dtype {

using graph::At;
using std::source_location;

namespace {

// Calls a function of the operand, and converts its result to the operand's dtype.
template <typename Function>
Tensor in_own_dtype(std::string_view operation, const TensorOperand& x, const Function& function) {
  return graph::of_user_call(operation, x.where, [&]() -> Tensor {
    const Tensor& given = graph::tensor_of(x, operation);
    return function(given).to(given.dtype());
  });
}
Tensor as_floats(const Tensor& x, bool widens) {
  if (!is_floating(x.dtype())) return x.to(f64);
  return widens ? x.to(accumulator(x.dtype())) : x;
}

bool has_nothing(const Tensor& x, const Axes& axes) {
  auto is_empty = [&](int axis) { return x.size(axis) == 0; };
  if (x.count() != 0) return false;
  return axes.empty() || std::ranges::any_of(axes.list(), is_empty);
}
// The identity of a maximum, which is the least number, or of a minimum.
Tensor identity_of(const Tensor& x, const Axes& axes, bool keep_dims, bool is_least,
                   source_location w) {
  const DType dtype = x.dtype();
  const Shape sizes = tilewright::sum(zeros(x.shape(), f32), axes, keep_dims).shape();
  if (is_boolean(dtype)) return full(sizes, is_least ? 0 : 1, i64).to(dtype);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (is_floating(dtype)) return full(sizes, is_least ? -infinity : infinity, dtype);
  const int digits = bit_width(dtype) - is_signed(dtype);
  require(digits < 64, "[amax] an extremum of no elements of ", dtype, " (at ", At{w},
          "); another dtype is wanted");
  const auto most = static_cast<std::int64_t>((std::uint64_t{1} << digits) - 1);
  const std::int64_t least = is_signed(dtype) ? -most - 1 : 0;
  return full(sizes, is_least ? least : most, dtype);
}

}  // namespace

Tensor sum(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return in_own_dtype("sum", x,
                      [&](const Tensor& t) { return tilewright::sum(t, axes, keep_dims); });
}
Tensor prod(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return in_own_dtype("prod", x,
                      [&](const Tensor& t) { return tilewright::prod(t, axes, keep_dims); });
}
Tensor mean(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return in_own_dtype("mean", x, [&](const Tensor& t) {
    return tilewright::mean(as_floats(t, false), axes, keep_dims);
  });
}
Tensor l1_norm(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return in_own_dtype("l1_norm", x,
                      [&](const Tensor& t) { return tilewright::sum(abs(t), axes, keep_dims); });
}
Tensor sum_of_squares(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return in_own_dtype("sum_of_squares", x, [&](const Tensor& t) {
    const Tensor wide = t.to(accumulator(t.dtype()));
    return tilewright::sum(wide * wide, axes, keep_dims);
  });
}
Tensor l2_norm(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return in_own_dtype("l2_norm", x, [&](const Tensor& t) {
    const Tensor wide = as_floats(t, true);
    return sqrt(tilewright::sum(wide * wide, axes, keep_dims));
  });
}
Tensor log_sum(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return in_own_dtype("log_sum", x, [&](const Tensor& t) {
    return log(tilewright::sum(as_floats(t, true), axes, keep_dims));
  });
}
Tensor logsumexp(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return in_own_dtype("logsumexp", x, [&](const Tensor& t) {
    if (t.rank() == 0) return t;
    std::vector<int> over = axes;
    if (over.empty()) {
      over.resize(static_cast<std::size_t>(t.rank()));
      std::iota(over.begin(), over.end(), 0);
    }
    return tilewright::logsumexp(as_floats(t, false), over, keep_dims);
  });
}

Tensor amax(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return in_own_dtype("amax", x, [&](const Tensor& t) {
    if (has_nothing(t, axes)) return identity_of(t, axes, keep_dims, true, x.where);
    return is_boolean(t.dtype()) ? any(t, axes, keep_dims) : tilewright::amax(t, axes, keep_dims);
  });
}
Tensor amin(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  return in_own_dtype("amin", x, [&](const Tensor& t) {
    if (has_nothing(t, axes)) return identity_of(t, axes, keep_dims, false, x.where);
    return is_boolean(t.dtype()) ? all(t, axes, keep_dims) : tilewright::amin(t, axes, keep_dims);
  });
}

Tensor cumsum(const TensorOperand& x, int axis, const CumsumOptions& options) {
  return in_own_dtype("cumsum", x, [&](const Tensor& t) {
    const Tensor given = options.reverse ? t.flip({axis}) : t;
    Tensor sums = tilewright::cumsum(given, axis).to(t.dtype());
    if (options.exclusive && t.size(axis) > 0) {
      Shape one = t.shape();
      one[axis] = 1;
      sums = cat({zeros(one, t.dtype()), sums.slice(axis, 0, t.size(axis) - 1)}, axis);
    }
    return options.reverse ? sums.flip({axis}) : sums;
  });
}

}  // namespace tilewright::own_dtype
