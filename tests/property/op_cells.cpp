#include <algorithm>
#include <cmath>
#include <map>

#include "dsl/ir/type_rules.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "tests/property/op_cell.h"
#include "tests/property/op_cell_maker.h"

namespace tilewright::graph {
namespace {

using Maker = OpCellMaker;

NodeId make_alike(Maker& m) { return m.append(m.alike(m.random_arity())); }
// Distances of shifts: up to beyond the width.
NodeId make_integers(Maker& m) {
  NodeId first = m.operand(m.dtype(), m.shape());
  return m.append({first, m.operand(m.dtype(), m.shape(), 0, 70)});
}
NodeId make_cast(Maker& m) {
  const DType to = m.dice().pick(all_dtypes());
  return m.append({m.operand(m.dtype(), m.shape())}, {}, to);
}
NodeId make_where(Maker& m) {
  NodeId condition = m.operand(DType::boolean, m.shape());
  std::vector<NodeId> operands = m.alike(2);
  return m.append({condition, operands[0], operands[1]});
}
NodeId make_given(Maker& m) {
  if (m.op() == Op::input) return m.input(m.dtype(), m.shape());
  Attributes attributes;
  attributes.sizes = m.shape();
  attributes.number = static_cast<double>(m.dice().below(2));
  return m.append({}, attributes, m.dtype());
}
NodeId make_arange(Maker& m) {
  Attributes attributes;
  attributes.start = m.dice().below(4);
  attributes.step = 1 + m.dice().below(3);
  attributes.end = attributes.start + m.size() * attributes.step - m.dice().below(attributes.step);
  return m.append({}, attributes, m.dtype());
}

NodeId make_reshape(Maker& m) {
  Attributes attributes;
  attributes.sizes = m.shape();
  if (m.shape().rank() > 1 && m.dice().chance(70)) attributes.sizes = {element_count(m.shape())};
  attributes.sizes.insert(attributes.sizes.begin(), 1);
  return m.append({m.operand(m.dtype(), m.shape())}, attributes);
}
NodeId make_permute(Maker& m) {
  Attributes attributes;
  for (int axis : random_order(m.dice(), m.shape().size())) attributes.axes.push_back(axis);
  return m.append({m.operand(m.dtype(), m.shape())}, attributes);
}
NodeId make_expand(Maker& m) {
  Attributes attributes;
  attributes.sizes = m.shape();
  Shape from = m.shape();
  for (int axis = 0; axis < from.rank(); ++axis)
    if (axis == m.axis() || m.dice().chance(40)) from[axis] = 1;
  return m.append({m.operand(m.dtype(), from)}, attributes);
}
NodeId make_slice(Maker& m) {
  Attributes attributes = m.along_axis();
  attributes.start = m.dice().below(m.size() + 1);
  attributes.end = attributes.start + m.dice().below(m.size() - attributes.start + 1);
  attributes.step = 1 + m.dice().below(3);
  return m.append({m.operand(m.dtype(), m.shape())}, attributes);
}

// Over the axis of the class, and some others.
NodeId make_reduction(Maker& m) {
  Attributes attributes;
  for (int axis = 0; axis < m.shape().rank(); ++axis)
    if (axis == m.axis() || m.dice().chance(40)) attributes.axes.push_back(axis);
  if (info(m.op()).reads.has(AttributeField::number))
    attributes.number = static_cast<double>(m.dice().below(2));
  return m.append({m.operand(m.dtype(), m.shape())}, attributes);
}
NodeId make_along(Maker& m) { return m.append({m.operand(m.dtype(), m.shape())}, m.along_axis()); }

NodeId make_matmul(Maker& m) {
  Shape sizes = m.some_sizes(4);  // batch, rows, depth, columns
  if (m.is_scalar()) return m.append(m.alike(2));
  Shape a{sizes[1], sizes[2]}, b{sizes[2], sizes[3]};
  if (m.dice().chance(50) || m.place() == 0) {
    a.insert(a.begin(), sizes[0]);
    b.insert(b.begin(), sizes[0]);
  }
  const DType sums = ir::product_dtype(m.dtype());
  const bool as_sums = is_float8(m.dtype()) || m.dice().chance(40);
  return m.append({m.operand(m.dtype(), a), m.operand(m.dtype(), b)}, {},
                  as_sums ? sums : m.dtype());
}
NodeId make_grouped_matmul(Maker& m) {
  if (m.is_scalar())
    return m.append({m.operand(m.dtype(), {}), m.operand(m.dtype(), {}), m.row_numbers({}, 1)});
  Shape sizes = m.some_sizes(4);  // groups, rows, depth, columns
  const std::int64_t groups = std::max<std::int64_t>(sizes[0], 1);
  const Shape stack{groups, sizes[2], sizes[3]}, matrix{sizes[2], sizes[3]};
  const bool by_rows = m.dice().chance(50);
  const std::int64_t rows = by_rows ? sizes[1] : sizes[2];
  const NodeId a = m.operand(m.dtype(), {sizes[1], sizes[2]});
  return m.append(
      {a, m.operand(m.dtype(), by_rows ? stack : matrix), m.row_numbers({groups}, rows + 1)});
}
NodeId make_linear(Maker& m) {
  Shape sizes = m.some_sizes(3);  // rows, depth, columns
  if (m.is_scalar()) return m.append(m.alike(2));
  std::vector<NodeId> operands = {m.operand(m.dtype(), {sizes[0], sizes[1]}),
                                  m.operand(m.dtype(), {sizes[2], sizes[1]})};
  if (m.dice().chance(60)) operands.push_back(m.operand(m.dtype(), {sizes[2]}));
  return m.append(operands);
}
NodeId make_quantized_linear(Maker& m) {
  if (m.is_scalar()) return m.append(m.alike(3));
  Shape sizes = m.some_sizes(2);  // rows, columns
  const std::int64_t depth = m.dice().chance(50) ? 64 : 96;
  const std::int64_t groups = m.dice().chance(50) ? 1 : depth / 32;
  const bool packed = m.dice().chance(60);
  std::vector<NodeId> operands = {m.operand(m.dtype(), {sizes[0], depth})};
  operands.push_back(packed ? m.operand(DType::u8, {sizes[1], depth / 2}, 0, 256)
                            : m.operand(DType::i8, {sizes[1], depth}, -20, 20));
  for (std::int64_t more = 1 + m.dice().below(2); more > 0; --more)
    operands.push_back(m.operand(f32, {sizes[1], groups}));
  Attributes attributes;
  attributes.int8_activations = m.dice().chance(40);
  return m.append(operands, attributes);
}

NodeId make_embedding(Maker& m) {
  if (m.is_scalar()) return m.append({m.operand(m.dtype(), {}), m.row_numbers({}, 1)});
  Shape sizes = m.some_sizes(3);  // ids, rows, columns
  const std::int64_t rows = std::max<std::int64_t>(sizes[1], 1);
  return m.append({m.operand(m.dtype(), {rows, sizes[2]}), m.row_numbers({sizes[0]}, rows)});
}
NodeId make_index_copy(Maker& m) {
  NodeId self = m.operand(m.dtype(), m.shape());
  if (m.is_scalar()) return m.append({self, m.row_numbers({}, 1), self}, m.along_axis());
  Shape source = m.shape();
  source[m.axis()] = m.dice().below(m.size() + 1);
  NodeId index = m.distinct_rows(source[m.axis()], m.size());
  return m.append({self, index, m.operand(m.dtype(), source)}, m.along_axis());
}
constexpr ir::ReduceKind joining[] = {ir::ReduceKind::sum, ir::ReduceKind::prod,
                                      ir::ReduceKind::max, ir::ReduceKind::min};

NodeId make_scatter_reduce(Maker& m) {
  NodeId self = m.operand(m.dtype(), m.shape());
  Attributes attributes = m.along_axis();
  attributes.reduction = m.dice().pick(std::span(joining));
  if (m.is_scalar()) return m.append({self, m.row_numbers({}, 1), self}, attributes);
  Shape source = m.shape();
  source[m.axis()] = m.size() == 0 ? 0 : 1 + m.dice().below(9);
  NodeId index = m.row_numbers(source, m.size());
  return m.append({self, index, m.operand(m.dtype(), source, -2, 3)}, attributes);
}
NodeId make_cat(Maker& m) {
  std::vector<NodeId> parts = {m.operand(m.dtype(), m.shape())};
  for (std::int64_t more = m.is_scalar() ? 0 : m.dice().below(3); more > 0; --more) {
    Shape shape = m.shape();
    shape[m.axis()] = m.dice().below(6);
    parts.push_back(m.operand(m.dtype(), shape));
  }
  return m.append(parts, m.along_axis());
}

// An attention or its gradient.
NodeId make_attention(Maker& m) {
  const bool is_gradient = m.op() == Op::attention_gradient;
  if (m.is_scalar()) return m.append(m.alike(is_gradient ? 6 : 3));
  Shape sizes = m.some_sizes(4);  // batch, rows, keys, width
  const std::int64_t groups = 1 + m.dice().below(2), heads = groups * (1 + m.dice().below(2));
  const Shape keys{sizes[0], groups, sizes[2], sizes[3]};
  std::vector<NodeId> operands = {m.operand(m.dtype(), {sizes[0], heads, sizes[1], sizes[3]}),
                                  m.operand(m.dtype(), keys), m.operand(m.dtype(), keys)};
  Attributes attributes;
  attributes.number = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(sizes[3], 1)));
  attributes.causal = m.dice().chance(60);
  if (attributes.causal && m.dice().chance(40)) attributes.window = 1 + m.dice().below(6);
  if (attributes.causal && m.dice().chance(40))
    operands.push_back(m.row_numbers({1}, sizes[2] + 1));
  else if (attributes.causal)
    attributes.start = m.dice().below(8) - 4;
  attributes.nan_unseen = m.dice().chance(20);
  if (m.dice().chance(20)) attributes.cap = 1.5;
  if (m.dice().chance(40))
    operands.push_back(m.operand(m.dice().chance(50) ? DType::boolean : m.dtype(),
                                 {sizes[0], heads, sizes[1], sizes[2]}));
  if (is_gradient) {
    const Shape rows{sizes[0], heads, sizes[1]};
    operands.push_back(m.operand(m.dtype(), {sizes[0], heads, sizes[1], sizes[3]}));
    for (int i = 0; i < 2; ++i) operands.push_back(m.operand(accumulator(m.dtype()), rows));
  }
  return m.append(operands, attributes);
}
NodeId make_ordering(Maker& m) {
  m.move_axis_last();
  Attributes attributes;
  if (!m.is_scalar())
    attributes.end = m.dice().chance(60) ? m.size() : m.dice().below(m.size() + 1);
  attributes.descending = m.dice().chance(50);
  return m.append({m.operand(m.dtype(), m.shape())}, attributes);
}
NodeId make_cumulate(Maker& m) {
  Attributes attributes = m.along_axis();
  attributes.reduction = m.dice().pick(std::span(joining));
  const DType dtype = is_integer(m.dtype()) && m.dice().chance(50) ? DType::i64 : m.dtype();
  const std::int64_t most = attributes.reduction == ir::ReduceKind::prod ? 2 : 4;
  return m.append({m.operand(m.dtype(), m.shape(), -1, most)}, attributes, dtype);
}
NodeId make_norm(Maker& m) {
  m.move_axis_last();
  std::vector<NodeId> operands = {m.operand(m.dtype(), m.shape())};
  Attributes attributes;
  attributes.number = 1e-5;
  for (int more = info(m.op()).max_operands - 1; more > 0 && m.dice().chance(80); --more)
    if (!m.is_scalar()) operands.push_back(m.operand(m.dtype(), {m.size()}));
  return m.append(operands, attributes);
}
// The projection of the least and the greatest element to the latter.
NodeId make_projection(Maker& m) {
  Attributes whole, second;
  if (!m.is_scalar()) whole = m.along_axis();
  second.index = 1;
  NodeId both = m.append_as(Op::aminmax, {m.operand(m.dtype(), m.shape())}, whole);
  return m.append({both}, second);
}

// Windows over an axis of the class's size, and perhaps another one.
NodeId make_convolution(Maker& m) {
  if (m.is_scalar()) return m.append(m.alike(2));
  Attributes attributes;
  attributes.groups = 1 + m.dice().below(2);
  const std::int64_t channels = 1 + m.dice().below(3);
  const std::int64_t outputs = attributes.groups * (1 + m.dice().below(4));
  Shape x = {1 + m.dice().below(2), channels * attributes.groups, m.size()};
  Shape filters = {outputs, channels, 1 + m.dice().below(3)};
  if (m.dice().chance(50)) {
    x.push_back(1 + m.dice().below(5));
    filters.push_back(1 + m.dice().below(3));
  }
  for (int axis = 2; axis < x.rank(); ++axis) {
    attributes.window_strides.push_back(1 + m.dice().below(2));
    attributes.dilations.push_back(1 + m.dice().below(2));
    attributes.before.push_back(m.dice().below(2));
    attributes.sizes.push_back(1 + x[axis] / attributes.window_strides.back());
  }
  std::vector<NodeId> operands = {m.operand(m.dtype(), x), m.operand(m.dtype(), filters)};
  if (m.dice().chance(50)) operands.push_back(m.operand(m.dtype(), {outputs}));
  return m.append(operands, attributes);
}

// The domain of each rule, stated independently: which dtypes; whether a shape without axes;
// whether one whose axis is empty.
bool any_dtype(DType) { return true; }
bool arithmetic(DType d) { return !is_float8(d); }
bool numbers(DType d) { return !is_boolean(d); }
bool computed(DType d) { return !is_float8(d) && !is_boolean(d); }
bool floats(DType d) { return is_floating(d) && !is_float8(d); }
bool is_long(DType d) { return d == DType::i64; }
bool no_floats(DType d) { return !is_floating(d); }

struct Generator {
  NodeId (*make)(Maker&);
  bool (*takes)(DType);
  bool takes_scalar = true, takes_empty = true;
};
const std::map<std::string_view, Generator>& generators() {
  static const std::map<std::string_view, Generator> table = {
      {"given", {make_given, any_dtype}},
      {"arange", {make_arange, numbers}},
      {"same", {make_alike, computed}},
      {"same_or_boolean", {make_alike, arithmetic}},
      {"same_floating", {make_alike, floats}},
      {"same_boolean", {make_alike, is_boolean}},
      {"same_integer", {make_integers, is_integer}},
      {"same_long", {make_alike, is_long}},
      {"same_bits", {make_alike, no_floats}},
      {"compare", {make_alike, arithmetic}},
      {"cast", {make_cast, any_dtype}},
      {"where", {make_where, any_dtype}},
      {"reshape", {make_reshape, any_dtype}},
      {"permute", {make_permute, any_dtype}},
      {"expand", {make_expand, any_dtype}},
      {"slice", {make_slice, any_dtype, false}},
      {"reduce", {make_reduction, computed}},
      {"reduce_some", {make_reduction, computed, true, false}},
      {"reduce_floating", {make_reduction, floats}},
      {"reduce_boolean", {make_reduction, is_boolean}},
      {"reduce_to_index", {make_along, computed, false, false}},
      {"spread_and_mean", {make_reduction, floats}},
      {"extremum_and_place", {make_along, arithmetic, false, false}},
      {"both_extrema", {make_reduction, arithmetic, true, false}},
      {"along_axis", {make_along, floats, false}},
      {"norm", {make_norm, floats, false, true}},
      {"matmul", {make_matmul, numbers, false}},
      {"grouped_matmul", {make_grouped_matmul, floats, false}},
      {"linear", {make_linear, floats, false}},
      {"quantized_linear", {make_quantized_linear, floats, false}},
      {"embedding", {make_embedding, any_dtype, false}},
      {"index_copy", {make_index_copy, any_dtype, false}},
      {"scatter_reduce", {make_scatter_reduce, arithmetic, false}},
      {"cat", {make_cat, any_dtype, false}},
      {"attention", {make_attention, floats, false}},
      {"attention_gradient", {make_attention, floats, false}},
      {"convolution", {make_convolution, floats, false, false}},
      {"cumulate", {make_cumulate, computed, false}},
      {"ordering", {make_ordering, arithmetic, false}},
      {"projection", {make_projection, arithmetic, true, false}},
  };
  return table;
}

// Sizes and layouts; a shape without axes cannot be broadcast, and strided it is as with an offset.
struct Form {
  SizeClass size;
  Layout layout;
};
const std::vector<Form>& forms() {
  static const std::vector<Form> all = [] {
    std::vector<Form> list = {{SizeClass::scalar, Layout::plain},
                              {SizeClass::scalar, Layout::offset}};
    for (SizeClass size : {SizeClass::none, SizeClass::one, SizeClass::prime, SizeClass::below,
                           SizeClass::power, SizeClass::above})
      for (Layout layout : {Layout::plain, Layout::broadcast, Layout::strided, Layout::offset})
        list.push_back({size, layout});
    return list;
  }();
  return all;
}

constexpr std::string_view rules[] = {
#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) #rule,
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP
};

}  // namespace

std::string_view rule_of(Op op) { return rules[static_cast<std::size_t>(op)]; }
bool has_generator(std::string_view rule) { return generators().contains(rule); }

bool is_tabled(Op op) {
  const AttributeFields reads = info(op).reads;
  return !reads.has(AttributeField::custom) && !reads.has(AttributeField::bodies);
}
static const std::vector<Op>& tabled_ops() {
  static const std::vector<Op> ops = [] {
    std::vector<Op> list;
    for (std::size_t i = 0; i < all_ops().size(); ++i)
      if (is_tabled(static_cast<Op>(i))) list.push_back(static_cast<Op>(i));
    return list;
  }();
  return ops;
}

std::uint64_t cell_count() { return tabled_ops().size() * all_dtypes().size() * forms().size(); }
OpCell cell_of(std::uint64_t number) {
  const Form form = forms()[number % forms().size()];
  number /= forms().size();
  const DType dtype = all_dtypes()[number % all_dtypes().size()];
  return {tabled_ops().at(number / all_dtypes().size()), dtype, form.size, form.layout};
}
std::string describe(const OpCell& cell) {
  static constexpr std::string_view sizes[] = {"without axes", "empty", "1",      "a prime",
                                               "2^n - 1",      "2^n",   "2^n + 1"};
  static constexpr std::string_view layouts[] = {"row-major", "broadcast", "strided",
                                                 "with an offset"};
  return concat(info(cell.op).name, " of ", cell.dtype, ", size ",
                sizes[static_cast<std::size_t>(cell.size)], ", ",
                layouts[static_cast<std::size_t>(cell.layout)]);
}
bool is_legal(const OpCell& cell) {
  const Generator& row = generators().at(rule_of(cell.op));
  return row.takes(cell.dtype) && (row.takes_scalar || cell.size != SizeClass::scalar) &&
         (row.takes_empty || cell.size != SizeClass::none);
}
RandomGraph graph_of(const OpCell& cell, std::uint64_t number) {
  OpCellMaker maker(cell, number);
  return maker.finish(generators().at(rule_of(cell.op)).make(maker));
}

std::vector<std::uint64_t> cells_of_test(std::uint64_t share) {
  if (auto seed = env::seed()) return {static_cast<std::uint64_t>(*seed)};
  const auto wanted =
      static_cast<std::uint64_t>(env::test_cells().value_or(static_cast<std::int64_t>(share)));
  std::vector<std::uint64_t> draws;
  for (std::uint64_t round = 0; round < wanted; round += cell_count()) {
    const std::uint64_t count = std::min(wanted - round, cell_count());
    for (std::uint64_t i = 0; i < count; ++i) draws.push_back(round + i * cell_count() / count);
  }
  return draws;
}

}  // namespace tilewright::graph
