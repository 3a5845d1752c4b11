#include "graph/ir/evaluate_composite.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "dsl/ir/scalar.h"
#include "graph/ir/index_space.h"
#include "graph/ir/op_dispatch.h"
#include "graph/ir/weight_packing.h"

namespace tilewright::graph {
namespace {

using Operands = std::vector<const HostTensor*>;

template <typename F>
HostTensor map(const Node& node, const HostTensor& x, F f) {
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) result.set_number(i, f(x.number(i)));
  return result;
}
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

HostTensor meaning(The<Op::relu>, const Node& node, const Operands& x) {
  HostTensor result = *x[0];
  for (std::int64_t i = 0; i < result.count(); ++i)
    if (result.number(i) < 0) result.set(i, ir::Scalar::of_integer(node.dtype, 0));
  return result;
}
HostTensor meaning(The<Op::silu>, const Node& node, const Operands& x) {
  return map(node, *x[0], [](double v) { return v * logistic(v); });
}
HostTensor meaning(The<Op::gelu>, const Node& node, const Operands& x) {
  if (node.attributes.tanh_form)
    // (1 + tanh(y)) / 2 as the logistic function of 2 y, which does not cancel.
    return map(node, *x[0], [](double v) {
      return v * logistic(2 * std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v));
    });
  return map(node, *x[0],
             [](double v) { return 0.5 * v * (1 + std::erf(v / std::numbers::sqrt2)); });
}
HostTensor meaning(The<Op::reciprocal>, const Node& node, const Operands& x) {
  return map(node, *x[0], [](double v) { return 1 / v; });
}
HostTensor meaning(The<Op::square>, const Node& node, const Operands& x) {
  if (is_floating(node.dtype)) return map(node, *x[0], [](double v) { return v * v; });
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    ir::Scalar pair[2] = {x[0]->get(i), x[0]->get(i)};
    result.set(i, ir::evaluate(ir::Op::mul_, pair, node.dtype));
  }
  return result;
}

// Sums f(element, position of the result) over the elements that share an element of `to`.
template <typename F>
std::vector<double> sums(const HostTensor& x, const Shape& to, F f) {
  std::vector<double> totals(static_cast<std::size_t>(element_count(to)));
  for_each_index(x.shape, [&](const Index& index, std::int64_t i) {
    auto at = static_cast<std::size_t>(offset_in(to, index));
    totals[at] += f(x.number(i), at);
  });
  return totals;
}
std::vector<double> means(const HostTensor& x, const Shape& to) {
  double n = static_cast<double>(x.count()) / static_cast<double>(element_count(to));
  std::vector<double> totals = sums(x, to, [](double v, std::size_t) { return v; });
  for (double& total : totals) total /= n;
  return totals;
}
std::vector<double> variances(const HostTensor& x, const Shape& to,
                              const std::vector<double>& mean) {
  double n = static_cast<double>(x.count()) / static_cast<double>(element_count(to));
  std::vector<double> totals =
      sums(x, to, [&](double v, std::size_t at) { return (v - mean[at]) * (v - mean[at]); });
  for (double& total : totals) total /= n;
  return totals;
}

HostTensor meaning(The<Op::remainder>, const Node& node, const Operands& x) {
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    ir::Scalar pair[2] = {x[0]->get(i), x[1]->get(i)};
    if (is_floating(node.dtype)) {
      double b = pair[1].floating, r = std::fmod(pair[0].floating, b);
      result.set_number(i, r != 0 && (r < 0) != (b < 0) ? r + b : r);
    } else {
      ir::Scalar r = ir::evaluate(ir::Op::rem_, pair, node.dtype);
      bool other =
          is_signed(node.dtype) && r.integer != 0 && (r.integer < 0) != (pair[1].integer < 0);
      if (other) r.integer += pair[1].integer;
      result.set(i, r);
    }
  }
  return result;
}
HostTensor meaning(The<Op::floor_divide>, const Node& node, const Operands& x) {
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    ir::Scalar pair[2] = {x[0]->get(i), x[1]->get(i)};
    if (is_floating(node.dtype)) {
      double a = pair[0].floating, b = pair[1].floating, r = std::fmod(a, b);
      if (r != 0 && (r < 0) != (b < 0)) r += b;
      result.set_number(i, b == 0 ? a / b : std::nearbyint((a - r) / b));
    } else {
      ir::Scalar q = ir::evaluate(ir::Op::div_, pair, node.dtype);
      ir::Scalar r = ir::evaluate(ir::Op::rem_, pair, node.dtype);
      bool other =
          is_signed(node.dtype) && r.integer != 0 && (r.integer < 0) != (pair[1].integer < 0);
      if (other) --q.integer;
      result.set(i, q);
    }
  }
  return result;
}

HostTensor meaning(The<Op::mean>, const Node& node, const Operands& x) {
  HostTensor result(node.dtype, node.shape);
  result.floating = means(*x[0], node.shape);
  return result;
}
HostTensor meaning(The<Op::var>, const Node& node, const Operands& x) {
  HostTensor result(node.dtype, node.shape);
  double n = static_cast<double>(x[0]->count()) / static_cast<double>(result.count());
  result.floating = variances(*x[0], node.shape, means(*x[0], node.shape));
  for (double& v : result.floating) v *= n / std::max(0.0, n - node.attributes.number);
  return result;
}
HostTensor meaning(The<Op::stddev>, const Node& node, const Operands& x) {
  HostTensor result = meaning(The<Op::var>(), node, x);
  for (double& v : result.floating) v = std::sqrt(v);
  return result;
}

// The shape with `axis` shrunk to 1.
Shape statistics_shape(const Shape& shape, int axis) {
  Shape result = shape;
  result[axis] = 1;
  return result;
}
HostTensor softmax(const Node& node, const HostTensor& x, bool logarithm) {
  Shape rows = statistics_shape(x.shape, node.attributes.axes[0]);
  std::vector<double> highest(static_cast<std::size_t>(element_count(rows)),
                              -std::numeric_limits<double>::infinity());
  for_each_index(x.shape, [&](const Index& index, std::int64_t i) {
    double& top = highest[static_cast<std::size_t>(offset_in(rows, index))];
    top = std::fmax(top, x.number(i));
  });
  std::vector<double> total =
      sums(x, rows, [&](double v, std::size_t at) { return std::exp(v - highest[at]); });
  HostTensor result(node.dtype, node.shape);
  for_each_index(x.shape, [&](const Index& index, std::int64_t i) {
    auto at = static_cast<std::size_t>(offset_in(rows, index));
    double shifted = x.number(i) - highest[at];
    result.set_number(i, logarithm ? shifted - std::log(total[at]) : std::exp(shifted) / total[at]);
  });
  return result;
}
HostTensor meaning(The<Op::softmax>, const Node& node, const Operands& x) {
  return softmax(node, *x[0], false);
}
HostTensor meaning(The<Op::log_softmax>, const Node& node, const Operands& x) {
  return softmax(node, *x[0], true);
}

HostTensor meaning(The<Op::layer_norm>, const Node& node, const Operands& operands) {
  const HostTensor& x = *operands[0];
  Shape rows = statistics_shape(x.shape, x.shape.rank() - 1);
  std::vector<double> mean = means(x, rows), variance = variances(x, rows, mean);
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    std::int64_t column = i % x.shape[-1];
    auto row = static_cast<std::size_t>(i / x.shape[-1]);
    double value = (x.number(i) - mean[row]) / std::sqrt(variance[row] + node.attributes.number);
    if (operands.size() > 1) value *= operands[1]->number(column);
    if (operands.size() > 2) value += operands[2]->number(column);
    result.set_number(i, value);
  }
  return result;
}
HostTensor meaning(The<Op::rms_norm>, const Node& node, const Operands& operands) {
  const HostTensor& x = *operands[0];
  Shape rows = statistics_shape(x.shape, x.shape.rank() - 1);
  auto n = static_cast<double>(x.shape[-1]);
  std::vector<double> squares = sums(x, rows, [n](double v, std::size_t) { return v * v / n; });
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    auto row = static_cast<std::size_t>(i / x.shape[-1]);
    double value = x.number(i) / std::sqrt(squares[row] + node.attributes.number);
    if (operands.size() > 1) value *= operands[1]->number(i % x.shape[-1]);
    result.set_number(i, value);
  }
  return result;
}
HostTensor meaning(The<Op::linear>, const Node& node, const Operands& operands) {
  const HostTensor &x = *operands[0], &w = *operands[1];
  std::int64_t k = w.shape[1], n = w.shape[0];
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    double total = operands.size() > 2 ? operands[2]->number(i % n) : 0;
    for (std::int64_t j = 0; j < k; ++j) total += x.number(i / n * k + j) * w.number(i % n * k + j);
    result.set_number(i, total);
  }
  return result;
}

// What the operands of a quantised linear say.
struct QuantizedRows {
  bool is_packed, has_zeros;
  std::int64_t n, groups, depth;
  std::vector<double> weights;  // (integer - zero) * scale, [n, depth]
  std::vector<double> reaches;  // of groups, by which rows get their steps, [n, groups]
};
// Packed weights: column j of a block is in the low half of byte j, or in the high one of j - 16.
QuantizedRows quantized_rows(const Operands& operands) {
  const HostTensor &values = *operands[1], &scales = *operands[2];
  QuantizedRows r{values.dtype == DType::u8,
                  operands.size() > 3,
                  scales.shape[0],
                  scales.shape[1],
                  operands[0]->shape[-1],
                  {},
                  {}};
  auto integer = [&](std::int64_t i) {
    if (!r.is_packed) return values.integer[static_cast<std::size_t>(i)];
    std::int64_t in_block = i % packed_block, half = packed_block / 2;
    std::int64_t byte =
        values.integer[static_cast<std::size_t>(i / packed_block * half + in_block % half)];
    return in_block < half ? byte & 15 : byte >> 4;
  };
  for (std::int64_t i = 0; i < r.n * r.depth; ++i) {
    std::int64_t group = i / r.depth * r.groups + i % r.depth * r.groups / r.depth;
    double zero = r.has_zeros ? operands[3]->number(group) : r.is_packed ? 8 : 0;
    r.weights.push_back((static_cast<double>(integer(i)) - zero) * scales.number(group));
  }
  for (std::int64_t i = 0; i < r.n * r.groups; ++i) {
    double zero = r.has_zeros ? operands[3]->number(i) : 0;
    double low = r.is_packed ? 0 : -128, high = r.is_packed ? 15 : 127;
    double reach = r.has_zeros ? std::max(std::abs(zero - low), std::abs(zero - high)) / high : 1;
    r.reaches.push_back(std::abs(scales.number(i)) * reach);
  }
  return r;
}

// The numbers of each row, `width` of them, become whole multiples of the largest of `sizes` in
// that row over `steps`.
void round_rows(std::vector<double>& numbers, std::int64_t width, const std::vector<double>& sizes,
                double steps) {
  const std::size_t columns = static_cast<std::size_t>(width), rows = numbers.size() / columns;
  const std::size_t sized = sizes.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    double largest = 0;
    for (std::size_t i = row * sized; i < (row + 1) * sized; ++i)
      largest = std::max(largest, std::abs(sizes[i]));
    if (largest == 0) continue;
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i)
      numbers[i] = std::nearbyint(numbers[i] / largest * steps) * largest / steps;
  }
}

HostTensor meaning(The<Op::quantized_linear>, const Node& node, const Operands& operands) {
  const HostTensor& x = *operands[0];
  QuantizedRows w = quantized_rows(operands);
  std::vector<double> left;
  for (std::int64_t i = 0; i < x.count(); ++i) left.push_back(x.number(i));
  if (node.attributes.int8_activations && x.count() / w.depth > streamed_rows) {
    round_rows(left, w.depth, std::vector(left), 127);
    if (w.groups != 1 || w.has_zeros)
      round_rows(w.weights, w.depth, w.reaches, shared_steps(w.is_packed, w.has_zeros));
  }
  HostTensor result(node.dtype, node.shape);
  for (std::int64_t i = 0; i < result.count(); ++i) {
    auto first = left.begin() + i / w.n * w.depth;
    result.set_number(
        i, std::inner_product(first, first + w.depth, w.weights.begin() + i % w.n * w.depth, 0.0));
  }
  return result;
}

}  // namespace

HostTensor evaluate_composite(const Node& node, const std::vector<const HostTensor*>& operands) {
  return dispatch_op<Kind::composite, HostTensor>(
      node.op, [&](auto op) { return meaning(op, node, operands); });
}

}  // namespace tilewright::graph
