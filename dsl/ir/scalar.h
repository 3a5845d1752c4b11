// The meaning of every elementwise op on single elements: what folding and the interpreter use.
//
// Rules that hardware and C++ leave open are fixed here. Integers wrap; division and remainder by
// zero give 0, INT_MIN / -1 wraps; a shift by the width or more gives 0 (or the sign, for a signed
// shift right). min and max give NaN if an operand is NaN. A cast from floating to integer rounds
// towards zero and saturates, NaN gives 0; to bool it is x != 0. f16 and bf16 operations are
// computed in f32 and rounded once.
#pragma once

#include <span>

#include "dsl/ir/immediates.h"

namespace tilewright::ir {

// `result` is the element type of the result (which matters for casts).
Scalar evaluate(Op op, std::span<const Scalar> operands, DType result);
// Combines two elements as `reduce` does (not for argmax and argmin).
Scalar combine(ReduceKind kind, const Scalar& a, const Scalar& b);
// combine(kind, identity, x) == x; for argmax and argmin a value that is no better than any
// element.
Scalar identity(ReduceKind kind, DType dtype);

}  // namespace tilewright::ir
