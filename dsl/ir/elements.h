// The meaning of every elementwise op on columns of elements: what `evaluate` (immediates.h) gives
// for one element, for many at a time, so that the interpreter decides once per instruction what to
// do.
//
// A column holds doubles if its element type floats (always a number that the type can hold), else
// 64-bit integers: the value for signed and narrow types, the bit pattern for u64, 0 or 1 for bool.
#pragma once

#include <span>

#include "dsl/ir/immediates.h"

namespace tilewright::ir {

union Column {
  const double* floating;
  const std::int64_t* integer;
};
union MutableColumn {
  double* floating;
  std::int64_t* integer;
};

// `operand` is the element type of the operands (of the last one for select, whose condition is
// bool), `result` of the result. Ops that work on pointers (offset) are not meant here.
void evaluate_elements(Op op, DType operand, DType result, std::span<const Column> operands,
                       MutableColumn out, std::int64_t count);

// The nearest number that `dtype` holds; those of 8 and 16 bits are reached by way of f32.
double round_to(DType dtype, double value);

}  // namespace tilewright::ir
