// Ops that no cotangent reaches: their results are integers or bool, or they have no operands. The
// sweep never asks for these rules.
#include "graph/ops/derivatives/differential.h"

namespace tilewright::graph {

Cotangents derivative(The<Op::input>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::full>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::arange>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::logical_not>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::logical_and>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::logical_or>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::bitwise_and>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::bitwise_or>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::bitwise_xor>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::shift_left>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::shift_right>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::random_bits>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::eq>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::ne>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::lt>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::le>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::gt>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::ge>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::argmax>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::argmin>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::any>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::all>, const Differential& d) { return d.none(); }
Cotangents derivative(The<Op::argsort>, const Differential& d) { return d.none(); }
// A projection's cotangent is that of a result of its operand.
Cotangents derivative(The<Op::result>, const Differential& d) { return d.none(); }

}  // namespace tilewright::graph
