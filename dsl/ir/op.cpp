#include "dsl/ir/op.h"

#include <algorithm>
#include <array>

namespace tilewright::ir {
namespace {

constexpr std::array table = {
#define TILEWRIGHT_TILE_OP(name, lo, hi, bodies, rule, effect, immediate, cls, cost, props) \
  OpInfo{#name,        lo,   hi,   bodies, Effect::effect, ImmediateKind::immediate,        \
         OpClass::cls, cost, props},
#include "dsl/ir/ops.def"
#undef TILEWRIGHT_TILE_OP
};

constexpr std::array reductions = {
#define TILEWRIGHT_REDUCE_KIND(name, op, identity, operands, gives)                \
  ReduceInfo{#name, Op::op##_, ReduceIdentity::identity, ReduceOperands::operands, \
             ReduceResult::gives},
#include "dsl/ir/ops.def"
#undef TILEWRIGHT_REDUCE_KIND
};

constexpr bool consistent(const OpInfo& row) {
  bool structured = row.effect == Effect::structured;
  return (row.bodies > 0) == structured &&
         (row.max_operands < 0 || row.min_operands <= row.max_operands) &&
         (row.op_class != OpClass::elementwise || row.effect == Effect::pure) &&
         !((row.properties & float_only) && (row.properties & integer_only));
}
static_assert(std::ranges::all_of(table, consistent), "a row of dsl/ir/ops.def contradicts itself");

}  // namespace

const OpInfo& info(Op op) { return table[static_cast<std::size_t>(op)]; }
std::span<const OpInfo> all_ops() { return table; }

std::optional<Op> parse_op(std::string_view name) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name) return static_cast<Op>(i);
  return std::nullopt;
}

const ReduceInfo& info(ReduceKind kind) { return reductions[static_cast<std::size_t>(kind)]; }
std::string_view name_of(ReduceKind kind) { return info(kind).name; }

std::optional<ReduceKind> parse_reduce_kind(std::string_view name) {
  for (std::size_t i = 0; i < reductions.size(); ++i)
    if (reductions[i].name == name) return static_cast<ReduceKind>(i);
  return std::nullopt;
}

}  // namespace tilewright::ir
