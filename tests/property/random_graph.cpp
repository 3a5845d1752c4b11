#include "tests/property/random_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "runtime/base/error.h"
#include "tests/property/error_bound.h"

namespace tilewright::graph {
namespace {

// std distributions differ between libraries; these do not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15 + 1) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  bool chance(int percent) { return below(100) < percent; }
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
  }
  template <typename List>
  auto pick(const List& list) {
    return *(list.begin() + below(static_cast<std::int64_t>(list.size())));
  }

 private:
  std::mt19937_64 engine_;
};

constexpr std::int64_t most_elements = 1200;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : dice_(seed), builder_(result_.graph) {}
  RandomGraph run();

 private:
  const Node& node(NodeId id) const { return result_.graph.node(id); }
  NodeId size() const { return static_cast<NodeId>(result_.graph.nodes.size()); }

  NodeId input(DType dtype, const Shape& shape, std::int64_t low = -8, std::int64_t high = 8);
  std::optional<NodeId> add(Op op, const std::vector<NodeId>& operands,
                            const Attributes& attributes = {},
                            std::optional<DType> dtype = std::nullopt);
  bool is_good(NodeId id) const;

  std::int64_t random_size();
  Shape random_shape(int most_axes);
  DType random_dtype();
  NodeId any_value();
  std::optional<NodeId> value_where(bool (*fits)(const Node&));
  NodeId floating_value(int least_axes);
  NodeId partner(NodeId of);
  NodeId expanded(NodeId id, const Shape& shape);

  void grow();
  void grow_pointwise(Op op);
  void grow_view(Op op);
  void grow_reduction(Op op);
  void grow_matmul();
  void grow_embedding();
  void grow_index_copy();
  void grow_cat();
  void grow_attention();
  void grow_composite(Op op);
  void grow_constant(Op op);
  void finish();

  Dice dice_;
  RandomGraph result_;
  GraphBuilder builder_;
  std::vector<BoundedTensor> values_;
};

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

NodeId Generator::input(DType dtype, const Shape& shape, std::int64_t low, std::int64_t high) {
  Strides strides;
  if (shape.rank() > 1 && dice_.chance(20)) strides = random_strides(dice_, shape);
  result_.inputs.push_back(random_tensor(dice_, dtype, shape, low, high));
  values_.push_back(
      {result_.inputs.back(), std::vector<double>(static_cast<std::size_t>(element_count(shape)))});
  return builder_.input(dtype, shape, strides);
}

bool Generator::is_good(NodeId id) const {
  const BoundedTensor& x = values_[id];
  double limit = bit_width(x.value.dtype) < 32 ? 0.2 : 0.01;
  for (std::int64_t i = 0; i < x.value.count(); ++i) {
    double number = std::abs(x.value.number(i)), error = x.error[static_cast<std::size_t>(i)];
    if (!(number <= 1000) || !(error <= limit * std::max(1.0, number))) return false;
  }
  return true;
}

// Appends the node unless it is illegal, too large or no good.
std::optional<NodeId> Generator::add(Op op, const std::vector<NodeId>& operands,
                                     const Attributes& attributes, std::optional<DType> dtype) {
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

std::int64_t Generator::random_size() {
  static constexpr std::int64_t sizes[] = {1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33};
  return dice_.pick(std::span(sizes));
}
Shape Generator::random_shape(int most_axes) {
  Shape shape;
  for (std::int64_t axes = 1 + dice_.below(most_axes); axes > 0; --axes) {
    std::int64_t size = random_size();
    shape.push_back(element_count(shape) * size > most_elements / 2 ? 2 : size);
  }
  return shape;
}
DType Generator::random_dtype() {
  static constexpr DType rare[] = {f16, bf16, f64, i32, i64, DType::boolean};
  return dice_.chance(75) ? f32 : dice_.pick(std::span(rare));
}

// Later nodes rather than earlier ones, and computed ones rather than inputs: graphs grow deep.
NodeId Generator::any_value() {
  auto n = static_cast<std::int64_t>(size());
  NodeId id = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    id = static_cast<NodeId>(std::max(dice_.below(n), dice_.below(n)));
    if (node(id).op != Op::input) break;
  }
  return id;
}
std::optional<NodeId> Generator::value_where(bool (*fits)(const Node&)) {
  for (int attempt = 0; attempt < 8; ++attempt)
    if (NodeId id = any_value(); fits(node(id))) return id;
  return std::nullopt;
}
NodeId Generator::floating_value(int least_axes) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    NodeId id = any_value();
    if (is_floating(node(id).dtype) && node(id).shape.rank() >= least_axes) return id;
  }
  Shape shape = random_shape(3);
  while (shape.rank() < least_axes) shape.push_back(random_size() % 8 + 1);
  return input(f32, shape);
}

NodeId Generator::expanded(NodeId id, const Shape& shape) {
  Shape aligned(static_cast<std::size_t>(shape.rank() - node(id).shape.rank()), 1);
  Shape own = node(id).shape;
  aligned.insert(aligned.end(), own.begin(), own.end());
  if (aligned != own) id = add(Op::reshape, {id}, {.axes = {}, .sizes = aligned}).value_or(id);
  if (node(id).shape != shape)
    id = add(Op::expand, {id}, {.axes = {}, .sizes = shape}).value_or(id);
  return id;
}

// Another operand for a pointwise op with `of`: of its shape and dtype.
NodeId Generator::partner(NodeId of) {
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

void Generator::grow_pointwise(Op op) {
  const OpInfo& row = info(op);
  NodeId x = row.floating_only ? floating_value(0) : any_value();
  bool of_bits = ir::info(*row.tile_op).has(ir::integer_only);
  if (of_bits && row.max_operands == 2 && dice_.chance(50))
    x = input(dice_.chance(50) ? i32 : DType::u8, random_shape(3), 0, 30);
  if (of_bits && is_floating(node(x).dtype)) {
    auto truth = add(Op::lt, {x, partner(x)});
    if (!truth) return;
    x = *truth;
  }
  if (row.tile_op == ir::Op::cast_) {
    add(op, {x}, {}, random_dtype());
  } else if (row.max_operands == 1) {
    add(op, {x});
  } else if (row.max_operands == 2) {
    NodeId y = partner(x);
    add(op, dice_.chance(70) ? std::vector{x, y} : std::vector{y, x});
  } else {
    auto condition = add(Op::gt, {x, partner(x)});
    if (condition) add(op, {*condition, x, partner(x)});
  }
}

void Generator::grow_view(Op op) {
  NodeId x = any_value();
  Shape shape = node(x).shape;
  Attributes attributes;
  int rank = shape.rank();
  if (op == Op::permute) {
    attributes.axes.resize(shape.size());
    std::iota(attributes.axes.begin(), attributes.axes.end(), 0);
    for (int i = rank; i-- > 1;)
      std::swap(attributes.axes[static_cast<std::size_t>(i)],
                attributes.axes[static_cast<std::size_t>(dice_.below(i + 1))]);
  } else if (op == Op::slice) {
    if (rank == 0) return;
    int axis = static_cast<int>(dice_.below(rank));
    attributes.axes = {axis};
    attributes.start = dice_.below(shape[axis]);
    attributes.end = attributes.start + 1 + dice_.below(shape[axis] - attributes.start);
    attributes.step = dice_.chance(25) ? 2 : 1;
  } else if (op == Op::expand) {
    shape.insert(shape.begin() + dice_.below(rank + 1), 1);
    auto wider = add(Op::reshape, {x}, {.axes = {}, .sizes = shape});
    if (!wider) return;
    x = *wider;
    for (std::int64_t& size : shape)
      if (size == 1) size = 1 + dice_.below(4);
    attributes.sizes = shape;
  } else if (rank > 1 && dice_.chance(50)) {  // join two axes
    int axis = static_cast<int>(dice_.below(rank - 1));
    shape[axis] *= shape[axis + 1];
    shape.erase(shape.begin() + axis + 1);
    attributes.sizes = shape;
  } else {  // split one, or add one of size 1
    attributes.sizes = shape;
    int axis = static_cast<int>(dice_.below(rank + 1));
    std::int64_t part = 1;
    if (axis < rank && shape[axis] % 2 == 0) part = 2;
    if (axis < rank) attributes.sizes[axis] /= part;
    attributes.sizes.insert(attributes.sizes.begin() + axis, part);
  }
  if (attributes.sizes.rank() <= 5) add(op, {x}, attributes);
}

void Generator::grow_reduction(Op op) {
  NodeId x = any_value();
  int rank = node(x).shape.rank();
  if (rank == 0) return;
  Attributes attributes;
  for (int axis = 0; axis < rank; ++axis)
    if (dice_.chance(45)) attributes.axes.push_back(axis);
  if (op == Op::argmax || attributes.axes.empty())
    attributes.axes = {static_cast<int>(dice_.below(rank))};
  add(op, {x}, attributes);
}

void Generator::grow_matmul() {
  NodeId a = floating_value(2);
  Shape shape = node(a).shape;
  DType dtype = node(a).dtype;
  auto fits = [&](NodeId b) {
    return node(b).dtype == dtype && node(b).shape.rank() == 2 && node(b).shape[0] == shape[-1];
  };
  NodeId b = any_value();
  if (!fits(b)) b = input(dtype, {shape[-1], random_size()});
  Shape batched = shape;
  batched[-2] = shape[-1];
  batched[-1] = node(b).shape[1];
  add(Op::matmul, {a, expanded(b, batched)});
}

void Generator::grow_embedding() {
  static constexpr auto is_table = [](const Node& n) { return n.shape.rank() == 2; };
  NodeId table = value_where(is_table).value_or(0);
  if (!is_table(node(table))) table = input(f32, {random_size(), random_size()});
  Shape ids = random_shape(2);
  if (element_count(ids) > 40) ids = {5};
  std::int64_t rows = node(table).shape[0];
  add(Op::embedding, {table, input(dice_.chance(50) ? i32 : i64, ids, 0, rows)});
}

void Generator::grow_index_copy() {
  NodeId self = any_value();
  Shape shape = node(self).shape;
  if (shape.rank() == 0) return;
  int axis = static_cast<int>(dice_.below(shape.rank()));
  std::int64_t size = shape[axis], rows = 1 + dice_.below(std::min<std::int64_t>(size, 4));
  NodeId index = input(dice_.chance(50) ? i32 : i64, {rows}, 0, size);
  std::int64_t first = dice_.below(size);  // rows must differ
  HostTensor& numbers = result_.inputs.back();
  for (std::int64_t i = 0; i < rows; ++i)
    numbers.set_number(i, static_cast<double>((first + i) % size));
  values_[index].value = numbers;
  shape[axis] = rows;
  Attributes attributes;
  attributes.axes = {axis};
  auto written = add(Op::index_copy, {self, index, input(node(self).dtype, shape)}, attributes);
  bool is_free = std::ranges::none_of(result_.graph.mutations,
                                      [&](const Mutation& m) { return m.input == self; });
  if (written && node(self).op == Op::input && is_free && dice_.chance(60))
    result_.graph.mutations.push_back({self, *written});
}

void Generator::grow_cat() {
  NodeId x = any_value();
  if (node(x).shape.empty()) return;
  int axis = static_cast<int>(dice_.below(node(x).shape.rank()));
  std::vector<NodeId> parts = {x};
  for (std::int64_t more = 1 + dice_.below(2); more > 0; --more) {
    Shape shape = node(x).shape;
    shape[axis] = 1 + dice_.below(5);
    NodeId id = any_value();
    Shape own = node(id).shape;
    if (own.rank() == shape.rank()) own[axis] = shape[axis];
    bool fits = own == shape && node(id).dtype == node(x).dtype;
    parts.push_back(fits ? id : input(node(x).dtype, shape));
  }
  Attributes attributes;
  attributes.axes = {axis};
  add(Op::cat, parts, attributes);
}

void Generator::grow_attention() {
  static constexpr auto is_query = [](const Node& n) {
    return n.shape.rank() == 4 && is_floating(n.dtype);
  };
  static constexpr std::int64_t widths[] = {1, 3, 8, 16, 17};
  auto found = value_where(is_query);
  std::int64_t groups = 1 + dice_.below(2), heads = groups * (1 + dice_.below(2));
  NodeId q =
      found ? *found
            : input(dice_.chance(80) ? f32 : f16,
                    {1 + dice_.below(2), heads, 1 + dice_.below(6), dice_.pick(std::span(widths))});
  Shape shape = node(q).shape;
  if (found) groups = 1;
  std::int64_t rows = shape[2];
  shape[1] = groups;
  shape[2] = rows + dice_.below(12);
  std::vector<NodeId> operands = {q, input(node(q).dtype, shape), input(node(q).dtype, shape)};
  Attributes attributes;
  attributes.number = 1 / std::sqrt(static_cast<double>(shape[3]));
  attributes.causal = dice_.chance(60);
  if (attributes.causal && dice_.chance(40)) attributes.window = 1 + dice_.below(6);
  if (attributes.causal && dice_.chance(50))
    operands.push_back(input(dice_.chance(50) ? i32 : i64, {1}, 0, shape[2] - rows + 1));
  add(Op::attention, operands, attributes);
}

void Generator::grow_composite(Op op) {
  NodeId x = floating_value(1);
  DType dtype = node(x).dtype;
  Shape shape = node(x).shape;
  Attributes attributes;
  std::vector<NodeId> operands = {x};
  if (op == Op::mean || op == Op::var) {
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (dice_.chance(50)) attributes.axes.push_back(axis);
  } else if (op == Op::softmax || op == Op::log_softmax) {
    attributes.axes = {static_cast<int>(dice_.below(shape.rank()))};
  } else if (op == Op::layer_norm || op == Op::rms_norm) {
    attributes.number = 1e-5;
    for (int more = info(op).max_operands - 1; more > 0 && dice_.chance(80); --more)
      operands.push_back(input(dtype, {shape[-1]}));
  } else if (op == Op::linear) {
    std::int64_t width = random_size();
    operands.push_back(input(dtype, {width, shape[-1]}));
    if (dice_.chance(60)) operands.push_back(input(dtype, {width}));
  } else if (op == Op::quantized_linear) {
    std::int64_t width = random_size(), depth = dice_.chance(50) ? 64 : 96;
    bool packed = dice_.chance(60);
    std::int64_t groups = dice_.chance(50) ? 1 : depth / 32;
    operands = {input(dice_.chance(70) ? f32 : f16, {1 + dice_.below(6), depth})};
    operands.push_back(packed ? input(DType::u8, {width, depth / 2}, 0, 256)
                              : input(DType::i8, {width, depth}, -20, 20));
    for (std::int64_t more = 1 + dice_.below(2); more > 0; --more)
      operands.push_back(input(f32, {width, groups}));
  } else {
    attributes.flag = op == Op::gelu && dice_.chance(50);
  }
  add(op, operands, attributes);
}

void Generator::grow_constant(Op op) {
  Attributes attributes;
  attributes.number = dice_.between(-2, 2);
  attributes.sizes = random_shape(2);
  if (op == Op::arange) {
    attributes.sizes.clear();
    attributes.number = 0;
    attributes.start = dice_.below(4);
    attributes.step = 1 + dice_.below(3);
    attributes.end = attributes.start + 1 + dice_.below(30);
  }
  DType dtype = random_dtype();
  if (!is_floating(dtype)) attributes.number = std::round(attributes.number);
  add(op, {}, attributes, dtype);
}

// One more op of a random kind; the kinds that matter most for fusion come most often.
void Generator::grow() {
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
    case Kind::composite: return grow_composite(op);
  }
}

// Outputs: up to four of the computed nodes that nothing uses, and some with users.
void Generator::finish() {
  Graph& graph = result_.graph;
  std::vector<bool> used(graph.nodes.size());
  for (const Node& user : graph.nodes)
    for (NodeId operand : user.operands) used[operand] = true;
  for (NodeId id = size(); id-- > 0 && graph.outputs.size() < 4;)
    if (!used[id] && (node(id).op != Op::input || id == 0)) graph.outputs.push_back(id);
  for (std::int64_t more = dice_.below(3); more > 0; --more) graph.outputs.push_back(any_value());
  if (graph.outputs.empty()) graph.outputs = {size() - 1};
}

RandomGraph Generator::run() {
  input(random_dtype(), random_shape(4));
  std::int64_t wanted = 2 + dice_.below(39);
  for (int attempt = 0; attempt < 200 && static_cast<std::int64_t>(size()) < wanted; ++attempt)
    grow();
  finish();
  return std::move(result_);
}

}  // namespace

RandomGraph random_graph(std::uint64_t seed) { return Generator(seed).run(); }

}  // namespace tilewright::graph
