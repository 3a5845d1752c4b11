// The text of an instruction `inline_asm`: PTX that computes some elements of its result from those
// of its operands, and how these lie in registers. Apart from other immediates, since a text keeps
// all of it:
//
//   %3 = inline_asm %0, %1, @"neg.s32 $0, $1; | =r,r | pack 1, from 0, pure, meant" : i32[64]
//
// Operand 0 gives the type of the result, and is the result wherever there is no PTX: in the
// interpreter, on hosts and on emulated GPUs. Without a meaning it is any value of the type, and
// the instruction is for GPUs alone. The PTX reads the others.
//
// Elements come to the PTX `pack` at a time, those of less than 32 bits several in a register, the
// first in its lowest bits: elements_in_register. Registers are numbered, results first, then
// operand by operand. An instruction gives one of the results, whose registers begin with number
// `from`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"

namespace tilewright::ir {

struct Assembly {
  std::string code;         // $0, $1, ...: registers; $$: a dollar
  std::string constraints;  // "=r,=&l,f": what registers are, results first
  int pack = 1;
  int from = 0;
  bool is_pure = true;   // else it may give something else each time, or act
  bool is_meant = true;  // operand 0 is the result
  bool operator==(const Assembly&) const = default;
};

std::string text_of(const Assembly& assembly);
// Raises `Error` for an invalid text.
Assembly assembly_of(std::string_view text);

// The letters of `constraints`, h, r, l, f or d: registers of 16, 32 and 64 bits, of f32 and of
// f64.
struct RegisterLetters {
  std::string results, operands;
};
// For constraints in which problem_of finds nothing.
RegisterLetters letters_of(const Assembly& assembly);
int register_bits(char letter);
int element_bits(DType dtype);  // in a register: a bool has 8
int elements_in_register(DType dtype, int pack);
inline int registers_of(DType dtype, int pack) { return pack / elements_in_register(dtype, pack); }

// The error in PTX with these results and operands, all of which are the types of tiles of one
// shape, or scalars; and what would be right. Empty if nothing is.
std::string problem_of(const Assembly& assembly, std::span<const DType> results,
                       std::span<const DType> operands);
// The same where one result alone is known.
std::string problem_of(const Assembly& assembly, DType result, std::span<const DType> operands);

// Raises `Error` with the user's line and the kernel where there is no meaning, for code that needs
// it.
void require_meaning(const Assembly& assembly, const std::string& place, const std::string& kernel);

}  // namespace tilewright::ir
