#include <algorithm>
#include <cmath>

#include "dsl/ir/immediates.h"
#include "graph/ir/shape_rules.h"
#include "graph/ir/strided_view.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewriter.h"

namespace tilewright::graph {
namespace {

// A node as it would be in the new graph, its operands canonical already. Each rule gives the node
// that stands for it, or nothing.
struct NodeToRewrite {
  Rewriter& rewriter;
  const Node& node;
  std::vector<NodeId> x;                   // operands in the new graph
  const std::vector<int>* uses = nullptr;  // of the nodes of the old graph

  const Node& operand(std::size_t i) const { return rewriter.made(x[i]); }
  NodeId append(Op op, std::vector<NodeId> operands, const Attributes& attributes) const {
    return rewriter.builder(node).append(op, std::move(operands), attributes);
  }
  NodeId full(const ir::Scalar& value) const {
    return rewriter.builder(node).full(node.shape, value);
  }
  bool is_full(std::size_t i) const { return operand(i).op == Op::full; }
  bool is_full_of(std::size_t i, double number) const {
    return is_full(i) && value_of_full(operand(i)).as_double() == number;
  }
};
using Rule = std::optional<NodeId> (*)(const NodeToRewrite&);

// A view that changes neither shape nor order.
bool is_identity(const NodeToRewrite& s) {
  if (s.node.shape != s.operand(0).shape) return false;
  StridedView operand = row_major(s.node.shape);
  auto viewed = view_of(s.node.op, s.node.attributes, operand);
  return viewed && viewed->offset == 0 && is_row_major(s.node.shape, viewed->strides);
}

// A permutation that moves only axes of size 1 keeps the order of elements.
bool keeps_order(const NodeToRewrite& s) {
  if (s.node.op != Op::permute) return false;
  auto viewed = view_of(s.node.op, s.node.attributes, row_major(s.operand(0).shape));
  return is_row_major(s.node.shape, viewed->strides);
}

// The attributes of one view that does `outer` after `inner`, both of one op.
std::optional<Attributes> composed(Op op, const Attributes& inner, const Attributes& outer) {
  Attributes result = outer;
  if (op == Op::permute) {
    for (int& axis : result.axes) axis = inner.axes[static_cast<std::size_t>(axis)];
  } else if (op == Op::slice) {
    if (inner.axes != outer.axes) return std::nullopt;
    result.start = inner.start + outer.start * inner.step;
    result.step = inner.step * outer.step;
    if (inner.step < 0 || outer.step < 0) {
      const std::int64_t count = count_of_range(outer.start, outer.end, outer.step);
      const std::int64_t last = result.start + (count - 1) * result.step;
      result.end = count == 0 ? result.start : last + (result.step < 0 ? -1 : 1);
      return result;
    }
    result.end = std::min(inner.start + outer.end * inner.step, inner.end);
    result.end = std::max(result.end, result.start);
  }
  return result;
}

// A permutation that keeps the order of elements, as the reshape that it is.
NodeId as_reshape(const NodeToRewrite& s) {
  const Node& inner = s.operand(0);
  NodeId from = inner.op == Op::reshape ? inner.operands[0] : s.x[0];
  if (s.rewriter.made(from).shape == s.node.shape) return from;
  return s.append(Op::reshape, {from}, {.axes = {}, .sizes = s.node.shape});
}

std::optional<NodeId> simplify_view(const NodeToRewrite& s) {
  if (info(s.node.op).kind != Kind::view) return std::nullopt;
  if (is_identity(s)) return s.x[0];
  if (s.is_full(0)) return s.full(value_of_full(s.operand(0)));
  if (keeps_order(s)) return as_reshape(s);
  const Node inner = s.operand(0);
  if (inner.op != s.node.op) return std::nullopt;
  auto attributes = composed(s.node.op, inner.attributes, s.node.attributes);
  if (!attributes) return std::nullopt;
  Node node = s.node;
  node.attributes = *attributes;
  NodeToRewrite joined{s.rewriter, node, {inner.operands[0]}, s.uses};
  if (is_identity(joined)) return joined.x[0];
  if (keeps_order(joined)) return as_reshape(joined);
  return s.append(node.op, joined.x, *attributes);
}

// In front of which axis `count` elements of the axes before it end.
std::optional<int> axis_behind(const Shape& shape, std::int64_t count) {
  std::int64_t product = 1;
  int axis = 0;
  while (axis < shape.rank() && product < count) product *= shape[axis++];
  return product == count ? std::optional(axis) : std::nullopt;
}

constexpr int most_joined_axes = 16;  // far below the number of axes that a tensor may have

// A repetition of what repeats elements already, as an upsampling of one axis and then of another,
// repeats along both axes at once: then it is one view, and not copied between the two.
std::optional<NodeId> join_repetitions(const NodeToRewrite& s) {
  if (s.node.op != Op::expand || s.operand(0).op != Op::reshape) return std::nullopt;
  const Shape reshaped = s.operand(0).shape;
  const Node inner = s.rewriter.made(s.operand(0).operands[0]);
  if (inner.op != Op::expand || inner.shape.rank() == 0) return std::nullopt;
  NodeId source = inner.operands[0];
  Shape sizes = s.rewriter.made(source).shape, repeated = inner.shape;
  if (sizes.rank() != repeated.rank() || reshaped.rank() != s.node.shape.rank())
    return std::nullopt;
  std::int64_t before = 1;
  for (int axis = 0, added = 0; axis < reshaped.rank(); before *= reshaped[axis++]) {
    if (s.node.shape[axis] == reshaped[axis]) continue;
    const std::optional<int> behind = axis_behind(inner.shape, before);
    if (!behind) return std::nullopt;
    sizes.insert(sizes.begin() + *behind + added, 1);
    repeated.insert(repeated.begin() + *behind + added++, s.node.shape[axis]);
  }
  if (sizes.rank() > most_joined_axes) return std::nullopt;
  if (s.rewriter.made(source).op == Op::reshape) source = s.rewriter.made(source).operands[0];
  if (s.rewriter.made(source).shape != sizes)
    source = s.append(Op::reshape, {source}, {.axes = {}, .sizes = sizes});
  source = s.append(Op::expand, {source}, {.axes = {}, .sizes = repeated});
  if (repeated == s.node.shape) return source;
  return s.append(Op::reshape, {source}, {.axes = {}, .sizes = s.node.shape});
}

// Every value of `from` is one of `to`.
bool holds_exactly(DType from, DType to) {
  if (from == to || is_boolean(from)) return true;
  if (is_floating(from))
    return is_floating(to) && bit_width(from) < bit_width(to);  // f16 and bf16 hold not each other
  if (is_floating(to)) return digits(from) <= digits(to) && to != DType::f16;
  return digits(from) <= digits(to) && (is_signed(to) || !is_signed(from));
}

std::optional<NodeId> simplify_cast(const NodeToRewrite& s) {
  if (info(s.node.op).tile_op != ir::Op::cast_) return std::nullopt;
  if (s.operand(0).dtype == s.node.dtype) return s.x[0];
  const Node& inner = s.operand(0);
  if (inner.op != s.node.op) return std::nullopt;
  NodeId source = inner.operands[0];
  DType from = s.rewriter.made(source).dtype;
  if (!holds_exactly(from, inner.dtype)) return std::nullopt;
  if (from == s.node.dtype) return source;
  return s.rewriter.builder(s.node).append(s.node.op, {source}, {}, s.node.dtype);
}

// One node, or two of the same number.
bool are_equal(const NodeToRewrite& s, std::size_t i, std::size_t j) {
  if (s.x[i] == s.x[j]) return true;
  if (!s.is_full(i) || !s.is_full(j)) return false;
  const ir::Scalar a = value_of_full(s.operand(i)), b = value_of_full(s.operand(j));
  return a.integer == b.integer && a.floating == b.floating &&
         std::signbit(a.floating) == std::signbit(b.floating);
}

// Arithmetic on constants.
std::optional<NodeId> fold_constants(const NodeToRewrite& s) {
  auto tile_op = info(s.node.op).tile_op;
  if (!tile_op) return std::nullopt;
  std::vector<ir::Scalar> numbers;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    if (!s.is_full(i)) return std::nullopt;
    numbers.push_back(value_of_full(s.operand(i)));
  }
  return s.full(ir::evaluate(*tile_op, numbers, s.node.dtype));
}

// x + 0, x - 0, x * 1, x / 1 and their mirror images. Of floats -0 is added, for -0 + 0 is 0.
std::optional<NodeId> drop_neutral(const NodeToRewrite& s) {
  auto tile_op = info(s.node.op).tile_op;
  if (!tile_op || s.x.size() != 2) return std::nullopt;
  bool additive = tile_op == ir::Op::add_ || tile_op == ir::Op::sub_;
  if (!additive && tile_op != ir::Op::mul_ && tile_op != ir::Op::div_) return std::nullopt;
  auto is_neutral = [&](std::size_t i) {
    if (!s.is_full_of(i, additive ? 0 : 1)) return false;
    bool is_negative = std::signbit(value_of_full(s.operand(i)).as_double());
    return !additive || !is_floating(s.node.dtype) || is_negative == (tile_op == ir::Op::add_);
  };
  if (is_neutral(1)) return s.x[0];
  if (ir::info(*tile_op).has(ir::commutative) && is_neutral(0)) return s.x[1];
  return std::nullopt;
}

// A choice by a constant or between equal values, and an operation undone by itself.
std::optional<NodeId> decide(const NodeToRewrite& s) {
  auto tile_op = info(s.node.op).tile_op;
  if (tile_op == ir::Op::select_ && s.is_full(0))
    return value_of_full(s.operand(0)).integer != 0 ? s.x[1] : s.x[2];
  if (tile_op == ir::Op::select_ && are_equal(s, 1, 2)) return s.x[1];
  bool undoes = tile_op == ir::Op::neg_ || tile_op == ir::Op::not_;
  if (undoes && s.operand(0).op == s.node.op) return s.operand(0).operands[0];
  return std::nullopt;
}

// The extreme of equal numbers is that number.
std::optional<NodeId> reduce_constant(const NodeToRewrite& s) {
  const Op op = s.node.op;
  const bool is_extreme = op == Op::amax || op == Op::amin ||
                          ((op == Op::any || op == Op::all) && is_boolean(s.operand(0).dtype));
  if (!is_extreme || !s.is_full(0) || element_count(s.operand(0).shape) == 0) return std::nullopt;
  return s.full(value_of_full(s.operand(0)));
}

// Reductions over axes of size 1, and a cat of one part.
std::optional<NodeId> drop_trivial(const NodeToRewrite& s) {
  Kind kind = info(s.node.op).kind;
  if (kind == Kind::concat && s.x.size() == 1) return s.x[0];
  if (kind != Kind::reduction || s.node.shape != s.operand(0).shape) return std::nullopt;
  return info(s.node.op).finds_index ? std::nullopt : std::optional(s.x[0]);
}

// Which axes order a value of the new graph as its elements lie in memory, where these are not in
// the order of its axes: of a permuted value, and of an input whose last two axes are.
std::optional<Attributes> order_in_memory(const NodeToRewrite& s, NodeId id) {
  const Node& node = s.rewriter.made(id);
  if (node.op != Op::input || node.shape.rank() < 2) return std::nullopt;
  const Graph& from = s.rewriter.from();
  for (std::size_t i = 0; i < from.inputs.size() && i < from.input_strides.size(); ++i) {
    const Strides& strides = from.input_strides[i];
    if (s.rewriter.at(from.inputs[i]) != id || strides.rank() != node.shape.rank()) continue;
    const int last = strides.rank() - 1;
    if (strides[last - 1] != 1 || strides[last] <= 1) return std::nullopt;
    Attributes order;
    for (int axis = 0; axis <= last; ++axis) order.axes.push_back(axis);
    std::swap(order.axes[last - 1], order.axes[last]);
    return order;
  }
  return std::nullopt;
}

// A product of what is converted after it was transposed is one of what is transposed after it was
// converted: then weights of few bits are read in the order in which they lie.
std::optional<NodeId> transpose_last(const NodeToRewrite& s) {
  if (s.node.op != Op::matmul) return std::nullopt;
  std::vector<NodeId> operands = s.x;
  for (NodeId& operand : operands) {
    const Node cast = s.rewriter.made(operand);
    if (info(cast.op).tile_op != ir::Op::cast_) continue;
    const Node source = s.rewriter.made(cast.operands[0]);
    GraphBuilder builder = s.rewriter.builder(cast);
    auto convert = [&](NodeId stored, const Attributes& transposed) {
      NodeId converted = builder.append(cast.op, {stored}, {}, cast.dtype);
      operand = builder.append(Op::permute, {converted}, transposed);
    };
    if (source.op == Op::permute)
      convert(source.operands[0], source.attributes);
    else if (auto order = order_in_memory(s, cast.operands[0]))
      convert(builder.append(Op::permute, {cast.operands[0]}, *order), *order);
  }
  if (operands == s.x) return std::nullopt;
  return s.rewriter.builder(s.node).append(Op::matmul, operands, s.node.attributes, s.node.dtype);
}

constexpr std::int64_t least_rows_turned = 64;

// The value of a matrix whose transpose this is, or a new node that is its transpose.
NodeId transposed(const NodeToRewrite& s, NodeId matrix) {
  const Node& node = s.rewriter.made(matrix);
  if (node.op == Op::permute) return node.operands[0];
  return s.append(Op::permute, {matrix}, {.axes = {1, 0}, .sizes = {}});
}

// True for what views and pointwise ops make of converted codes, as weights of few bits are
// decoded.
bool is_decoded(const NodeToRewrite& s, NodeId id, int deep = 8) {
  const Node& node = s.rewriter.made(id);
  const DType dtype = node.dtype;
  if (is_float8(dtype) || !(is_floating(dtype) || is_boolean(dtype))) return true;
  const bool is_looked_through = info(node.op).tile_op || info(node.op).kind == Kind::view;
  if (!is_floating(dtype) || !is_looked_through || deep == 0) return false;
  return std::ranges::any_of(node.operands, [&](NodeId x) { return is_decoded(s, x, deep - 1); });
}

// A product that is only read transposed is the product of the transposed operands: its rows are
// stored in the order in which they are read. Neither operand may be few rows or decoded weights,
// whose products have ways of their own.
std::optional<NodeId> transpose_product(const NodeToRewrite& s) {
  if (s.node.op != Op::permute || s.node.shape.rank() != 2) return std::nullopt;
  const Node product = s.operand(0);
  if ((product.op != Op::matmul && product.op != Op::linear) || product.operands.size() != 2 ||
      (*s.uses)[s.node.operands[0]] != 1 || !is_floating(product.dtype))
    return std::nullopt;
  for (int axis : {0, 1})
    if (s.node.shape[axis] < least_rows_turned) return std::nullopt;
  for (NodeId operand : product.operands)
    if (s.rewriter.made(operand).shape.rank() != 2 || is_decoded(s, operand)) return std::nullopt;
  std::vector<NodeId> operands = {product.operands[1], product.operands[0]};
  if (product.op == Op::matmul)
    for (NodeId& operand : operands) operand = transposed(s, operand);
  return s.rewriter.builder(product).append(product.op, operands, product.attributes,
                                            product.dtype);
}

// The elements of permuted values, as a tree of pointwise ops makes them, in the order that the
// values have in memory. All are permuted alike, and nothing else reads the ops.
class Unpermuted {
 public:
  explicit Unpermuted(const NodeToRewrite& site) : site_(site) {}
  std::optional<NodeId> of(NodeId old) {
    if (!find_order(old, most_ops_deep) || !order_) return std::nullopt;
    return made(old);
  }

 private:
  static constexpr int most_ops_deep = 8;
  const Node& node(NodeId old) const { return site_.rewriter.from().node(old); }
  const Node& stand_in(NodeId old) const { return site_.rewriter.made(site_.rewriter.at(old)); }

  bool find_order(NodeId old, int deep) {
    const Node &n = node(old), &now = stand_in(old);
    if (now.op == Op::full) return true;
    if (now.op == Op::permute) {
      if (!order_) order_ = now.attributes.axes;
      return *order_ == now.attributes.axes;
    }
    const bool is_read_once = (*site_.uses)[old] == 1;
    return deep > 0 && info(n.op).tile_op && is_read_once &&
           std::ranges::all_of(n.operands, [&](NodeId x) { return find_order(x, deep - 1); });
  }

  NodeId made(NodeId old) const {
    const Node& n = node(old);
    const Node now = stand_in(old);
    if (now.op == Op::permute) return now.operands[0];
    GraphBuilder builder = site_.rewriter.builder(n);
    if (now.op == Op::full) {
      Shape shape = now.shape;
      for (std::size_t axis = 0; axis < order_->size(); ++axis)
        shape[(*order_)[axis]] = now.shape[static_cast<int>(axis)];
      return builder.full(shape, value_of_full(now));
    }
    std::vector<NodeId> operands;
    for (NodeId x : n.operands) operands.push_back(made(x));
    return builder.append(n.op, operands, n.attributes, n.dtype);
  }

  const NodeToRewrite& site_;
  std::optional<std::vector<int>> order_;
};

// A reduction of all elements takes them in the order in which they lie. The squares of a permuted
// gradient are then not made apart, in another order, for the norm that they are added up to.
std::optional<NodeId> reduce_in_order(const NodeToRewrite& s) {
  const OpInfo& op = info(s.node.op);
  if (op.kind != Kind::reduction || op.finds_index || s.node.operands.size() != 1 ||
      element_count(s.node.shape) != 1 || element_count(s.operand(0).shape) == 0)
    return std::nullopt;
  const auto unpermuted = Unpermuted(s).of(s.node.operands[0]);
  if (!unpermuted) return std::nullopt;
  return s.rewriter.builder(s.node).append(s.node.op, {*unpermuted}, s.node.attributes,
                                           s.node.dtype);
}

constexpr Rule rules[] = {
    simplify_view, join_repetitions, simplify_cast,  fold_constants,    drop_neutral,   decide,
    drop_trivial,  reduce_constant,  transpose_last, transpose_product, reduce_in_order};

}  // namespace

Graph canonicalise(const Graph& graph) {
  std::vector<int> uses(graph.nodes.size());
  for (const Node& node : graph.nodes)
    for (NodeId operand : node.operands) ++uses[operand];
  for (NodeId id : graph.outputs) ++uses[id];
  for (const Mutation& m : graph.mutations) ++uses[m.value];
  return rewrite(graph, [&](Rewriter& rewriter, NodeId id) -> std::optional<NodeId> {
    NodeToRewrite site{rewriter, graph.node(id), rewriter.operands_of(graph.node(id)), &uses};
    for (Rule rule : rules)
      if (auto now = rule(site)) return now;
    return std::nullopt;
  });
}

}  // namespace tilewright::graph
