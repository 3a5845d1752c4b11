// From a tile program, the program that also computes how far a correct implementation may be from
// the interpreter: running error analysis, written as a transformation of programs.
//
// Every floating value that can differ gets a companion in f64, a bound on the absolute difference
// between two correct evaluations of it; every parameter that is written gets a companion array of
// f64 that receives the bounds of what is stored. Values that are loaded, or follow from such by
// correctly rounded elementwise operations alone, have no companion: they must agree bit for bit.
// With u the unit roundoff of the dtype and e the operands' bounds, an operation adds
//   correctly rounded   |df/dx| e + 2 u (|y| + ...)
//   transcendental      |f(x + e) - f(x)| + 5 u (|y| + ...): 2 ulp, and the interpreter's half ulp
//   sum of n            sum e + n u_acc sum (|x| + e) + 2 u |y|, u_acc of f32, or f64 for f64
//   product, k long     |a| e_b + |b| e_a + e_a e_b and (k + 1) u_acc (|a| |b| + |acc|)
// and always a few of the least subnormals. Comparisons, argmax, casts to integers and bitcasts
// must be of values without companion: the program's maker sees to it.
#pragma once

#include <vector>

#include "dsl/ir/function.h"

namespace tilewright {

struct ErrorProgram {
  ir::Function function;        // parameters of the original, then the companions
  std::vector<int> companions;  // for each parameter its companion's place, or -1
};

// `written[i]`: whether parameter i is stored to. A parameter is read or written, not both.
ErrorProgram error_program(const ir::Function& function, const std::vector<bool>& written);

}  // namespace tilewright
