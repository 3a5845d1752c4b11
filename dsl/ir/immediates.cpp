#include "dsl/ir/immediates.h"

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
  check(!gives_index(kind), "an index reduction does not combine elements");
  return evaluate(info(kind).combining_op, std::array{a, b}, a.dtype);
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
  switch (info(kind).identity) {
    case ReduceIdentity::zero: return Scalar::of_integer(dtype, 0);
    case ReduceIdentity::one: return Scalar::of_integer(dtype, 1);
    case ReduceIdentity::ones: return Scalar::of_integer(dtype, -1);
    case ReduceIdentity::lowest: return extreme(true);
    case ReduceIdentity::highest: return extreme(false);
  }
  __builtin_unreachable();
}

}  // namespace tilewright::ir
