// PTX in a kernel, for operations without a word: Triton's inline_asm_elementwise.
//
//   Tile apart = inline_asm_elementwise({.code = "sad.s32 $0, $1, $2, 0;",
//                                        .constraints = "=r,r,r"},
//                                       {x, y}, i32,
//                                       [](const Tiles& t) { return abs(t[0] - t[1]); });
//
// Without an NVIDIA GPU nothing runs PTX. The last argument is a function over tiles that computes
// the same: the host, the interpreter and emulated GPUs run it, and a debugger compares with it.
// Without a meaning, compiling for them is an `Error` that names the kernel and the line.
#pragma once

#include <string>

#include "dsl/language/words/folding.h"

namespace tilewright::dsl {

// PTX for `pack` elements, in whose text $0, $1, ... are registers: those of the results in order,
// then those of the arguments. Constraints give the kind of each: h, r and l have 16, 32 and 64
// bits, f and d are an f32 and an f64; results have = in front, or =& where PTX writes one before
// it has read all arguments. `pack` is a power of two up to 32. Elements of less than 32 bits share
// a register where pack allows, the first in its lowest bits: with a pack of 4, an argument of i8
// is one r, one of bf16 two, one of f32 four f. A bool is a byte, 0 or 1, and any other byte than 0
// as a result is true. Which elements of a tile are together is not promised, and some may be
// computed by several threads. Names and labels are the PTX's own within braces alone. A meaning
// that is not element by element is computed on GPUs too, for nothing.
//
// Code that is not pure acts, or gives something else from time to time, as a clock does: it is
// neither dropped nor moved nor run once for two.
struct InlineAsm {
  std::string code, constraints;
  int pack = 1;
  bool is_pure = true;
};

// The arguments broadcast together; C++ numbers are f32 or i64. Results have their shape. The
// meaning takes them so, and returns values of the results' types that broadcast to that shape.
// Raises `Error` with the line of the call where constraints, types and pack do not fit each other,
// where a meaning gives other types, and for several results of code that is not pure. Errors in
// the PTX are reported by ptxas or the driver, when it assembles the kernel. For the thread that
// traces.
Tile inline_asm_elementwise(const InlineAsm& assembly, const std::vector<Operand>& arguments,
                            DType dtype, const std::function<Tile(const Tiles&)>& meaning = {},
                            std::source_location where = std::source_location::current());
Tiles inline_asm_elementwise(const InlineAsm& assembly, const std::vector<Operand>& arguments,
                             const std::vector<DType>& dtypes,
                             const std::function<Tiles(const Tiles&)>& meaning = {},
                             std::source_location where = std::source_location::current());

}  // namespace tilewright::dsl
