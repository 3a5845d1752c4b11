#include "tests/property/error_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dsl/ir/immediates.h"
#include "graph/ir/index_space.h"
#include "graph/ir/op_dispatch.h"
#include "graph/ops/decompositions.h"
#include "runtime/base/error.h"
#include "tests/property/rounding_units.h"

namespace tilewright::graph {
namespace {

// Ops that only move elements move their errors alike: the op is applied to the errors.
std::vector<double> moved_error(const Graph& graph, NodeId id, const Operands& x) {
  const Node& node = graph.node(id);
  const Kind kind = info(node.op).kind;
  const bool has_places = kind == Kind::gather || kind == Kind::scatter;  // as operand 1
  Graph errors;  // moved as the values are, of integers too
  std::vector<HostTensor> carriers;
  Node moving = node;
  moving.dtype = DType::f64;
  for (std::size_t i = 0; i < x.size(); ++i) {
    carriers.push_back(x[i]->value);
    errors.nodes.push_back(graph.node(node.operands[i]));
    moving.operands[i] = static_cast<NodeId>(i);
    if (has_places && i == 1) continue;
    errors.nodes.back().dtype = carriers.back().dtype = DType::f64;
    carriers.back().floating = x[i]->error;
  }
  errors.nodes.push_back(moving);
  std::vector<const HostTensor*> operands;
  for (const HostTensor& carrier : carriers) operands.push_back(&carrier);
  return evaluate_node(errors, static_cast<NodeId>(x.size()), operands, Rounding::double_).floating;
}

std::vector<double> reduction_error(The<Op::sum>, const Node& node, const HostTensor& y,
                                    const BoundedTensor& x) {
  std::vector<double> errors(static_cast<std::size_t>(y.count())), sizes = errors;
  if (!is_floating(node.dtype)) return errors;
  for_each_index(x.value.shape, [&](const Index& index, std::int64_t i) {
    auto at = static_cast<std::size_t>(offset_in(node.shape, index));
    errors[at] += x.error[static_cast<std::size_t>(i)];
    sizes[at] += magnitude(x, i);
  });
  double n = static_cast<double>(x.value.count()) / static_cast<double>(y.count());
  for (std::size_t at = 0; at < errors.size(); ++at) {
    errors[at] += gamma(n, accumulator_unit(node.dtype)) * sizes[at];
    errors[at] += rounding(node.dtype, std::abs(y.floating[at]) + errors[at]);
  }
  return errors;
}
// Each factor is off by a share of what it is, and each product of two is rounded.
std::vector<double> reduction_error(The<Op::prod>, const Node& node, const HostTensor& y,
                                    const BoundedTensor& x) {
  std::vector<double> errors(static_cast<std::size_t>(y.count())), sizes(errors.size(), 1);
  double n = static_cast<double>(x.value.count()) / static_cast<double>(y.count());
  for_each_index(x.value.shape, [&](const Index& index, std::int64_t i) {
    auto at = static_cast<std::size_t>(offset_in(node.shape, index));
    sizes[at] *= std::max(magnitude(x, i), 1.0);
  });
  // Partial products are at most `sizes`, whose factors below 1 were left out.
  for_each_index(x.value.shape, [&](const Index& index, std::int64_t i) {
    auto at = static_cast<std::size_t>(offset_in(node.shape, index));
    errors[at] += x.error[static_cast<std::size_t>(i)] * sizes[at];
  });
  if (!is_floating(node.dtype)) return errors;
  for (std::size_t at = 0; at < errors.size(); ++at) {
    errors[at] += gamma(n, accumulator_unit(node.dtype)) * sizes[at];
    errors[at] += rounding(node.dtype, std::abs(y.floating[at]) + errors[at]);
  }
  return errors;
}
// A maximum of perturbed values is off by no more than the worst of them.
std::vector<double> extremum_error(const Node& node, const HostTensor& y, const BoundedTensor& x) {
  std::vector<double> errors(static_cast<std::size_t>(y.count()));
  for_each_index(x.value.shape, [&](const Index& index, std::int64_t i) {
    double& worst = errors[static_cast<std::size_t>(offset_in(node.shape, index))];
    worst = std::max(worst, x.error[static_cast<std::size_t>(i)]);
  });
  return errors;
}
std::vector<double> reduction_error(The<Op::amax>, const Node& node, const HostTensor& y,
                                    const BoundedTensor& x) {
  return extremum_error(node, y, x);
}
std::vector<double> reduction_error(The<Op::amin>, const Node& node, const HostTensor& y,
                                    const BoundedTensor& x) {
  return extremum_error(node, y, x);
}
std::vector<double> place_error(const Node& node, const HostTensor& y, const BoundedTensor& x) {
  std::vector<double> errors(static_cast<std::size_t>(y.count()));
  std::vector<std::int64_t> champion(errors.size());
  auto axis = static_cast<std::size_t>(node.attributes.axes[0]);
  for_each_index(x.value.shape, [&](const Index& index, std::int64_t i) {
    auto at = static_cast<std::size_t>(offset_in(node.shape, index));
    if (index[axis] == y.integer[at]) champion[at] = i;
  });
  for_each_index(x.value.shape, [&](const Index& index, std::int64_t i) {
    auto at = static_cast<std::size_t>(offset_in(node.shape, index));
    double doubt =
        x.error[static_cast<std::size_t>(i)] + x.error[static_cast<std::size_t>(champion[at])];
    bool rivals = i != champion[at] && doubt > 0;
    if (rivals && std::abs(x.value.number(champion[at]) - x.value.number(i)) <= doubt)
      errors[at] = unknown;
  });
  return errors;
}

std::vector<double> reduction_error(The<Op::argmax>, const Node& node, const HostTensor& y,
                                    const BoundedTensor& x) {
  return place_error(node, y, x);
}
std::vector<double> reduction_error(The<Op::argmin>, const Node& node, const HostTensor& y,
                                    const BoundedTensor& x) {
  return place_error(node, y, x);
}
// Booleans are exact.
std::vector<double> reduction_error(The<Op::any>, const Node&, const HostTensor& y,
                                    const BoundedTensor&) {
  return std::vector<double>(static_cast<std::size_t>(y.count()));
}
std::vector<double> reduction_error(The<Op::all>, const Node&, const HostTensor& y,
                                    const BoundedTensor&) {
  return std::vector<double>(static_cast<std::size_t>(y.count()));
}

// Element by element, each time as of the operation on two.
Op joining_op(ir::ReduceKind kind) {
  if (kind == ir::ReduceKind::prod) return Op::mul;
  if (kind == ir::ReduceKind::sum) return Op::add;
  return kind == ir::ReduceKind::max ? Op::maximum : Op::minimum;
}
std::vector<double> accumulation_error(const Node& node, const Operands& x) {
  const HostTensor &index = x[1]->value, &source = x[2]->value;
  HostTensor value = x[0]->value;
  std::vector<double> errors = x[0]->error;
  std::vector<bool> is_joined(errors.size(), false);
  const int axis = node.attributes.axes[0];
  Node step = node;
  step.op = joining_op(node.attributes.reduction);
  const DType carried = is_floating(node.dtype) ? DType::f64 : node.dtype;
  for_each_index(source.shape, [&](const Index& at, std::int64_t i) {
    Index to = at;
    std::int64_t& row = to[static_cast<std::size_t>(axis)];
    row = index.integer[static_cast<std::size_t>(i)];
    if (row < 0 || row >= node.shape[axis]) return;
    const std::int64_t place = offset_in(node.shape, to);
    double& error = errors[static_cast<std::size_t>(place)];
    ir::Scalar pair[2] = {value.get(place), source.get(i)};
    pair[0].dtype = pair[1].dtype = carried;
    const double a = value.number(place), b = source.number(i);
    value.set(place, ir::evaluate(*info(step.op).tile_op, pair, carried));
    error = binary_error(step, a, error, b, x[2]->error[static_cast<std::size_t>(i)],
                         value.number(place));
    is_joined[static_cast<std::size_t>(place)] = true;
  });
  // The value here is rounded at each step, in 16 bits; code that fuses more and rounds at the end
  // does that once more.
  if (is_float16(node.dtype))
    for (std::size_t i = 0; i < errors.size(); ++i)
      if (is_joined[i])
        errors[i] += rounding(node.dtype, std::abs(value.number(static_cast<std::int64_t>(i))));
  return errors;
}

std::vector<double> running_error(const Node& node, const HostTensor& y, const BoundedTensor& x) {
  const bool multiplies = node.attributes.reduction == ir::ReduceKind::prod;
  const bool rounds = multiplies || node.attributes.reduction == ir::ReduceKind::sum;
  const int axis = node.attributes.axes[0];
  const auto step = static_cast<std::size_t>(row_major_strides(node.shape)[axis]);
  std::vector<double> errors = x.error, sizes(errors.size()), bounds(errors.size());
  for_each_index(node.shape, [&](const Index& index, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const auto before = static_cast<double>(index[static_cast<std::size_t>(axis)]);
    double &e = errors[at], &size = sizes[at] = std::max(magnitude(x, i), multiplies ? 1.0 : 0.0);
    if (before > 0) size = multiplies ? size * sizes[at - step] : size + sizes[at - step];
    if (before > 0) e = rounds ? e + errors[at - step] : std::max(e, errors[at - step]);
    double& bound = bounds[at] = multiplies ? e * size : e;
    if (!is_floating(node.dtype)) return;
    if (rounds) bound += gamma(before + 1, accumulator_unit(node.dtype)) * size;
    bound += rounding(node.dtype, std::abs(y.number(i)) + bound);
  });
  return bounds;
}

std::vector<double> matmul_error(const Node& node, const HostTensor& y, const Operands& x) {
  std::vector<double> errors(static_cast<std::size_t>(y.count()));
  const BoundedTensor &a = *x[0], &b = *x[1];
  bool floating = is_floating(node.dtype);
  std::int64_t m = a.value.shape[-2], k = a.value.shape[-1], n = b.value.shape[-1];
  for (std::int64_t i = 0; i < y.count(); ++i) {
    double error = 0, size = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      std::int64_t at_a = (i / n) * k + j, at_b = (i / n / m * k + j) * n + i % n;
      double ea = a.error[static_cast<std::size_t>(at_a)];
      double eb = b.error[static_cast<std::size_t>(at_b)];
      error += std::abs(a.value.number(at_a)) * eb + std::abs(b.value.number(at_b)) * ea + ea * eb;
      size += magnitude(a, at_a) * magnitude(b, at_b);
    }
    if (floating) error += gamma(static_cast<double>(k), accumulator_unit(node.dtype)) * size;
    if (floating) error += rounding(node.dtype, std::abs(y.number(i)) + error);
    // Integers that are off may have overflowed.
    bool fits = floating || error == 0 || size < std::ldexp(1.0, bit_width(node.dtype) - 1);
    errors[static_cast<std::size_t>(i)] = fits ? error : unknown;
  }
  return errors;
}

// As of a product over all rows, for any group.
std::vector<double> grouped_error(const Node& node, const HostTensor& y, const Operands& x) {
  const BoundedTensor &a = *x[0], &b = *x[1];
  const HostTensor& ends = x[2]->value;
  const bool by_rows = b.value.shape.rank() == 3;
  const std::int64_t depth = a.value.shape[1], n = y.shape[-1], lines = a.value.shape[0];
  auto group_of = [&](std::int64_t row) {
    std::int64_t group = 0;
    while (group < ends.count() && ends.get(group).integer <= row) ++group;
    return group;
  };
  std::vector<double> errors;
  for (std::int64_t i = 0; i < y.count(); ++i) {
    const std::int64_t line = i / n % lines;
    double error = 0, size = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t group = group_of(by_rows ? line : k);
      if (group == ends.count() || (!by_rows && group != i / n / lines)) continue;
      const std::int64_t at_a = line * depth + k,
                         at_b = ((by_rows ? group * depth : 0) + k) * n + i % n;
      const double ea = a.error[static_cast<std::size_t>(at_a)],
                   eb = b.error[static_cast<std::size_t>(at_b)];
      error += std::abs(a.value.number(at_a)) * eb + std::abs(b.value.number(at_b)) * ea + ea * eb;
      size += magnitude(a, at_a) * magnitude(b, at_b);
    }
    error += gamma(static_cast<double>(depth), accumulator_unit(node.dtype)) * size;
    errors.push_back(error + rounding(node.dtype, std::abs(y.number(i)) + error));
  }
  return errors;
}

// A place is sure where all other elements of the row are surely before or behind it.
std::vector<double> ordering_error(const HostTensor& y, const BoundedTensor& x) {
  std::vector<double> errors(static_cast<std::size_t>(y.count()));
  const std::int64_t size = x.value.shape[-1], count = y.shape[-1];
  for (std::int64_t i = 0; i < y.count(); ++i) {
    const std::int64_t first = i / count * size;
    const std::int64_t here = first + y.integer[static_cast<std::size_t>(i)];
    for (std::int64_t other = first; other < first + size; ++other) {
      double doubt =
          x.error[static_cast<std::size_t>(here)] + x.error[static_cast<std::size_t>(other)];
      bool rivals = other != here && doubt > 0;
      if (rivals && std::abs(x.value.number(here) - x.value.number(other)) <= doubt)
        errors[static_cast<std::size_t>(i)] = unknown;
    }
  }
  return errors;
}

// The error after eight roundings of a result, for functions with a formula that chooses by
// comparisons that no bound can decide; `spread` is the greatest effect of the operand's error.
double formula_error(const Node& node, double y, double spread) {
  double u = node.dtype == DType::f64 ? 0x1p-51 : 0x1p-24, size = std::abs(y) + spread;
  return spread + 8 * (u * size + least(DType::f32)) + rounding(node.dtype, size);
}
std::vector<double> log1p_error(const Node& node, const BoundedTensor& x) {
  std::vector<double> errors;
  for (std::int64_t i = 0; i < x.value.count(); ++i) {
    double v = x.value.number(i), e = x.error[static_cast<std::size_t>(i)], y = std::log1p(v);
    double spread = v - e > -1 ? y - std::log1p(v - e) : unknown;  // the curve is steeper below
    errors.push_back(formula_error(node, y, spread));
  }
  return errors;
}
std::vector<double> expm1_error(const Node& node, const BoundedTensor& x) {
  std::vector<double> errors;
  for (std::int64_t i = 0; i < x.value.count(); ++i) {
    double v = x.value.number(i), e = x.error[static_cast<std::size_t>(i)], y = std::expm1(v);
    double spread = e > 0 ? std::expm1(v + e) - y : 0;  // the curve is steeper above
    errors.push_back(formula_error(node, y, std::isnan(spread) ? unknown : spread));
  }
  return errors;
}
// Its slope is at most 1; at the threshold it gives way to x, which lies a little lower.
std::vector<double> softplus_error(const Node& node, const HostTensor& y, const BoundedTensor& x) {
  double step = std::exp(-node.attributes.threshold) / node.attributes.number;
  std::vector<double> errors;
  for (std::int64_t i = 0; i < y.count(); ++i)
    errors.push_back(formula_error(node, y.number(i), x.error[static_cast<std::size_t>(i)] + step));
  return errors;
}

// Errors of a composite's results are those of its decomposition, applied to operands with their
// errors.
std::vector<std::vector<double>> composite_errors(const Node& node, const Operands& x,
                                                  Choices choices) {
  Graph inner;
  GraphBuilder builder(inner);
  std::vector<NodeId> inputs;
  for (const BoundedTensor* operand : x)
    inputs.push_back(builder.input(operand->value.dtype, operand->value.shape));
  std::vector<NodeId> results = append_decomposition(builder, node, inputs, dsl::host_target());
  std::vector<BoundedTensor> values;
  for (NodeId id = 0; id < inner.nodes.size(); ++id) {
    if (id < x.size()) {
      values.push_back(*x[id]);
      continue;
    }
    Operands operands;
    for (NodeId operand : inner.node(id).operands) operands.push_back(&values[operand]);
    BoundedTensor value = bound_node(inner, id, operands, choices);
    values.push_back(std::move(value));
  }
  std::vector<std::vector<double>> errors;
  for (NodeId id : results) errors.push_back(values[id].error);
  return errors;
}

// Where a program adds integers exactly and multiplies in f64, the oracle's own sums are the less
// exact ones: their rounding, by the weights that an identity matrix reads.
void add_rounding_of_oracle(const Node& node, const Operands& x, std::vector<double>& errors) {
  if (node.op != Op::quantized_linear || node.dtype != DType::f64 || errors.empty()) return;
  const std::int64_t depth = x[0]->value.shape[-1], n = node.shape[-1];
  HostTensor identity(DType::f64, {depth, depth});
  for (std::int64_t i = 0; i < depth; ++i) identity.set_number(i * depth + i, 1);
  Graph inner;
  GraphBuilder builder(inner);
  std::vector<NodeId> inputs = {builder.input(DType::f64, identity.shape)};
  std::vector<const HostTensor*> operands = {&identity};
  for (std::size_t i = 1; i < x.size(); ++i) {
    operands.push_back(&x[i]->value);
    inputs.push_back(builder.input(operands[i]->dtype, operands[i]->shape));
  }
  const NodeId id = builder.append(node.op, inputs);
  const HostTensor weights = evaluate_node(inner, id, operands, Rounding::double_);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / n, column = static_cast<std::int64_t>(i) % n;
    double size = 0;
    for (std::int64_t k = 0; k < depth; ++k)
      size += magnitude(*x[0], row * depth + k) * std::abs(weights.number(k * n + column));
    errors[i] += gamma(static_cast<double>(depth) + 2, 0x1p-53) * size;
  }
}

std::vector<double> constant_error(const Node& node, const HostTensor& y, Choices choices) {
  std::vector<double> errors(static_cast<std::size_t>(y.count()));
  HostTensor held = y;
  round_to(held, node.dtype);
  for (std::int64_t i = 0; i < y.count(); ++i)
    if (choices == Choices::avoided || held.number(i) != y.number(i))
      errors[static_cast<std::size_t>(i)] = rounding(node.dtype, std::abs(y.number(i)));
  return errors;
}

// No bound times nothing is no bound.
void leave_open(std::vector<double>& errors) {
  for (double& error : errors)
    if (std::isnan(error)) error = unknown;
}

// Elements that rounding may take from other places, or bring to others.
bool places_are_open(const Node& node, const Operands& x) {
  const Kind kind = info(node.op).kind;
  return (kind == Kind::gather || kind == Kind::scatter || kind == Kind::accumulation) &&
         std::ranges::any_of(x[1]->error, [](double error) { return error != 0; });
}

}  // namespace

BoundedTensor bound_node(const Graph& graph, NodeId id, const Operands& x, Choices choices) {
  const Node& node = graph.node(id);
  std::vector<const HostTensor*> operands;
  for (const BoundedTensor* operand : x) operands.push_back(&operand->value);
  BoundedTensor result{evaluate_node(graph, id, operands, Rounding::double_), {}};
  const HostTensor& y = result.value;
  if (places_are_open(node, x)) {
    result.error.assign(static_cast<std::size_t>(y.count()), unknown);
    return result;
  }
  switch (info(node.op).kind) {
    case Kind::input: break;
    case Kind::constant: result.error = constant_error(node, y, choices); break;
    case Kind::pointwise: result.error = pointwise_error(node, y, x, choices); break;
    case Kind::view:
    case Kind::gather:
    case Kind::scatter:
    case Kind::concat: result.error = moved_error(graph, id, x); break;
    case Kind::accumulation: result.error = accumulation_error(node, x); break;
    case Kind::reduction:
      result.error = dispatch_op<Kind::reduction, std::vector<double>>(
          node.op, [&](auto op) { return reduction_error(op, node, y, *x[0]); });
      break;
    case Kind::contraction: result.error = matmul_error(node, y, x); break;
    case Kind::attention: return bound_attention(node, y, x);
    case Kind::convolution: result.error = convolution_error(graph, id, y, x); break;
    case Kind::grouped_product: result.error = grouped_error(node, y, x); break;
    case Kind::control: result = bound_control(node, x, choices); break;
    case Kind::cumulation: result.error = running_error(node, y, *x[0]); break;
    case Kind::ordering: result.error = ordering_error(y, *x[0]); break;
    case Kind::custom:  // those of these tests move and negate
      result.error = x[0]->error;
      break;
    case Kind::projection:
      result.error = x[0]->others[static_cast<std::size_t>(node.attributes.index - 1)].error;
      break;
    case Kind::composite:
      if (node.op == Op::log1p) {
        result.error = log1p_error(node, *x[0]);
      } else if (node.op == Op::expm1) {
        result.error = expm1_error(node, *x[0]);
      } else if (node.op == Op::softplus) {
        result.error = softplus_error(node, y, *x[0]);
      } else {
        std::vector<std::vector<double>> errors = composite_errors(node, x, choices);
        result.error = errors[0];
        add_rounding_of_oracle(node, x, result.error);
        for (std::size_t i = 1; i < errors.size(); ++i)
          result.others.push_back({y.others[i - 1], errors[i]});
      }
      break;
  }
  leave_open(result.error);
  for (BoundedTensor& other : result.others) leave_open(other.error);
  return result;
}

std::vector<BoundedTensor> bound_nodes(const Graph& graph, std::span<const HostTensor> inputs,
                                       Choices choices) {
  std::vector<BoundedTensor> exact;
  for (const HostTensor& input : inputs)
    exact.push_back({input, std::vector<double>(static_cast<std::size_t>(input.count()))});
  return bound_nodes(graph, std::move(exact), choices);
}

std::vector<BoundedTensor> bound_nodes(const Graph& graph, std::vector<BoundedTensor> inputs,
                                       Choices choices) {
  std::vector<BoundedTensor> values(graph.nodes.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = std::move(inputs[i]);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (graph.node(id).op == Op::input) continue;
    Operands operands;
    for (NodeId operand : graph.node(id).operands) operands.push_back(&values[operand]);
    values[id] = bound_node(graph, id, operands, choices);
  }
  return values;
}

BoundedEvaluation bounded_evaluate(const Graph& graph, std::span<const HostTensor> inputs) {
  std::vector<BoundedTensor> values = bound_nodes(graph, inputs);
  BoundedEvaluation result;
  for (NodeId id : graph.outputs) result.outputs.push_back(values[id]);
  for (const Mutation& m : graph.mutations) result.mutated.push_back(values[m.value]);
  return result;
}

std::string violation(const BoundedTensor& expected, const HostTensor& actual,
                      double* worst_ratio) {
  const HostTensor& y = expected.value;
  if (actual.dtype != y.dtype || actual.shape != y.shape)
    return concat("the result is ", actual.dtype, "[", actual.shape, "], not ", y.dtype, "[",
                  y.shape, "]");
  std::string message;
  double worst = 1;
  for (std::int64_t i = 0; i < y.count(); ++i) {
    double bound = expected.error[static_cast<std::size_t>(i)];
    double off = std::abs(actual.number(i) - y.number(i));
    double ratio = off == 0 ? 0 : off / bound;
    if (worst_ratio && std::isfinite(ratio)) *worst_ratio = std::max(*worst_ratio, ratio);
    if (ratio <= worst) continue;  // a NaN is not
    worst = std::isnan(ratio) ? unknown : ratio;
    message = concat("element ", i, " is ", actual.number(i), ", exactly ", y.number(i),
                     ", off by ", off, ", allowed ", bound);
  }
  return message;
}

}  // namespace tilewright::graph
