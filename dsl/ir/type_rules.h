// The types of operands and results of the operations of the tile IR: the functions that ops.def
// names.
//
// Inference and verification are one thing here: a rule looks at the operands' types and the
// immediate, raises `Error` in the form "[dot] inner sizes differ: ..." where they do not fit, and
// returns the types of the results. The builder calls it to append, the verifier to check.
#pragma once

#include <span>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::ir {

// `bodies` of a loop or if give the types they yield through `yielded`.
std::vector<Type> result_types(Op op, std::span<const Type> operands, const Immediate& immediate,
                               std::span<const std::vector<Type>> yielded = {});

// The accumulator type of a matrix product of these elements: f32 for f16 and bf16, i32 for small
// integers.
DType product_dtype(DType operand);

// The shape of `shape` without the axis.
Shape without_axis(const Shape& shape, int axis);

}  // namespace tilewright::ir
