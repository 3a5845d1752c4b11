// Families of operations that random programs and their error bounds treat alike.
#pragma once

#include <algorithm>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright {

// Elementwise ones that take so many operands and nothing else.
inline std::vector<ir::Op> ops_of_arity(int arity) {
  std::vector<ir::Op> ops;
  for (std::size_t i = 0; i < ir::all_ops().size(); ++i) {
    const ir::OpInfo& row = ir::all_ops()[i];
    auto op = static_cast<ir::Op>(i);
    bool plain = row.immediate == ir::ImmediateKind::none && op != ir::Op::offset_;
    if (row.op_class == ir::OpClass::elementwise && row.min_operands == arity && plain)
      ops.push_back(op);
  }
  return ops;
}

// Those whose results an implementation need not round correctly.
inline bool is_transcendental(ir::Op op) {
  return ir::info(op).has(ir::float_only) && ir::info(op).cost >= 10;
}

inline bool is_one_of(ir::Op op, std::initializer_list<ir::Op> ops) {
  return std::ranges::count(ops, op) > 0;
}

}  // namespace tilewright
