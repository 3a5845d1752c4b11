#include "graph/ir/op.h"

#include <algorithm>
#include <array>

namespace tilewright::graph {
namespace {

// The table names the tile op of a pointwise op by its bare name; `none` is no op.
namespace tile {
#define TILEWRIGHT_TILE_OP(name, lo, hi, bodies, rule, effect, immediate, cls, cost, props) \
  constexpr std::optional<ir::Op> name##_ = ir::Op::name##_;
#include "dsl/ir/ops.def"
#undef TILEWRIGHT_TILE_OP
constexpr std::optional<ir::Op> none_ = std::nullopt;
}  // namespace tile

constexpr bool is_floating_rule(std::string_view rule) {
  return rule == "same_floating" || rule == "along_axis";
}

// The fields that each row reads. In a namespace of its own, where the fields are known by their
// bare names.
namespace fields {
using namespace reads;
#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) \
  constexpr AttributeFields of_##name = attributes;
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP
}  // namespace fields

constexpr std::array table = {
#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) \
  OpInfo{#name,                                                                      \
         lo,                                                                         \
         hi,                                                                         \
         Kind::kind,                                                                 \
         tile::tile_op##_,                                                           \
         fields::of_##name,                                                          \
         is_floating_rule(#rule),                                                    \
         std::string_view(#rule) == "reduce_to_index",                               \
         Kind::kind == Kind::pointwise ||                                            \
             (Kind::kind == Kind::composite && std::string_view(#rule).starts_with("same"))},
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP
};

constexpr std::array compares = {
#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) \
  std::string_view(#rule) == "compare",
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP
};

constexpr bool consistent(const OpInfo& row) {
  return (row.kind == Kind::pointwise) == row.tile_op.has_value() &&
         (row.max_operands < 0 || row.min_operands <= row.max_operands);
}
static_assert(std::ranges::all_of(table, consistent),
              "a row of graph/ir/ops.def contradicts itself");

}  // namespace

const OpInfo& info(Op op) { return table[static_cast<std::size_t>(op)]; }
std::span<const OpInfo> all_ops() { return table; }

bool is_comparison(Op op) { return compares[static_cast<std::size_t>(op)]; }

bool chooses_dtype(Op op) {
  const OpInfo& row = info(op);
  return row.kind == Kind::input || row.kind == Kind::constant || row.kind == Kind::contraction ||
         row.kind == Kind::cumulation || row.tile_op == ir::Op::cast_;
}

std::optional<Op> parse_op(std::string_view name) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name) return static_cast<Op>(i);
  return std::nullopt;
}

}  // namespace tilewright::graph
