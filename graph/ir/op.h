// The operations of the graph as an enumeration, with the facts in their table (ops.def).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "dsl/ir/op.h"
#include "graph/ir/attributes.h"

namespace tilewright::graph {

enum class Op : std::uint8_t {
#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) name,
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP
};

enum class Kind : std::uint8_t {
  input,
  constant,
  pointwise,
  view,
  reduction,
  contraction,
  gather,
  scatter,
  accumulation,
  concat,
  attention,
  convolution,
  grouped_product,
  ordering,
  cumulation,
  custom,
  control,
  projection,
  composite
};

struct OpInfo {
  std::string_view name;
  int min_operands, max_operands;  // -1: any number
  Kind kind;
  std::optional<ir::Op> tile_op;
  AttributeFields reads;  // the others keep their defaults
  bool floating_only;     // by its shape rule; integer operands are converted before
  bool finds_index;       // a reduction that gives a place along its axis, not a value
  bool is_elementwise;    // pointwise, or a composite of such ops
};

// True if ops of the kind change rows of their first operand, which the second one names.
constexpr bool updates_rows(Kind kind) {
  return kind == Kind::scatter || kind == Kind::accumulation;
}

const OpInfo& info(Op op);
std::span<const OpInfo> all_ops();  // indexed by Op
// True if a node has a dtype that its operands do not determine: it is made from nothing,
// converted, or added up by a product or element by element.
bool chooses_dtype(Op op);
bool is_comparison(Op op);  // of numbers; gives bool
std::optional<Op> parse_op(std::string_view name);

}  // namespace tilewright::graph
