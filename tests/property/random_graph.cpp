#include "tests/property/random_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/error.h"
#include "tests/property/graph_generator.h"

namespace tilewright::graph {

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

std::vector<int> random_order(Dice& dice, std::size_t axes) {
  std::vector<int> order(axes);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[static_cast<std::size_t>(dice.below(static_cast<int>(i) + 1))]);
  return order;
}

Strides strides_of(const std::vector<int>& order, const Shape& shape) {
  Strides strides(order.size());
  std::int64_t step = 1;
  for (int axis : order) {
    strides[axis] = step;
    step *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

namespace {

bool is_good(const BoundedTensor& x) {
  double limit = bit_width(x.value.dtype) < 32 ? 0.2 : 0.01;
  for (std::int64_t i = 0; i < x.value.count(); ++i) {
    double number = std::abs(x.value.number(i)), error = x.error[static_cast<std::size_t>(i)];
    if (!(number <= 1000) || !(error <= limit * std::max(1.0, number))) return false;
  }
  return true;
}

NodeId append(Graph& graph, Op op, const std::vector<NodeId>& operands,
              const Attributes& attributes, std::optional<DType> dtype) {
  GraphBuilder builder(graph);
  return dtype ? builder.append(op, operands, attributes, *dtype)
               : builder.append(op, operands, attributes);
}

}  // namespace

std::int64_t GraphGenerator::most_elements() const { return has_names_ ? 4000 : 1200; }

std::int64_t GraphGenerator::least(std::int64_t size) const {
  std::int64_t least = at(size, made_.front().sizes);
  for (const Made& made : made_) least = std::min(least, at(size, made.sizes));
  return least;
}

bool GraphGenerator::is_small(const Shape& shape, std::int64_t most) const {
  return can_count(shape) && std::ranges::all_of(made_, [&](const Made& made) {
           return element_count(at(shape, made.sizes)) <= most;
         });
}

// Those of several sizes have dice of their own, so that what is grown is the same.
HostTensor GraphGenerator::random_values(Made& made, DType dtype, const Shape& shape,
                                         std::int64_t low, std::int64_t high) {
  if (!has_names_) return random_tensor(dice_, dtype, shape, low, high);
  Dice dice(seed_ + 1 + made.random.inputs.size() * 1000003);
  return random_tensor(dice, dtype, shape, low, high);
}

NodeId GraphGenerator::input(DType dtype, const Shape& shape, std::int64_t low, std::int64_t high) {
  if (has_names_ && !is_small(shape, most_elements()))
    raise_error(concat("[random graph] an input is too large: ", shape));
  std::vector<int> order;
  if (shape.rank() > 1 && dice_.chance(20)) order = random_order(dice_, shape.size());
  for (Made& made : made_) {
    const Shape own = at(shape, made.sizes);
    made.random.inputs.push_back(
        random_values(made, dtype, own, at(low, made.sizes), at(high, made.sizes)));
    made.values.push_back({made.random.inputs.back(),
                           std::vector<double>(static_cast<std::size_t>(element_count(own)))});
    GraphBuilder(made.random.graph).input(dtype, own, strides_of(order, own));
  }
  return GraphBuilder(outline_).input(dtype, shape);
}

// True if the node is legal, small and good.
bool GraphGenerator::append_to(Made& made, Op op, const std::vector<NodeId>& operands,
                               const Attributes& attributes, std::optional<DType> dtype) {
  Graph& graph = made.random.graph;
  NodeId id = append(graph, op, operands, at(attributes, made.sizes), dtype);
  if (graph.node(id).shape != at(node(id).shape, made.sizes)) return false;  // no sum of names
  std::vector<const BoundedTensor*> x;
  for (NodeId operand : operands) x.push_back(&made.values[operand]);
  std::int64_t count = element_count(graph.node(id).shape);
  if (count < (has_names_ ? 0 : 1) || count > most_elements()) return false;
  made.values.push_back(bound_node(graph, id, x));
  return op == Op::random_bits || is_good(made.values.back());  // which are large, and exact
}

// Appends the node unless it is illegal, too large or no good.
std::optional<NodeId> GraphGenerator::add(Op op, const std::vector<NodeId>& operands,
                                          const Attributes& attributes,
                                          std::optional<DType> dtype) {
  const std::size_t before = outline_.nodes.size();
  try {
    NodeId id = append(outline_, op, operands, attributes, dtype);
    if (can_count(node(id).shape) && std::ranges::all_of(made_, [&](Made& made) {
          return append_to(made, op, operands, attributes, dtype);
        }))
      return id;
  } catch (const Error&) {  // the dice do not know the rules
  }
  outline_.nodes.resize(before);
  for (Made& made : made_) {
    made.random.graph.nodes.resize(before);
    made.values.resize(before);
  }
  return std::nullopt;
}

std::int64_t GraphGenerator::random_size() {
  static constexpr std::int64_t sizes[] = {1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33};
  if (has_names_ && dice_.chance(35)) return dice_.chance(75) ? size_n : size_m;
  return dice_.pick(std::span(sizes));
}
Shape GraphGenerator::random_shape(int most_axes) {
  Shape shape;
  for (std::int64_t axes = 1 + dice_.below(most_axes); axes > 0; --axes) {
    std::int64_t size = random_size();
    shape.push_back(size);
    if (!is_small(shape, most_elements() / 2)) shape.back() = 2;
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
  static constexpr Kind kinds[] = {pointwise,         pointwise,
                                   pointwise,         pointwise,
                                   pointwise,         pointwise,
                                   pointwise,         pointwise,
                                   pointwise,         pointwise,
                                   pointwise,         pointwise,
                                   Kind::view,        Kind::view,
                                   Kind::view,        Kind::reduction,
                                   Kind::reduction,   Kind::contraction,
                                   Kind::contraction, Kind::composite,
                                   Kind::composite,   Kind::composite,
                                   Kind::composite,   Kind::concat,
                                   Kind::gather,      Kind::scatter,
                                   Kind::attention,   Kind::ordering,
                                   Kind::constant,    Kind::accumulation,
                                   Kind::convolution, Kind::cumulation,
                                   Kind::control,     Kind::grouped_product};
  Kind kind = dice_.pick(std::span(kinds));
  std::vector<Op> ops;
  for (std::size_t i = 0; i < all_ops().size(); ++i)
    if (all_ops()[i].kind == kind && !all_ops()[i].reads.has(AttributeField::custom))
      ops.push_back(static_cast<Op>(i));
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
    case Kind::accumulation: return grow_scatter_reduce();
    case Kind::concat: return grow_cat();
    case Kind::attention: return grow_attention(op);
    case Kind::convolution: return grow_convolution();
    case Kind::grouped_product: return grow_grouped_matmul();
    case Kind::ordering: return grow_argsort();
    case Kind::cumulation: return grow_cumulate();
    case Kind::custom: break;  // custom_ops_test.cpp adds them
    case Kind::control: return grow_control(op);
    case Kind::projection: break;  // with its operand
    case Kind::composite: return grow_composite(op);
  }
}

// Some inputs are overwritten at the end, also by what a view or another input shows, and by what
// was computed of themselves.
void GraphGenerator::write_inputs() {
  for (NodeId input = 0; input < size(); ++input) {
    if (node(input).op != Op::input || !dice_.chance(10)) continue;
    const bool is_written = std::ranges::any_of(
        outline_.mutations, [&](const Mutation& m) { return m.input == input; });
    for (int attempt = 0; attempt < 6 && !is_written; ++attempt) {
      const NodeId value = any_value();
      if (value == input || node(value).type() != node(input).type()) continue;
      outline_.mutations.push_back({input, value});
      break;
    }
  }
}

// Outputs: up to four of the computed nodes that nothing uses, and some with users.
void GraphGenerator::finish() {
  write_inputs();
  std::vector<bool> used(outline_.nodes.size());
  for (const Node& user : outline_.nodes)
    for (NodeId operand : user.operands) used[operand] = true;
  std::vector<NodeId> outputs;
  for (NodeId id = size(); id-- > 0 && outputs.size() < 4;)
    if (!used[id] && (node(id).op != Op::input || id == 0)) outputs.push_back(id);
  for (std::int64_t more = dice_.below(3); more > 0; --more) outputs.push_back(any_value());
  if (outputs.empty()) outputs = {size() - 1};
  for (Made& made : made_) {
    made.random.graph.outputs = outputs;
    made.random.graph.mutations = outline_.mutations;
  }
}

std::vector<RandomGraph> GraphGenerator::run() {
  if (has_names_) {
    Shape first = random_shape(3);
    first[static_cast<int>(dice_.below(first.rank()))] = size_n;
    input(random_dtype(), is_small(first, most_elements()) ? first : Shape{size_n});
  } else {
    input(random_dtype(), random_shape(4));
  }
  std::int64_t wanted = 2 + dice_.below(39);
  for (int attempt = 0; attempt < 200 && static_cast<std::int64_t>(size()) < wanted; ++attempt) {
    try {
      grow();
    } catch (const Error&) {  // an input was too large
      if (!has_names_) throw;
    }
  }
  finish();
  std::vector<RandomGraph> result;
  for (Made& made : made_) result.push_back(std::move(made.random));
  return result;
}

RandomGraph random_graph(std::uint64_t seed) {
  return std::move(GraphGenerator(seed).run().front());
}
std::vector<RandomGraph> random_graph_at(std::uint64_t seed, std::span<const NamedSizes> sizes) {
  return GraphGenerator(seed, sizes).run();
}

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
