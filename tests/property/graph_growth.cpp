// How each kind of op is added to a random graph.
#include <algorithm>
#include <cmath>
#include <limits>

#include "dsl/ir/type_rules.h"
#include "graph/ops/derivatives/gradient_graph.h"
#include "tests/property/graph_generator.h"

namespace tilewright::graph {

void GraphGenerator::grow_pointwise(Op op) {
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
  if (op == Op::random_bits) x = input(DType::i64, random_shape(3), 0, 30);
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

void GraphGenerator::grow_view(Op op) {
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
    if (has_name(shape[axis])) {  // near its ends, or a few at its beginning
      attributes.start = dice_.below(3);
      attributes.end = dice_.chance(60) ? shape[axis] - dice_.below(3) : 3 + dice_.below(4);
    } else {
      attributes.start = dice_.below(shape[axis]);
      attributes.end = attributes.start + 1 + dice_.below(shape[axis] - attributes.start);
    }
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

void GraphGenerator::grow_reduction(Op op) {
  NodeId x = any_value();
  if ((op == Op::any || op == Op::all) && !is_boolean(node(x).dtype)) {
    auto truth = add(Op::lt, {x, partner(x)});
    if (!truth) return;
    x = *truth;
  }
  int rank = node(x).shape.rank();
  if (rank == 0) return;
  Attributes attributes;
  for (int axis = 0; axis < rank; ++axis)
    if (dice_.chance(45)) attributes.axes.push_back(axis);
  if (info(op).finds_index || attributes.axes.empty())
    attributes.axes = {static_cast<int>(dice_.below(rank))};
  add(op, {x}, attributes);
}

void GraphGenerator::grow_matmul() {
  const bool bytes = dice_.chance(10);
  NodeId a =
      bytes ? input(DType::i8, {random_size(), random_size()}, -128, 128) : floating_value(2);
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
  add(Op::matmul, {a, expanded(b, batched)}, {},
      dice_.chance(30)   ? ir::product_dtype(dtype)
      : is_float8(dtype) ? f32
                         : dtype);
}

void GraphGenerator::grow_grouped_matmul() {
  const NodeId a = floating_value(2);
  const Shape shape = node(a).shape;
  const DType dtype = node(a).dtype;
  if (shape.rank() != 2 || is_float8(dtype)) return;
  const bool by_rows = dice_.chance(60);
  const std::int64_t groups = 1 + dice_.below(6);
  const NodeId b = by_rows ? input(dtype, {groups, shape[1], random_size()})
                           : input(dtype, {shape[1], random_size()});
  // In any order, and some behind the last row.
  const std::int64_t rows = least(shape[by_rows ? 0 : 1]);
  const NodeId ends = input(dice_.chance(50) ? i32 : i64, {groups}, -1, rows + 2);
  add(Op::grouped_matmul, {a, b, ends});
}

void GraphGenerator::grow_embedding() {
  static constexpr auto is_table = [](const Node& n) { return n.shape.rank() == 2; };
  NodeId table = value_where(is_table).value_or(0);
  if (!is_table(node(table))) table = input(f32, {random_size(), random_size()});
  Shape ids = random_shape(2);
  if (!is_small(ids, has_names_ ? 300 : 40)) ids = {5};
  std::int64_t rows = node(table).shape[0];
  if (least(rows) < 1) return;
  add(Op::embedding, {table, input(dice_.chance(50) ? i32 : i64, ids, 0, rows)});
}

void GraphGenerator::grow_index_copy() {
  NodeId self = any_value();
  Shape shape = node(self).shape;
  if (shape.rank() == 0) return;
  int axis = static_cast<int>(dice_.below(shape.rank()));
  std::int64_t size = shape[axis], rows = 1 + dice_.below(std::min<std::int64_t>(size, 4));
  if (least(size) < rows) return;
  NodeId index = input(dice_.chance(50) ? i32 : i64, {rows}, 0, size);
  std::int64_t first = dice_.below(size);  // rows must differ
  for (Made& made : made_) {
    HostTensor& numbers = made.random.inputs.back();
    for (std::int64_t i = 0; i < rows; ++i)
      numbers.set_number(i, static_cast<double>((first + i) % at(size, made.sizes)));
    made.values[index].value = numbers;
  }
  shape[axis] = rows;
  Attributes attributes;
  attributes.axes = {axis};
  auto written = add(Op::index_copy, {self, index, input(node(self).dtype, shape)}, attributes);
  bool is_free =
      std::ranges::none_of(outline_.mutations, [&](const Mutation& m) { return m.input == self; });
  if (written && node(self).op == Op::input && is_free && dice_.chance(60))
    outline_.mutations.push_back({self, *written});
}

void GraphGenerator::grow_scatter_reduce() {
  static constexpr ir::ReduceKind kinds[] = {ir::ReduceKind::sum, ir::ReduceKind::prod,
                                             ir::ReduceKind::max, ir::ReduceKind::min};
  NodeId self = any_value();
  Shape shape = node(self).shape;
  if (shape.rank() == 0) return;
  const int axis = static_cast<int>(dice_.below(shape.rank()));
  const std::int64_t rows = shape[axis];
  if (least(rows) < 1) return;
  shape[axis] = 1 + dice_.below(9);
  for (std::int64_t& size : shape)
    if (!has_name(size) && size > 2 && dice_.chance(10)) --size;
  Shape numbers = shape;
  if (dice_.chance(50))  // one row number for all columns
    for (int i = 0; i < shape.rank(); ++i)
      if (i != axis) numbers[i] = 1;
  NodeId index = input(dice_.chance(50) ? i32 : i64, numbers, 0, rows);
  NodeId source = input(node(self).dtype, shape, -2, 3);
  Attributes attributes;
  attributes.axes = {axis};
  attributes.reduction = dice_.pick(std::span(kinds));
  auto joined = add(Op::scatter_reduce, {self, expanded(index, shape), source}, attributes);
  bool is_free =
      std::ranges::none_of(outline_.mutations, [&](const Mutation& m) { return m.input == self; });
  if (joined && node(self).op == Op::input && is_free && dice_.chance(40))
    outline_.mutations.push_back({self, *joined});
}

void GraphGenerator::grow_cat() {
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

// A mask for scores: for a random dtype, and the same along axes of it.
NodeId GraphGenerator::grow_mask(const Shape& scores) {
  static constexpr DType dtypes[] = {DType::boolean, f32, f16, bf16};
  Shape own = scores;
  for (std::int64_t& size : own)
    if (dice_.chance(40)) size = 1;
  return expanded(input(dice_.pick(std::span(dtypes)), own), scores);
}

// A few ops on scores, their places, and what is read besides.
Graph GraphGenerator::score_function(DType carried, std::optional<DType> read) {
  Graph function;
  GraphBuilder builder(function);
  NodeId value = builder.input(carried, {});
  std::vector<NodeId> places;
  for (int axis = 0; axis < 4; ++axis) places.push_back(builder.input(i32, {}));
  std::optional<NodeId> other;
  if (read) other = builder.input(*read, {});
  auto number = [&](double n) { return builder.full(carried, {}, n); };
  auto of = [&](Op op, NodeId a, NodeId b) { return builder.append(op, {a, b}); };
  auto place = [&] { return places[static_cast<std::size_t>(dice_.below(4))]; };
  if (other && is_boolean(*read)) {
    value = builder.append(Op::where, {*other, value, of(Op::mul, value, number(0.5))});
  } else if (other) {
    if (*read != carried) other = builder.append(Op::to, {*other}, {}, carried);
    value = of(dice_.chance(50) ? Op::add : Op::mul, value, *other);
  }
  for (std::int64_t more = 1 + dice_.below(3); more > 0; --more) {
    switch (dice_.below(5)) {
      case 0: value = builder.append(Op::tanh, {value}); break;
      case 1: value = of(Op::mul, value, number(-0.75)); break;
      case 2: {
        const NodeId distance = of(Op::sub, place(), place());
        value = of(Op::add, value,
                   of(Op::mul, builder.append(Op::to, {distance}, {}, carried), number(0.125)));
        break;
      }
      case 3:
        value = builder.append(Op::where, {of(Op::le, place(), place()), value, number(0.25)});
        break;
      default: value = builder.append(Op::sigmoid, {value});
    }
  }
  if (dice_.chance(30))
    value = builder.append(Op::where, {of(Op::ne, place(), place()), value,
                                       number(-std::numeric_limits<double>::infinity())});
  function.outputs = {value};
  return function;
}

void GraphGenerator::grow_attention(Op op) {
  static constexpr auto is_query = [](const Node& n) {
    return n.shape.rank() == 4 && is_floating(n.dtype) && !is_float8(n.dtype);
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
  const bool has_gradient = op == Op::attention_gradient;
  // A power of two of rows in each page, and at least as many keys as rows.
  std::optional<std::int64_t> pages;
  if (!has_gradient && dice_.chance(25)) {
    pages = 1 + dice_.below(2);
    shape[0] = 1 + dice_.below(3);
    shape[2] = 16;
    if (rows > *pages * shape[2]) pages.reset();
  }
  if (!pages) {
    shape[0] = node(q).shape[0];
    shape[2] = rows + dice_.below(12);
  }
  const std::int64_t keys = shape[2] * pages.value_or(1), batch = node(q).shape[0];
  std::vector<NodeId> operands = {q, input(node(q).dtype, shape), input(node(q).dtype, shape)};
  Attributes attributes;
  attributes.number = 1 / std::sqrt(static_cast<double>(shape[3]));
  attributes.causal = dice_.chance(60);
  if (attributes.causal && dice_.chance(40)) attributes.window = 1 + dice_.below(6);
  if (attributes.causal && dice_.chance(50))
    operands.push_back(input(dice_.chance(50) ? i32 : i64, {1}, 0, keys - rows + 1));
  else if (attributes.causal)
    attributes.start = dice_.chance(50) ? keys - rows : dice_.below(8) - 4;
  if (pages)
    operands.push_back(input(dice_.chance(50) ? i32 : i64, {batch, *pages}, -1, shape[0] + 1));
  attributes.nan_unseen = dice_.chance(20);
  if (dice_.chance(20)) attributes.cap = 1.5;
  if (!has_gradient && dice_.chance(25)) {
    static constexpr DType codes[] = {DType::i8, DType::f8e4m3, DType::f8e5m2};
    const DType code = dice_.pick(std::span(codes));
    for (std::size_t i : {1, 2}) operands[i] = input(code, shape);
    for (int i = 0; i < 2; ++i)
      operands.push_back(input(accumulator(node(q).dtype), {shape[0], shape[1], shape[2]}));
  }
  const Shape scores{batch, node(q).shape[1], rows, keys};
  if (dice_.chance(40)) operands.push_back(grow_mask(scores));
  if (dice_.chance(30)) {
    const bool reads = dice_.chance(60);
    if (reads) operands.push_back(grow_mask(scores));
    attributes.bodies =
        Bodies({score_function(accumulator(node(q).dtype),
                               reads ? std::optional(node(operands.back()).dtype) : std::nullopt)});
  }
  attributes.gives_sums = has_gradient || dice_.chance(20);
  const auto made = add(Op::attention, operands, attributes);
  if (!made || !attributes.gives_sums) return;
  const auto sums = add(Op::result, {*made}, {.axes = {}, .sizes = {}, .index = 1});
  if (!sums || !has_gradient) return;
  attributes.gives_sums = false;
  if (!attributes.bodies.empty()) {
    Graph slope =
        gradient_graph(attributes.bodies[0], {.inputs = {0}, .outputs = {0}}, dsl::host_target());
    slope.outputs = {slope.outputs[1]};
    attributes.bodies = Bodies({attributes.bodies[0], std::move(slope)});
  }
  operands.insert(operands.end(), {input(node(q).dtype, node(q).shape), *sums,
                                   input(node(*sums).dtype, node(*sums).shape)});
  if (auto gradients = add(Op::attention_gradient, operands, attributes)) add_results(*gradients);
}

void GraphGenerator::grow_argsort() {
  NodeId x = any_value();
  if (node(x).shape.empty()) return;
  const std::int64_t size = node(x).shape[-1];
  if (least(size) < 1) return;
  Attributes attributes;
  attributes.end = dice_.chance(60) ? size : 1 + dice_.below(least(size));
  attributes.descending = dice_.chance(50);
  add(Op::argsort, {x}, attributes);
}

void GraphGenerator::grow_cumulate() {
  static constexpr ir::ReduceKind kinds[] = {ir::ReduceKind::sum, ir::ReduceKind::sum,
                                             ir::ReduceKind::prod, ir::ReduceKind::max,
                                             ir::ReduceKind::min};
  NodeId x = any_value();
  const int rank = node(x).shape.rank();
  if (rank == 0 || is_float8(node(x).dtype)) return;
  Attributes attributes;
  attributes.axes = {static_cast<int>(dice_.below(rank))};
  attributes.reduction = dice_.pick(std::span(kinds));
  const bool is_wide = is_boolean(node(x).dtype) || dice_.chance(20);
  add(Op::cumulate, {x}, attributes, is_wide && !is_floating(node(x).dtype) ? i64 : node(x).dtype);
}

void GraphGenerator::grow_convolution() {
  static constexpr DType dtypes[] = {f32, f32, f32, f16, bf16};
  const int axes = 1 + static_cast<int>(dice_.below(dice_.chance(80) ? 2 : 3));
  Attributes attributes;
  attributes.groups = dice_.chance(40) ? 1 + dice_.below(4) : 1;
  const std::int64_t channels = dice_.chance(30) ? 1 : 1 + dice_.below(5);
  const std::int64_t outputs = attributes.groups * (1 + dice_.below(dice_.chance(20) ? 50 : 6));
  Shape x = {1 + dice_.below(2), channels * attributes.groups}, filters = {outputs, channels};
  for (int axis = 0; axis < axes; ++axis) {
    const std::int64_t size = 1 + dice_.below(axes == 1 ? 40 : 9), kernel = 1 + dice_.below(4);
    x.push_back(size);
    filters.push_back(kernel);
    attributes.window_strides.push_back(1 + dice_.below(3));
    attributes.dilations.push_back(1 + dice_.below(3));
    attributes.before.push_back(dice_.below(3));
    // The last window may see nothing.
    attributes.sizes.push_back(1 + size / attributes.window_strides[axis]);
  }
  const DType dtype = dice_.pick(std::span(dtypes));
  std::vector<NodeId> operands = {input(dtype, x), input(dtype, filters)};
  if (dice_.chance(50)) operands.push_back(input(dtype, {outputs}));
  add(Op::convolution, operands, attributes);
}

void GraphGenerator::grow_composite(Op op) {
  NodeId x = floating_value(1);
  DType dtype = node(x).dtype;
  Shape shape = node(x).shape;
  Attributes attributes;
  std::vector<NodeId> operands = {x};
  if (op == Op::remainder || op == Op::floor_divide) {
    NodeId dividend = dice_.chance(50) ? input(dice_.chance(50) ? i32 : i64, random_shape(2)) : x;
    operands = {dividend, partner(dividend)};
  } else if (op == Op::max || op == Op::min) {
    x = any_value();
    if (node(x).shape.empty()) return;
    operands = {x};
    attributes.axes = {static_cast<int>(dice_.below(node(x).shape.rank()))};
  } else if (op == Op::mean || op == Op::var || op == Op::stddev || op == Op::var_mean ||
             op == Op::aminmax) {
    if (info(op).reads.has(AttributeField::number))
      attributes.number = static_cast<double>(dice_.below(2));
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (dice_.chance(50)) attributes.axes.push_back(axis);
  } else if (op == Op::softmax || op == Op::log_softmax) {
    attributes.axes = {static_cast<int>(dice_.below(shape.rank()))};
  } else if (op == Op::layer_norm || op == Op::rms_norm) {
    attributes.number = 1e-5;
    for (int more = info(op).max_operands - 1; more > 0 && dice_.chance(80); --more)
      operands.push_back(input(dtype, {shape[-1]}));
  } else if (op == Op::softplus) {
    attributes.number = dice_.between(0.5, 2);
    attributes.threshold = 20;
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
    attributes.int8_activations = dice_.chance(40);
  } else {
    attributes.tanh_form = op == Op::gelu && dice_.chance(50);
  }
  if (auto made = add(op, operands, attributes)) add_results(*made);
}

// Some of a node's other results.
void GraphGenerator::add_results(NodeId id) {
  const std::size_t others = node(id).others.size();
  for (std::size_t i = 1; i <= others; ++i) {
    if (dice_.chance(20)) continue;
    Attributes attributes;
    attributes.index = static_cast<std::int64_t>(i);
    add(Op::result, {id}, attributes);
  }
}

void GraphGenerator::grow_constant(Op op) {
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

}  // namespace tilewright::graph
