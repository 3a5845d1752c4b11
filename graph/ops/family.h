// The definitions that a family of ops consists of, and the words for them.
//
// A file of this folder is the home of one family: the shape rules of its ops, the decompositions
// of its composites and their evaluation on host arrays stand together, so that one reads a whole
// op on one page, and a new op is its row in ops.def and an overload or two beside its relatives.
//
//   rules::NAME      result type and what is legal; rows of ops.def name it
//   meaning          the op by its definition, in double; of pointwise ops it is their tile op's,
//                    of views what view_of says, of control flow `control`, by its bodies'
//   decomposition    a composite in terms of other ops
//
// Each gives the op's own value; an op of several results has those from 1 on in `others` of its
// result: the type, the value, the term.
//
// All are declared here from the table, for every op that needs one: an op that lacks one does not
// link, and the linker names it. The folder ir declares `infer` and `evaluate_node`; they are
// defined here, so that ir knows of no family.
#pragma once

#include <vector>

#include "dsl/target/target.h"
#include "graph/ir/evaluate.h"
#include "graph/ir/location.h"
#include "graph/ir/op_dispatch.h"
#include "graph/ir/shape_rules.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

// The input of a rule, and its way to complain.
struct Application {
  Op op;
  std::span<const ValueType> operands;
  const Attributes& attributes;
  std::optional<DType> dtype;
  std::source_location where;

  const Shape& shape(std::size_t i) const { return operands[i].shape; }
  DType dtype_of(std::size_t i) const { return operands[i].dtype; }
  std::size_t count() const { return operands.size(); }
  template <typename... Parts>
  void need(bool condition, const Parts&... parts) const {
    if (!condition) [[unlikely]]
      raise_error(concat("[", info(op).name, "] ", concat(parts...), " (at ", At{where}, ")"));
  }
  void need_equal_dtypes() const {
    for (std::size_t i = 1; i < count(); ++i)
      need(dtype_of(i) == dtype_of(0), "operand ", i, " is ", dtype_of(i), ", operand 0 is ",
           dtype_of(0), "; the operands must have one dtype: convert with to()");
  }
  void need_arithmetic(std::size_t i) const {
    need(!is_float8(dtype_of(i)), "operand ", i, " is ", dtype_of(i),
         "; floats of 8 bits are only stored and multiplied as matrices: convert with to(f32)");
  }
  void need_floating(std::size_t i) const {
    need_arithmetic(i);
    need(is_floating(dtype_of(i)), "operand ", i, " is ", dtype_of(i),
         "; it must be floating: convert with to(f32)");
  }
  void need_index(std::size_t i) const {
    need(dtype_of(i) == DType::i32 || dtype_of(i) == DType::i64, "the indices are ", dtype_of(i),
         "; they must be i32 or i64");
  }
};

namespace rules {

#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) \
  ValueType rule(const Application& a);
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP

// The building blocks of rules. The one axis of an op that works along one:
int single_axis(const Application& a);
void need_axis(const Application& a, int axis, int rank);
void need_sizes(const Application& a, const Shape& sizes);

}  // namespace rules

// A node under construction, so that decompositions read as formulas. Numbers take its type.
struct Term {
  GraphBuilder* builder;
  NodeId id;
  std::vector<NodeId> others = {};  // for several results: those from 1 on

  Shape shape() const { return builder->node(id).shape; }
  DType dtype() const { return builder->node(id).dtype; }
  Term make(Op op, std::vector<NodeId> operands, const Attributes& attributes = {}) const {
    return {builder, builder->append(op, std::move(operands), attributes)};
  }
  Term number(double value) const { return {builder, builder->full(dtype(), shape(), value)}; }
  Term to(DType target) const {
    if (dtype() == target) return *this;
    return {builder, builder->append(Op::to, {id}, {}, target)};
  }
  Term reshape(const Shape& sizes) const {
    return sizes == shape() ? *this : make(Op::reshape, {id}, {.axes = {}, .sizes = sizes});
  }
  Term expand(const Shape& sizes) const {
    return sizes == shape() ? *this : make(Op::expand, {id}, {.axes = {}, .sizes = sizes});
  }
  Term like(const Term& other) const { return expand(other.shape()); }
  // A vector along the last axis of `other`, as wide as all of it.
  Term along_rows_of(const Term& other) const {
    Shape sizes(other.shape().size(), 1);
    sizes[-1] = shape()[0];
    return reshape(sizes).like(other);
  }
  Term reduce(Op op, const std::vector<int>& axes) const {
    return make(op, {id}, {.axes = axes, .sizes = {}});
  }
};

Term operator+(const Term& a, const Term& b);
Term operator-(const Term& a, const Term& b);
Term operator*(const Term& a, const Term& b);
Term operator/(const Term& a, const Term& b);
Term operator+(const Term& a, double b);
Term operator*(const Term& a, double b);
Term operator/(double a, const Term& b);
Term unary(Op op, const Term& x);
Term choice(const Term& condition, const Term& a, const Term& b);
Term compared(Op op, const Term& a, double b);

// The input of a decomposition: the composite, the target of the graph, and its operands.
struct Composite {
  const Node& node;
  const dsl::Target& target;
  std::vector<Term> operands;

  bool has(std::size_t i) const { return i < operands.size(); }
  // An operand in the type that inner arithmetic uses: f32 for the 16-bit types.
  Term wide(std::size_t i) const {
    return operands[i].to(bit_width(node.dtype) < 32 && is_floating(node.dtype) ? DType::f32
                                                                                : node.dtype);
  }
};

using Operands = std::vector<const HostTensor*>;

// f of each element of x, in double.
template <typename F>
HostTensor map(const Node& node, const HostTensor& x, F f) {
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) result.set_number(i, f(x.number(i)));
  return result;
}

#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) \
  Term decomposition(The<Op::name>, const Composite& site);                          \
  HostTensor meaning(The<Op::name>, const Node& node, const Operands& operands);     \
  HostTensor control(The<Op::name>, const Node& node, const Operands& operands, Rounding rounding);
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP
HostTensor pointwise(const Node& node, const Operands& operands, Rounding rounding);
HostTensor view(const Graph& graph, NodeId id, const HostTensor& operand);

}  // namespace tilewright::graph
