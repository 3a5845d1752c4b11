#include "graph/ir/ir.h"

#include "dsl/ir/function.h"
#include "graph/ir/shape_rules.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

Bodies::Bodies(std::vector<Graph> graphs) {
  for (Graph& graph : graphs) {
    const Hash hash = content_hash(graph);
    bodies_.push_back({std::make_shared<const Graph>(std::move(graph)), hash});
  }
}

namespace {

// The types of the operands, for the rule of `op`.
std::vector<ValueType> types_of(const Graph& graph, Op op, const std::vector<NodeId>& operands) {
  std::vector<ValueType> types;
  types.reserve(operands.size());
  for (NodeId id : operands) {
    const Node& node = graph.node(id);
    types.push_back({node.dtype, node.shape});
    if (info(op).kind == Kind::projection) types.back().others = node.others;
  }
  return types;
}

// Checks the bodies.
void verify_bodies(const Bodies& bodies) {
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    verify(bodies[i]);
    check(bodies[i].mutations.empty(), "a body of control flow writes its inputs");
  }
}

// An integer that a double is, of those from -2^63 to 2^64, in 64 bits.
std::uint64_t wrapped(double integer) {
  return integer < 0        ? static_cast<std::uint64_t>(static_cast<std::int64_t>(integer))
         : integer < 0x1p64 ? static_cast<std::uint64_t>(integer)
                            : 0;
}

}  // namespace

NodeId GraphBuilder::input(DType dtype, Shape shape, Strides strides) {
  if (!strides.empty() && is_row_major(shape, strides)) strides.clear();
  NodeId id = append(Op::input, {}, {.axes = {}, .sizes = std::move(shape)}, dtype);
  graph_.inputs.push_back(id);
  graph_.input_strides.resize(graph_.inputs.size());
  graph_.input_strides.back() = std::move(strides);
  return id;
}

NodeId GraphBuilder::full(DType dtype, Shape shape, double number) {
  Attributes attributes;
  attributes.sizes = std::move(shape);
  attributes.number = number;
  return append(Op::full, {}, std::move(attributes), dtype);
}

NodeId GraphBuilder::full(Shape shape, const ir::Scalar& value) {
  Attributes attributes;
  attributes.sizes = std::move(shape);
  attributes.number = value.as_double();
  // By wrapping: the nearest double may be a number beyond 64 bits.
  if (!is_floating(value.dtype))
    attributes.start = static_cast<std::int64_t>(static_cast<std::uint64_t>(value.integer) -
                                                 wrapped(attributes.number));
  return append(Op::full, {}, std::move(attributes), value.dtype);
}

ir::Scalar value_of_full(const Node& full) {
  const Attributes& a = full.attributes;
  if (is_floating(full.dtype) || is_boolean(full.dtype) || a.start == 0)
    return ir::Scalar::of(full.dtype, a.number);
  return ir::Scalar::of_integer(
      full.dtype,
      static_cast<std::int64_t>(wrapped(a.number) + static_cast<std::uint64_t>(a.start)));
}

NodeId GraphBuilder::add(Op op, std::vector<NodeId> operands, ValueType type,
                         Attributes attributes) {
  auto id = static_cast<NodeId>(graph_.nodes.size());
  // A result comes from what its node came from.
  Origin own = info(op).kind == Kind::projection ? node(operands[0]).origin
                                                 : Origin{op, id, mark_, attributes.custom};
  graph_.nodes.push_back({op, std::move(operands), type.dtype, std::move(type.shape),
                          std::move(attributes), where_, origin_.value_or(own),
                          std::move(type.others)});
  return id;
}

NodeId GraphBuilder::append(Op op, std::vector<NodeId> operands, Attributes attributes) {
  ValueType type = infer(op, types_of(graph_, op, operands), attributes, std::nullopt, where_);
  return add(op, std::move(operands), std::move(type), std::move(attributes));
}

NodeId GraphBuilder::append(Op op, std::vector<NodeId> operands, Attributes attributes,
                            DType dtype) {
  ValueType type = infer(op, types_of(graph_, op, operands), attributes, dtype, where_);
  check(type.dtype == dtype, "a dtype was chosen for an op that has no choice of it");
  return add(op, std::move(operands), std::move(type), std::move(attributes));
}

std::vector<NodeId> GraphBuilder::results_of(NodeId id) {
  std::vector<NodeId> results = {id};
  const std::size_t others = node(id).others.size();
  for (std::size_t i = 1; i <= others; ++i) {
    Attributes attributes;
    attributes.index = static_cast<std::int64_t>(i);
    results.push_back(append(Op::result, {id}, std::move(attributes)));
  }
  return results;
}

namespace {

void add_type(Hasher& hasher, const ValueType& type) {
  hasher.add(type.dtype).add(type.shape).add(type.others.size());
  for (const ValueType& other : type.others) add_type(hasher, other);
}

}  // namespace

Hash content_hash(const Graph& graph) {
  Hasher hasher;
  hasher.add(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    hasher.add(node.op).add(node.operands);
    add_type(hasher, node.type());
    add_attributes(hasher, node.attributes);
  }
  hasher.add(graph.inputs).add(graph.outputs).add(graph.mutations.size());
  for (const Mutation& m : graph.mutations) hasher.add(m.input).add(m.value);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    hasher.add(i < graph.input_strides.size() ? graph.input_strides[i] : Strides{});
  return hasher.finish();
}

void verify(const Graph& graph, Stage stage) {
  auto exists = [&](NodeId id) { return id < graph.nodes.size(); };
  std::size_t inputs = 0;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    for (NodeId operand : node.operands)
      check(operand < id, "an operand does not come before its user");
    inputs += node.op == Op::input ? 1 : 0;
    std::optional<DType> choice;
    if (chooses_dtype(node.op)) choice = node.dtype;
    ValueType type;
    try {
      type = infer(node.op, types_of(graph, node.op, node.operands), node.attributes, choice,
                   node.where);
    } catch (const Error& error) {
      raise_internal_error(concat("node ", id, " is not legal: ", error.what()),
                           std::source_location::current());
    }
    const bool is_type =
        type.dtype == node.dtype && type.shape == node.shape && type.others == node.others;
    check(is_type, "a node's type differs from its rule's");
    verify_bodies(node.attributes.bodies);
    check(stage == Stage::captured || info(node.op).kind != Kind::composite,
          "a composite is left in a graph of primitive ops");
  }
  check(inputs == graph.inputs.size(), "the list of inputs is not that of input nodes");
  for (NodeId id : graph.inputs)
    check(exists(id) && graph.node(id).op == Op::input, "an input is not an input node");
  check(graph.input_strides.empty() || graph.input_strides.size() == graph.inputs.size(),
        "input strides are not indexed like inputs");
  for (std::size_t i = 0; i < graph.input_strides.size(); ++i)
    check(graph.input_strides[i].empty() ||
              graph.input_strides[i].rank() == graph.node(graph.inputs[i]).shape.rank(),
          "input strides have another rank than the input");
  for (NodeId id : graph.outputs) check(exists(id), "an output does not exist");
  for (const Mutation& m : graph.mutations) {
    check(exists(m.input) && exists(m.value) && graph.node(m.input).op == Op::input,
          "a mutation does not name an input and a node");
    check(graph.node(m.input).shape == graph.node(m.value).shape &&
              graph.node(m.input).dtype == graph.node(m.value).dtype,
          "a mutation's value has another type than its input");
  }
}

std::string_view word_of(const Origin& origin) {
  return origin.custom.is_defined() ? std::string_view(origin.custom.name()) : info(origin.op).name;
}

}  // namespace tilewright::graph
