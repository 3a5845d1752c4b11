// How a host core goes through a tile program: which loops there are and what each computes.
//
// A tile value is not an array. Most values are *virtual*: they are computed one vector at a time,
// in registers, at the place that needs them, and never exist as a whole. What must happen as a
// whole are the *roots*: stores, reductions, and values that are *kept* in scratch memory. Each
// root goes through the elements of its operand in a *sweep*: one loop nest, whose innermost loop
// runs over vectors along the last axis. Neighbouring roots over the same shape share a sweep
// unless one needs the result of the other.
//
//   x = load_desc ...           virtual
//   m = reduce max x            sweep 1: load, max
//   e = exp(x - m)              used by sweeps 2 and 3, dear: kept
//   s = reduce sum e            sweep 2: load, exp, keep e, sum
//   store_desc e / s            sweep 3: read e, divide, store
//
// So an elementwise chain stays in registers, a row is read from memory once and then from the
// cache, and a tile may have any size. A value is kept if it would be computed in two sweeps, or
// again in each turn of a loop, and computing it costs more than writing and reading it. Results of
// dots and loops, and results of reductions that have axes, are kept always.
//
// The schedule is decided here and emitted as LLVM IR by emitter.h. Nothing here depends on LLVM.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl {

// Elements of a sweep that is longer than what the innermost cache holds.
inline constexpr std::int64_t long_sweep = 8 << 10;

// Something that must happen for all elements of `domain`.
struct Root {
  const ir::Inst* inst = nullptr;  // store, atomic, reduction, prefetch; null: keep `value`
  ir::Value value = 0;             // what is gone through: the stored, reduced or kept value
  // For a prefetch: which of every four vectors this root fetches, one bit each, since two sweeps
  // may share the work.
  unsigned of_four = 0b1111;
};

enum class StepKind : std::uint8_t { scalar, sweep, dot, loop, branch };

struct Step {
  StepKind kind;
  const ir::Inst* inst = nullptr;         // all but sweeps
  Shape domain;                           // sweeps
  std::vector<Root> roots;                // sweeps
  std::vector<std::vector<Step>> bodies;  // loops and branches
};

// Facts about values that planning and emission share.
class Definitions {
 public:
  explicit Definitions(const ir::Function& function);
  const ir::Inst* inst(ir::Value value) const { return defining_[value]; }
  const ir::Type& type(ir::Value value) const { return function_.type(value); }
  bool is_tile(ir::Value value) const {
    return !type(value).is_scalar() && !type(value).is_descriptor();
  }
  // The pointer parameter that a pointer or descriptor leads back to; nothing if several may.
  std::optional<ir::Value> base(ir::Value value) const;
  bool is_written(std::optional<ir::Value> base) const;
  const ir::Function& function() const { return function_; }

 private:
  void visit(const ir::Block& block);
  const ir::Function& function_;
  std::vector<const ir::Inst*> defining_;
  std::vector<ir::Value> written_;
  bool writes_unknown_ = false;
};

struct Schedule {
  std::vector<Step> steps;
  std::vector<bool> kept;  // indexed by Value: has scratch memory
};

// Whether a value of this instruction is computed where it is needed, unless it is kept.
bool may_be_virtual(const ir::Inst& inst);

// How a tile program reads a weight that was packed beforehand (packed_product.h): it loads a block
// of an array of slivers, and permutes and reshapes it to a matrix that is the right operand of a
// dot.
struct SliverBlock {
  const ir::Inst* load;     // [slivers, depth, width], in pairs [slivers, depth / 2, width, 2]
  const ir::Inst* permute;  // [depth, slivers, width], in pairs [depth / 2, 2, slivers, width]
  bool in_pairs;
};
std::optional<SliverBlock> sliver_block(const Definitions& definitions, ir::Value matrix);

Schedule make_schedule(const Definitions& definitions);
// For people and tests: one line a step.
std::string to_string(const Schedule& schedule, const ir::Function& function);

// Whether a reshape only adds or drops axes of one element, which moves nothing. A reshape that
// joins axes is looked through if the last of each group has whole vectors; others read the operand
// in row-major order from scratch memory.
bool only_moves_unit_axes(const Shape& from, const Shape& to);
// For each axis of `to` the axes of `from` that it is made of, except those of one element.
std::optional<std::vector<std::vector<int>>> joined_axes(const Shape& from, const Shape& to);

}  // namespace tilewright::dsl
