#include "tests/property/random_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/error.h"
#include "tests/property/graph_generator.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t most_elements = 1200;

HostTensor random_tensor(Dice& dice, DType dtype, const Shape& shape, std::int64_t low,
                         std::int64_t high) {
  HostTensor tensor(dtype, shape);
  bool positive = dice.chance(20);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    if (is_floating(dtype))
      tensor.set_number(i, positive ? dice.between(0.5, 2) : dice.between(-2, 2));
    else if (is_boolean(dtype))
      tensor.set_number(i, dice.below(2));
    else
      tensor.set_number(i, static_cast<double>(low + dice.below(high - low)));
  }
  round_to(tensor, dtype);
  return tensor;
}

// Strides of a dense tensor whose axes lie in memory in a random order.
Strides random_strides(Dice& dice, const Shape& shape) {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[static_cast<std::size_t>(dice.below(static_cast<int>(i) + 1))]);
  Strides strides(shape.size());
  std::int64_t step = 1;
  for (int axis : order) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

}  // namespace

NodeId GraphGenerator::input(DType dtype, const Shape& shape, std::int64_t low, std::int64_t high) {
  Strides strides;
  if (shape.rank() > 1 && dice_.chance(20)) strides = random_strides(dice_, shape);
  result_.inputs.push_back(random_tensor(dice_, dtype, shape, low, high));
  values_.push_back(
      {result_.inputs.back(), std::vector<double>(static_cast<std::size_t>(element_count(shape)))});
  return builder_.input(dtype, shape, strides);
}

bool GraphGenerator::is_good(NodeId id) const {
  const BoundedTensor& x = values_[id];
  double limit = bit_width(x.value.dtype) < 32 ? 0.2 : 0.01;
  for (std::int64_t i = 0; i < x.value.count(); ++i) {
    double number = std::abs(x.value.number(i)), error = x.error[static_cast<std::size_t>(i)];
    if (!(number <= 1000) || !(error <= limit * std::max(1.0, number))) return false;
  }
  return true;
}

// Appends the node unless it is illegal, too large or no good.
std::optional<NodeId> GraphGenerator::add(Op op, const std::vector<NodeId>& operands,
                                          const Attributes& attributes,
                                          std::optional<DType> dtype) {
  try {
    NodeId id = dtype ? builder_.append(op, operands, attributes, *dtype)
                      : builder_.append(op, operands, attributes);
    std::vector<const BoundedTensor*> x;
    for (NodeId operand : operands) x.push_back(&values_[operand]);
    std::int64_t count = element_count(node(id).shape);
    if (count > 0 && count <= most_elements) {
      BoundedTensor value = bound_node(result_.graph, id, x);
      values_.push_back(std::move(value));
      if (is_good(id)) return id;
      values_.pop_back();
    }
    result_.graph.nodes.pop_back();
  } catch (const Error&) {  // the dice do not know the rules
    result_.graph.nodes.resize(values_.size());
  }
  return std::nullopt;
}

std::int64_t GraphGenerator::random_size() {
  static constexpr std::int64_t sizes[] = {1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33};
  return dice_.pick(std::span(sizes));
}
Shape GraphGenerator::random_shape(int most_axes) {
  Shape shape;
  for (std::int64_t axes = 1 + dice_.below(most_axes); axes > 0; --axes) {
    std::int64_t size = random_size();
    shape.push_back(element_count(shape) * size > most_elements / 2 ? 2 : size);
  }
  return shape;
}
DType GraphGenerator::random_dtype() {
  static constexpr DType rare[] = {f16, bf16, f64, i32, i64, DType::boolean};
  return dice_.chance(75) ? f32 : dice_.pick(std::span(rare));
}

// Later nodes rather than earlier ones, and computed ones rather than inputs: graphs grow deep.
NodeId GraphGenerator::any_value() {
  auto n = static_cast<std::int64_t>(size());
  NodeId id = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    id = static_cast<NodeId>(std::max(dice_.below(n), dice_.below(n)));
    if (node(id).op != Op::input) break;
  }
  return id;
}
std::optional<NodeId> GraphGenerator::value_where(bool (*fits)(const Node&)) {
  for (int attempt = 0; attempt < 8; ++attempt)
    if (NodeId id = any_value(); fits(node(id))) return id;
  return std::nullopt;
}
NodeId GraphGenerator::floating_value(int least_axes) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    NodeId id = any_value();
    if (is_floating(node(id).dtype) && node(id).shape.rank() >= least_axes) return id;
  }
  Shape shape = random_shape(3);
  while (shape.rank() < least_axes) shape.push_back(random_size() % 8 + 1);
  return input(f32, shape);
}

NodeId GraphGenerator::expanded(NodeId id, const Shape& shape) {
  Shape aligned(static_cast<std::size_t>(shape.rank() - node(id).shape.rank()), 1);
  Shape own = node(id).shape;
  aligned.insert(aligned.end(), own.begin(), own.end());
  if (aligned != own) id = add(Op::reshape, {id}, {.axes = {}, .sizes = aligned}).value_or(id);
  if (node(id).shape != shape)
    id = add(Op::expand, {id}, {.axes = {}, .sizes = shape}).value_or(id);
  return id;
}

// Another operand for a pointwise op with `of`: of its shape and dtype.
NodeId GraphGenerator::partner(NodeId of) {
  DType dtype = node(of).dtype;
  Shape shape = node(of).shape;
  for (int attempt = 0; attempt < 6; ++attempt) {
    NodeId id = any_value();
    if (node(id).dtype == dtype && broadcast_shapes(node(id).shape, shape) == shape)
      return expanded(id, shape);
  }
  if (dice_.chance(30)) {
    Attributes attributes{.axes = {}, .sizes = shape};
    static constexpr double numbers[] = {0, 1, 2, 0.5, -1.5, 0.1};
    attributes.number = is_floating(dtype) ? dice_.pick(std::span(numbers)) : 1.0;
    if (auto constant = add(Op::full, {}, attributes, dtype)) return *constant;
  }
  Shape smaller = shape;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (dice_.chance(30)) smaller[axis] = 1;
  if (shape.rank() > 1 && dice_.chance(30)) smaller.erase(smaller.begin());
  return expanded(input(dtype, smaller), shape);
}

// One more op of a random kind; the kinds that matter most for fusion come most often.
void GraphGenerator::grow() {
  static constexpr Kind pointwise = Kind::pointwise;
  static constexpr Kind kinds[] = {
      pointwise,       pointwise,       pointwise,         pointwise,         pointwise,
      pointwise,       pointwise,       pointwise,         pointwise,         pointwise,
      pointwise,       pointwise,       Kind::view,        Kind::view,        Kind::view,
      Kind::reduction, Kind::reduction, Kind::contraction, Kind::contraction, Kind::composite,
      Kind::composite, Kind::composite, Kind::composite,   Kind::concat,      Kind::gather,
      Kind::scatter,   Kind::attention, Kind::constant};
  Kind kind = dice_.pick(std::span(kinds));
  std::vector<Op> ops;
  for (std::size_t i = 0; i < all_ops().size(); ++i)
    if (all_ops()[i].kind == kind) ops.push_back(static_cast<Op>(i));
  Op op = dice_.pick(ops);
  switch (kind) {
    case Kind::input: break;
    case Kind::constant: return grow_constant(op);
    case Kind::pointwise: return grow_pointwise(op);
    case Kind::view: return grow_view(op);
    case Kind::reduction: return grow_reduction(op);
    case Kind::contraction: return grow_matmul();
    case Kind::gather: return grow_embedding();
    case Kind::scatter: return grow_index_copy();
    case Kind::concat: return grow_cat();
    case Kind::attention: return grow_attention();
    case Kind::projection: break;  // with its operand
    case Kind::composite: return grow_composite(op);
  }
}

// Outputs: up to four of the computed nodes that nothing uses, and some with users.
void GraphGenerator::finish() {
  Graph& graph = result_.graph;
  std::vector<bool> used(graph.nodes.size());
  for (const Node& user : graph.nodes)
    for (NodeId operand : user.operands) used[operand] = true;
  for (NodeId id = size(); id-- > 0 && graph.outputs.size() < 4;)
    if (!used[id] && (node(id).op != Op::input || id == 0)) graph.outputs.push_back(id);
  for (std::int64_t more = dice_.below(3); more > 0; --more) graph.outputs.push_back(any_value());
  if (graph.outputs.empty()) graph.outputs = {size() - 1};
}

RandomGraph GraphGenerator::run() {
  input(random_dtype(), random_shape(4));
  std::int64_t wanted = 2 + dice_.below(39);
  for (int attempt = 0; attempt < 200 && static_cast<std::int64_t>(size()) < wanted; ++attempt)
    grow();
  finish();
  return std::move(result_);
}

RandomGraph random_graph(std::uint64_t seed) { return GraphGenerator(seed).run(); }

void mark_at_random(Graph& graph, std::uint64_t seed) {
  Dice dice(seed);
  MarkId mark = 0;
  for (Node& node : graph.nodes) {
    if (dice.chance(25)) mark = static_cast<MarkId>(dice.below(4));  // a mark may go on later
    const bool is_projection = info(node.op).kind == Kind::projection;
    node.origin.mark = is_projection ? graph.node(node.operands[0]).origin.mark : mark;
  }
  graph.marks = {"first", "second", "third"};
}

}  // namespace tilewright::graph
