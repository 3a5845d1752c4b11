#include "graph/ir/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dsl/ir/scalar.h"
#include "graph/ir/evaluate_composite.h"
#include "graph/ir/index_space.h"
#include "graph/ir/op_dispatch.h"
#include "graph/ir/placement.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

using Operands = std::vector<const HostTensor*>;

// Elementwise meaning is the tile op's. In double mode floating operands are f64 ones.
HostTensor pointwise(const Node& node, const Operands& operands, Rounding rounding) {
  auto widen = [&](DType d) {
    return rounding == Rounding::double_ && is_floating(d) ? DType::f64 : d;
  };
  HostTensor result(node.dtype, node.shape);
  std::vector<ir::Scalar> elements(operands.size());
  for (std::int64_t i = 0; i < result.count(); ++i) {
    for (std::size_t k = 0; k < operands.size(); ++k) {
      elements[k] = operands[k]->get(i);
      elements[k].dtype = widen(elements[k].dtype);
    }
    result.set(i, ir::evaluate(*info(node.op).tile_op, elements, widen(node.dtype)));
  }
  return result;
}

HostTensor constant(const Node& node) {
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    std::int64_t counted = node.attributes.start + i * node.attributes.step;
    if (node.op == Op::arange)
      result.set(i, ir::Scalar::of_integer(node.dtype, counted));
    else if (is_floating(node.dtype))
      result.set_number(i, node.attributes.number);
    else
      result.set(i, value_of_full(node));
  }
  return result;
}

HostTensor view(const Graph& graph, NodeId id, const HostTensor& operand) {
  const Node& node = graph.node(id);
  HostTensor result(node.dtype, node.shape);
  std::vector<std::int64_t> from = source_elements(graph, id);
  for (std::int64_t i = 0; i < result.count(); ++i)
    result.set(i, operand.get(from[static_cast<std::size_t>(i)]));
  return result;
}

// Reductions visit elements in row-major order, which makes argmax give the first of equals.
HostTensor combined(const Node& node, const HostTensor& x, ir::ReduceKind kind) {
  HostTensor result(node.dtype, node.shape);
  bool floating = is_floating(x.dtype);
  ir::Scalar start = ir::identity(kind, floating ? DType::f64 : x.dtype);
  for (std::int64_t i = 0; i < result.count(); ++i) result.set(i, start);
  for_each_index(x.shape, [&](const Index& index, std::int64_t i) {
    std::int64_t to = offset_in(node.shape, index);
    ir::Scalar before = result.get(to), next = x.get(i);
    if (floating) before.dtype = next.dtype = DType::f64;
    result.set(to, ir::combine(kind, before, next));
  });
  return result;
}
HostTensor extremum(const Node& node, const HostTensor& x, ir::Op op) {
  HostTensor result(node.dtype, node.shape);
  std::vector<bool> seen(static_cast<std::size_t>(result.count()));
  for_each_index(x.shape, [&](const Index& index, std::int64_t i) {
    auto to = static_cast<std::size_t>(offset_in(node.shape, index));
    auto at = static_cast<std::int64_t>(to);
    ir::Scalar pair[2] = {seen[to] ? result.get(at) : x.get(i), x.get(i)};
    if (is_floating(x.dtype)) pair[0].dtype = pair[1].dtype = DType::f64;
    result.set(at, ir::evaluate(op, pair, pair[0].dtype));
    seen[to] = true;
  });
  return result;
}
// The first of the greatest, or of the least.
HostTensor place_of_extremum(const Node& node, const HostTensor& x, bool of_greatest) {
  HostTensor result(node.dtype, node.shape);
  std::vector<std::int64_t> best(static_cast<std::size_t>(result.count()), -1);
  for_each_index(x.shape, [&](const Index& index, std::int64_t i) {
    std::int64_t at = offset_in(node.shape, index);
    std::int64_t& champion = best[static_cast<std::size_t>(at)];
    bool wins = champion < 0;
    if (!wins) {
      const bool floating = is_floating(x.dtype);
      ir::Scalar pair[2] = {x.get(of_greatest ? i : champion), x.get(of_greatest ? champion : i)};
      if (floating) pair[0].dtype = pair[1].dtype = DType::f64;
      wins = ir::evaluate(ir::Op::gt_, pair, DType::boolean).integer != 0 ||
             (floating && std::isnan(x.number(i)) && !std::isnan(x.number(champion)));
    }
    if (!wins) return;
    champion = i;
    result.integer[static_cast<std::size_t>(at)] =
        index[static_cast<std::size_t>(node.attributes.axes[0])];
  });
  return result;
}

HostTensor matmul(const Node& node, const HostTensor& a, const HostTensor& b) {
  HostTensor result(node.dtype, node.shape);
  std::int64_t m = a.shape[-2], k = a.shape[-1], n = b.shape[-1];
  for (std::int64_t i = 0; i < result.count(); ++i) {
    std::int64_t column = i % n, row = i / n % m, batch = i / n / m;
    double total = 0;
    std::uint64_t wrapped = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      std::int64_t at_a = (batch * m + row) * k + j, at_b = (batch * k + j) * n + column;
      if (is_floating(node.dtype))
        total += a.number(at_a) * b.number(at_b);
      else
        wrapped += static_cast<std::uint64_t>(a.get(at_a).integer) *
                   static_cast<std::uint64_t>(b.get(at_b).integer);
    }
    if (is_floating(node.dtype))
      result.set_number(i, total);
    else
      result.set(i, ir::Scalar::of_integer(node.dtype, static_cast<std::int64_t>(wrapped)));
  }
  return result;
}

HostTensor embedding(const Node& node, const HostTensor& table, const HostTensor& ids) {
  HostTensor result(node.dtype, node.shape);
  std::int64_t width = table.shape[1];
  for (std::int64_t i = 0; i < result.count(); ++i) {
    std::int64_t id = ids.integer[static_cast<std::size_t>(i / width)];
    require(id >= 0 && id < table.shape[0], "[embedding] id ", id, " is outside a table of ",
            table.shape[0], " rows; ids must be in [0, rows)");
    result.set(i, table.get(id * width + i % width));
  }
  return result;
}
HostTensor index_copy(const Node& node, const HostTensor& self, const HostTensor& index,
                      const HostTensor& source) {
  HostTensor result = self;
  auto axis = static_cast<std::size_t>(node.attributes.axes[0]);
  for_each_index(source.shape, [&](const Index& at, std::int64_t i) {
    Index to = at;
    to[axis] = index.integer[static_cast<std::size_t>(at[axis])];
    if (to[axis] >= 0 && to[axis] < self.shape[static_cast<int>(axis)])
      result.set(offset_in(self.shape, to), source.get(i));
  });
  return result;
}
HostTensor cat(const Node& node, const Operands& parts) {
  HostTensor result(node.dtype, node.shape);
  auto axis = static_cast<std::size_t>(node.attributes.axes[0]);
  std::int64_t begin = 0;
  for (const HostTensor* part : parts) {
    for_each_index(part->shape, [&](const Index& at, std::int64_t i) {
      Index to = at;
      to[axis] += begin;
      result.set(offset_in(node.shape, to), part->get(i));
    });
    begin += part->shape[static_cast<int>(axis)];
  }
  return result;
}

HostTensor attention(const Node& node, const Operands& operands) {
  const HostTensor &q = *operands[0], &k = *operands[1], &v = *operands[2];
  std::int64_t heads = q.shape[1], groups = k.shape[1], rows = q.shape[2], depth = q.shape[3];
  std::int64_t columns = k.shape[2];
  std::int64_t position = operands.size() > 3 ? operands[3]->integer[0] : node.attributes.start;
  HostTensor result(node.dtype, node.shape);
  std::vector<double> weights;
  for (std::int64_t line = 0; line < q.shape[0] * heads * rows; ++line) {
    std::int64_t row = line % rows, head = line / rows % heads, batch = line / rows / heads;
    std::int64_t keys = (batch * groups + head / (heads / groups)) * columns * depth;
    std::int64_t visible = columns, hidden = 0;
    if (node.attributes.causal) visible = std::clamp<std::int64_t>(row + position + 1, 0, columns);
    if (node.attributes.window != 0)
      hidden = std::clamp<std::int64_t>(row + position + 1 - node.attributes.window, 0, visible);
    weights.assign(static_cast<std::size_t>(visible), 0);
    double highest = -std::numeric_limits<double>::infinity(), total = 0;
    for (std::int64_t c = hidden; c < visible; ++c) {
      double& weight = weights[static_cast<std::size_t>(c)];
      for (std::int64_t d = 0; d < depth; ++d)
        weight += q.number(line * depth + d) * k.number(keys + c * depth + d);
      weight *= node.attributes.number;
      highest = std::fmax(highest, weight);
    }
    for (std::int64_t c = hidden; c < visible; ++c) {
      double& weight = weights[static_cast<std::size_t>(c)];
      total += weight = std::exp(weight - highest);
    }
    for (std::int64_t d = 0; d < depth; ++d) {
      double mixed = 0;
      for (std::int64_t c = hidden; c < visible; ++c)
        mixed += weights[static_cast<std::size_t>(c)] * v.number(keys + c * depth + d);
      result.set_number(line * depth + d, total == 0 ? 0 : mixed / total);
    }
  }
  return result;
}

HostTensor meaning(The<Op::sum>, const Node& node, const HostTensor& x) {
  return combined(node, x, ir::ReduceKind::sum);
}
HostTensor meaning(The<Op::prod>, const Node& node, const HostTensor& x) {
  return combined(node, x, ir::ReduceKind::prod);
}
HostTensor meaning(The<Op::any>, const Node& node, const HostTensor& x) {
  return combined(node, x, ir::ReduceKind::any);
}
HostTensor meaning(The<Op::all>, const Node& node, const HostTensor& x) {
  return combined(node, x, ir::ReduceKind::all);
}
HostTensor meaning(The<Op::amax>, const Node& node, const HostTensor& x) {
  return extremum(node, x, ir::Op::max_);
}
HostTensor meaning(The<Op::amin>, const Node& node, const HostTensor& x) {
  return extremum(node, x, ir::Op::min_);
}
HostTensor meaning(The<Op::argmax>, const Node& node, const HostTensor& x) {
  return place_of_extremum(node, x, true);
}
HostTensor meaning(The<Op::argmin>, const Node& node, const HostTensor& x) {
  return place_of_extremum(node, x, false);
}

HostTensor compute(const Graph& graph, NodeId id, const Operands& x, Rounding rounding) {
  const Node& node = graph.node(id);
  switch (info(node.op).kind) {
    case Kind::input: break;  // its value is given
    case Kind::constant: return constant(node);
    case Kind::pointwise: return pointwise(node, x, rounding);
    case Kind::view: return view(graph, id, *x[0]);
    case Kind::reduction:
      return dispatch_op<Kind::reduction, HostTensor>(
          node.op, [&](auto op) { return meaning(op, node, *x[0]); });
    case Kind::contraction: return matmul(node, *x[0], *x[1]);
    case Kind::gather: return embedding(node, *x[0], *x[1]);
    case Kind::scatter: return index_copy(node, *x[0], *x[1], *x[2]);
    case Kind::concat: return cat(node, x);
    case Kind::attention: return attention(node, x);
    case Kind::composite: return evaluate_composite(node, x);
  }
  raise_internal_error("an input was computed", std::source_location::current());
}

}  // namespace

HostTensor::HostTensor(DType d, Shape s) : dtype(d), shape(std::move(s)) {
  auto size = static_cast<std::size_t>(element_count(shape));
  if (is_floating(dtype))
    floating.resize(size);
  else
    integer.resize(size);
}

ir::Scalar HostTensor::get(std::int64_t i) const {
  ir::Scalar value;
  value.dtype = dtype;
  if (is_floating(dtype))
    value.floating = floating[static_cast<std::size_t>(i)];
  else
    value.integer = integer[static_cast<std::size_t>(i)];
  return value;
}
void HostTensor::set(std::int64_t i, const ir::Scalar& value) {
  if (is_floating(dtype))
    floating[static_cast<std::size_t>(i)] = value.floating;
  else
    integer[static_cast<std::size_t>(i)] = value.integer;
}
double HostTensor::number(std::int64_t i) const {
  auto at = static_cast<std::size_t>(i);
  return is_floating(dtype) ? floating[at] : static_cast<double>(integer[at]);
}
void HostTensor::set_number(std::int64_t i, double value) {
  if (is_floating(dtype))
    floating[static_cast<std::size_t>(i)] = value;
  else
    set(i, ir::Scalar::of(dtype, value));
}

void round_to(HostTensor& tensor, DType dtype) {
  tensor.dtype = dtype;
  if (!is_floating(dtype) || dtype == DType::f64) return;
  for (double& x : tensor.floating) x = ir::Scalar::of(dtype, x).floating;
}

std::vector<std::int64_t> source_elements(const Graph& graph, NodeId view) {
  const Node& node = graph.node(view);
  auto placement = view_of(node.op, node.attributes, row_major(graph.node(node.operands[0]).shape));
  check(placement.has_value(), "a row-major value has a view that is no placement");
  return element_offsets(*placement);
}

HostTensor evaluate_node(const Graph& graph, NodeId id, const Operands& operands,
                         Rounding rounding) {
  HostTensor value = compute(graph, id, operands, rounding);
  if (rounding == Rounding::exact_dtype) round_to(value, graph.node(id).dtype);
  return value;
}

std::vector<HostTensor> evaluate_nodes(const Graph& graph, std::span<const HostTensor> inputs,
                                       Rounding rounding) {
  require(inputs.size() == graph.inputs.size(), "[evaluate] ", inputs.size(),
          " inputs; the graph has ", graph.inputs.size());
  std::vector<HostTensor> values(graph.nodes.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Node& node = graph.node(graph.inputs[i]);
    require(inputs[i].dtype == node.dtype && inputs[i].shape == node.shape, "[evaluate] input ", i,
            " is ", inputs[i].dtype, " ", inputs[i].shape, "; it must be ", node.dtype, " ",
            node.shape);
    values[graph.inputs[i]] = inputs[i];
  }
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    Operands operands;
    for (NodeId operand : node.operands) operands.push_back(&values[operand]);
    values[id] = evaluate_node(graph, id, operands, rounding);
  }
  return values;
}

Evaluation evaluate(const Graph& graph, std::span<const HostTensor> inputs, Rounding rounding) {
  std::vector<HostTensor> values = evaluate_nodes(graph, inputs, rounding);
  Evaluation result;
  for (NodeId id : graph.outputs) result.outputs.push_back(values[id]);
  for (const Mutation& m : graph.mutations) result.mutated.push_back(values[m.value]);
  return result;
}

}  // namespace tilewright::graph
