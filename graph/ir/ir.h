// The tensor graph: the computation of a captured function.
//
// Nodes are append-only and a node's operands have smaller ids, so creation order is a topological
// order, there are no cycles to detect, and ids never dangle. A pass is a function from Graph to
// Graph. Results have static shapes; views are nodes like others, and where data really lies is
// decided later (graph/run). Data that belongs to running is not here.
//
// A node may have several results: the values and the indices of a maximum, say, which are found
// together.
//
//     %1: f32[4x1], i64[4x1] = max %0 {axes=1}
//     %2: i64[4x1] = result %1 {index=1}
//
// Result 0 is the node's own value; result i is read by a node `result {index=i}`, of the kind
// projection, which has no work of its own. So a NodeId stands for one value wherever one is meant:
// as operand, output, mutation, tensor, stand-in of a rewrite. With pairs of node and index
// instead, each of these places would carry an index that is 0 for all but a few ops, and each
// place that forgets it would be right until such an op comes. This way code that knows nothing of
// several results is right for the nodes it sees, and the cost of several results stands with that
// op: its rule, its meaning and its decomposition give, beside the first, `others`, which the
// evaluator and the rewriter carry along too. A composite's projections are replaced with it,
// result by result, so that they reach fusion only where a primitive has several results.
//
// Weights are inputs, like the arguments of the call: two layers of equal structure are equal
// subgraphs. In-place operations are functional here: the node gives the new value, and `Mutation`
// says which input's memory must hold it when the call is over.
#pragma once

#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "graph/ir/attributes.h"
#include "graph/ir/op.h"
#include "graph/ir/shape_rules.h"
#include "runtime/base/dtype.h"
#include "runtime/base/hash.h"
#include "runtime/base/shape.h"

namespace tilewright::ir {
struct Scalar;
}
namespace tilewright::graph {

using NodeId = std::uint32_t;
// A marked region of the captured function (graph/compile/region.h), each call of one by itself,
// from 1; 0: none.
using MarkId = std::uint32_t;

// The purpose of a node in a graph with gradients.
enum class Purpose : std::uint8_t {
  function,    // as the user wrote it
  derivative,  // made for a gradient
  again        // a value of the function that is computed a second time, for a gradient
};

// The operation of the user's that a node came from: the node itself, or a composite that was
// decomposed since.
struct Origin {
  Op op = Op::input;
  NodeId node = 0;              // of the captured graph
  MarkId mark = 0;              // where it was written; fusion joins nothing of two marks
  CustomReference custom = {};  // that `op` applies
  Purpose purpose = Purpose::function;
};
// The user's word for it: that of the op, or the name of a custom one.
std::string_view word_of(const Origin& origin);

struct Node {
  Op op;
  std::vector<NodeId> operands;
  DType dtype;
  Shape shape;
  Attributes attributes;
  std::source_location where;          // the user's line
  Origin origin = {};                  // for reports: like the line, not part of the node's meaning
  std::vector<ValueType> others = {};  // types of results 1, 2, ...

  ValueType type() const { return {dtype, shape, others}; }
};

struct Mutation {
  NodeId input;  // the input whose memory is overwritten
  NodeId value;  // by this node
};

// The range in which the elements of an index must lie, and how messages name them.
struct IndexRange {
  // The name of an element in messages.
  enum class Noun : std::uint8_t { index, id, row, target, length };
  std::string operation;  // of the user's
  Noun noun;
  std::int64_t least, end;
  std::source_location where;
  std::optional<std::int64_t> ignored = {};  // an element that may lie outside
  std::string node = {};  // of a foreign program (ForeignNode), that the line is not about
};
// An index that an operation takes as the user gave it, before that is made fit for programs. It is
// not part of the graph's computation: compiling a captured graph may include the check or not
// (graph/tensor/checks/row_checks.h), and passes leave it out.
struct IndexCheck {
  NodeId index;
  IndexRange range;
  // For an input: only elements so far in memory from the first one on. Empty: all.
  std::vector<std::int64_t> offsets = {};
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<NodeId> inputs;  // in order: the call's arguments, then captured tensors
  std::vector<NodeId> outputs;
  std::vector<Mutation> mutations;
  // Strides of inputs whose memory is not row-major, indexed like `inputs`; empty: row-major.
  std::vector<Strides> input_strides;
  std::vector<std::string> marks;        // the name of mark 1, 2, ...
  std::vector<IndexCheck> index_checks;  // of a captured graph, in the order of the program

  const Node& node(NodeId id) const { return nodes[id]; }
};

// Appends nodes; infers dtype and shape by the op's rule and raises `Error` where operands do not
// fit. Operands must have the shapes that the op requires: broadcasting and promotion are the
// caller's (graph/tensor/functional.h inserts `expand` and `to`).
class GraphBuilder {
 public:
  explicit GraphBuilder(Graph& graph) : graph_(graph) {}
  Graph& graph() { return graph_; }
  const Node& node(NodeId id) const { return graph_.nodes[id]; }
  void set_location(std::source_location where) { where_ = where; }
  std::source_location location() const { return where_; }
  void set_origin(Origin origin) { origin_ = origin; }  // else each node is its own
  void set_mark(MarkId mark) { mark_ = mark; }          // of nodes that are their own origin

  NodeId input(DType dtype, Shape shape, Strides strides = {});
  NodeId full(DType dtype, Shape shape, double number);
  NodeId full(Shape shape, const ir::Scalar& value);
  NodeId append(Op op, std::vector<NodeId> operands, Attributes attributes = {});
  // For ops whose result dtype is a choice (to, arange, full).
  NodeId append(Op op, std::vector<NodeId> operands, Attributes attributes, DType dtype);
  // Each result of a node as a node: itself, and projections that are appended.
  std::vector<NodeId> results_of(NodeId id);

 private:
  NodeId add(Op op, std::vector<NodeId> operands, ValueType type, Attributes attributes);
  Graph& graph_;
  std::source_location where_ = std::source_location::current();
  std::optional<Origin> origin_;
  MarkId mark_ = 0;
};

// The value of every element of a `full` node: `number`, and for an integer that no double
// represents, the rest in `start`.
ir::Scalar value_of_full(const Node& full);

// Identity of the graph's meaning, without source lines.
Hash content_hash(const Graph& graph);

// How far a graph has come. The passes (graph/passes) lead from one stage to the next.
enum class Stage : std::uint8_t {
  captured,  // composites are as the user wrote them: derivatives and rewrites look at this stage
  primitive  // no composite is left: this stage is cut into regions
};
// Raises `InternalError` where a node breaks the rules above or the promises of the stage.
void verify(const Graph& graph, Stage stage = Stage::captured);

}  // namespace tilewright::graph
