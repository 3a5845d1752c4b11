#include "dsl/ir/scalar.h"

#include <array>
#include <cmath>
#include <limits>

#include "dsl/ir/elements.h"
#include "runtime/base/error.h"

namespace tilewright::ir {

Scalar evaluate(Op op, std::span<const Scalar> operands, DType result) {
  std::array<Column, 3> columns;
  check(!operands.empty() && operands.size() <= columns.size(), "an elementwise op has 1 to 3");
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (is_floating(operands[i].dtype))
      columns[i].floating = &operands[i].floating;
    else
      columns[i].integer = &operands[i].integer;
  }
  Scalar out{result, 0, 0};
  MutableColumn column;
  if (is_floating(result))
    column.floating = &out.floating;
  else
    column.integer = &out.integer;
  evaluate_elements(op, operands.back().dtype, result, std::span(columns).first(operands.size()),
                    column, 1);
  return out;
}

Scalar combine(ReduceKind kind, const Scalar& a, const Scalar& b) {
  auto by = [&](Op op) { return evaluate(op, std::array{a, b}, a.dtype); };
  switch (kind) {
    case ReduceKind::sum: return by(Op::add_);
    case ReduceKind::prod: return by(Op::mul_);
    case ReduceKind::max: return by(Op::max_);
    case ReduceKind::min: return by(Op::min_);
    case ReduceKind::any: return by(Op::or_);
    case ReduceKind::all: return by(Op::and_);
    case ReduceKind::argmax:
    case ReduceKind::argmin: break;
  }
  check(false, "an index reduction does not combine elements");
  return a;
}

Scalar identity(ReduceKind kind, DType dtype) {
  // The least (or greatest) number of the type.
  auto extreme = [&](bool least) {
    double infinity = std::numeric_limits<double>::infinity();
    if (is_floating(dtype)) return Scalar::of(dtype, least ? -infinity : infinity);
    return dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>) {
        T edge = least ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
        return Scalar::of_integer(dtype, static_cast<std::int64_t>(edge));
      }
      return Scalar{};
    });
  };
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::any: return Scalar::of_integer(dtype, 0);
    case ReduceKind::prod:
    case ReduceKind::all: return Scalar::of_integer(dtype, 1);
    case ReduceKind::max: return extreme(true);
    case ReduceKind::min: return extreme(false);
    case ReduceKind::argmax:
    case ReduceKind::argmin: break;
  }
  check(false, "an index reduction has no identity");
  return {};
}

}  // namespace tilewright::ir
