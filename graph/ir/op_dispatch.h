// Choosing a function by op at compile time of the library: a family of overloads, one for each op
// of a kind, is called through one switch made from the table. An op of that kind without its
// overload does not compile, and no list of ops is written anywhere.
#pragma once

#include <type_traits>
#include <utility>

#include "graph/ir/op.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

// The type that stands for one op in an overload: `NodeId decomposition(The<Op::relu>, ...)`.
template <Op op>
using The = std::integral_constant<Op, op>;

namespace detail {
template <Kind wanted, Kind kind, Op op, typename Result, typename F>
Result call_if(F&& f) {
  if constexpr (wanted == kind)
    return f(The<op>{});
  else
    raise_internal_error("an op of another kind was dispatched", std::source_location::current());
}
}  // namespace detail

// f(The<op>{}) for an op of the given kind; `f` is instantiated for ops of that kind only.
template <Kind wanted, typename Result, typename F>
Result dispatch_op(Op op, F&& f) {
  switch (op) {
#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) \
  case Op::name:                                                                     \
    return detail::call_if<wanted, Kind::kind, Op::name, Result>(std::forward<F>(f));
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP
  }
  __builtin_unreachable();
}

}  // namespace tilewright::graph
