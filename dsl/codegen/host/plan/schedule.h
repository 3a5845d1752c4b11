// How a host core goes through a tile program: its loops, and the computation of each.
//
// A tile value is not an array. Most values are *virtual*: they are computed one vector at a time,
// in registers, at the place that needs them, and never exist as a whole. Values that must be
// computed as a whole are the *roots*: stores, reductions, and values that are *materialised* in
// scratch memory. Each root goes through the elements of its operand in a *loop nest*, whose
// innermost loop runs over vectors along the last axis. Neighbouring roots over the same shape
// share a loop nest unless one needs the result of the other.
//
//   x = load_desc ...           virtual
//   m = reduce max x            loop nest 1: load, max
//   e = exp(x - m)              used by loop nests 2 and 3, expensive: materialised
//   s = reduce sum e            loop nest 2: load, exp, materialise e, sum
//   store_desc e / s            loop nest 3: read e, divide, store
//
// So an elementwise chain stays in registers, a row is read from memory once and then from the
// cache, and a tile may have any size. A value is materialised if it would be computed in two loop
// nests, or again in each iteration of a loop, and computing it costs more than writing and reading
// it. Results of dots and loops, and results of reductions that have axes, are always materialised.
//
// The schedule is decided by make_schedule.h, written into the program by the pass form_loop_nests,
// as an order and as marks (ir/loop_nests.h), read from there and emitted as LLVM IR by emitter.h.
// Nothing in this folder depends on LLVM.
#pragma once

#include <string>
#include <vector>

#include "dsl/codegen/host/plan/definitions.h"
#include "dsl/ir/function.h"
#include "dsl/ir/loop_nests.h"

namespace tilewright::dsl {

// Elements of a loop nest that is longer than the capacity of the innermost cache.
inline constexpr std::int64_t long_loop_nest = 8 << 10;

// Something that must happen for all elements of `domain`.
struct Root {
  const ir::Inst* inst = nullptr;  // store, atomic, reduction, prefetch; null: materialise `value`
  ir::Value value = 0;  // the value that the nest goes through: stored, reduced or materialised
  // For a prefetch: which of every four vectors this root fetches, one bit each, since two loop
  // nests may share the work.
  unsigned of_four = 0b1111;
};

enum class StepKind : std::uint8_t { scalar, loop_nest, dot, loop, branch };

struct Step {
  StepKind kind;
  const ir::Inst* inst = nullptr;         // all but loop nests
  Shape domain;                           // loop nests
  std::vector<Root> roots;                // loop nests
  std::vector<std::vector<Step>> bodies;  // loops and branches
};

struct Schedule {
  std::vector<Step> steps;
  std::vector<bool> materialised;  // indexed by Value: has scratch memory
};

// The steps of a function that is scheduled.
std::vector<Step> scheduled_steps(const Definitions& definitions);
// For people and tests: one line a step.
std::string to_string(const Schedule& schedule, const ir::Function& function);

}  // namespace tilewright::dsl
