// The operations of the tile IR and the kinds of its reductions as enumerations, with the facts in
// their tables (ops.def).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tilewright::ir {

enum class Op : std::uint8_t {
#define TILEWRIGHT_TILE_OP(name, lo, hi, bodies, rule, effect, immediate, cls, cost, props) name##_,
#include "dsl/ir/ops.def"
#undef TILEWRIGHT_TILE_OP
};

enum class Effect : std::uint8_t { pure, reads, writes, structured, ends };
enum class OpClass : std::uint8_t {
  elementwise,
  creation,
  shape,
  selection,
  memory,
  reduction,
  contraction,
  exchange,
  control,
  hint
};
enum class ImmediateKind : std::uint8_t {
  none,
  scalar,
  bounds,
  axis,
  extent,
  permutation,
  dtype,
  access,
  reduction,
  atomic,
  text,
  precision,
  block_access,
  loop_end
};
enum Property : std::uint8_t { none = 0, commutative = 1, float_only = 2, integer_only = 4 };

struct OpInfo {
  std::string_view name;
  int min_operands, max_operands;  // -1: any number
  int bodies;
  Effect effect;
  ImmediateKind immediate;
  OpClass op_class;
  int cost;
  std::uint8_t properties;
  bool has(Property property) const { return (properties & property) != 0; }
};

const OpInfo& info(Op op);
std::span<const OpInfo> all_ops();  // indexed by Op
std::optional<Op> parse_op(std::string_view name);

enum class ReduceKind : std::uint8_t {
#define TILEWRIGHT_REDUCE_KIND(name, op, identity, operands, gives) name,
#include "dsl/ir/ops.def"
#undef TILEWRIGHT_REDUCE_KIND
};
enum class ReduceIdentity : std::uint8_t { zero, one, lowest, highest, ones };
enum class ReduceOperands : std::uint8_t { numbers, integers, booleans };
enum class ReduceResult : std::uint8_t { element, index };

struct ReduceInfo {
  std::string_view name;
  Op combining_op;
  ReduceIdentity identity;
  ReduceOperands operands;
  ReduceResult gives;
};

const ReduceInfo& info(ReduceKind kind);
std::string_view name_of(ReduceKind kind);
std::optional<ReduceKind> parse_reduce_kind(std::string_view name);
inline bool gives_index(ReduceKind kind) { return info(kind).gives == ReduceResult::index; }

}  // namespace tilewright::ir
