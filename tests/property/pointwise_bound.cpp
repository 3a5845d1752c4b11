// Errors of pointwise ops.
#include <algorithm>
#include <cmath>
#include <optional>

#include "dsl/ir/immediates.h"
#include "graph/ir/op_dispatch.h"
#include "tests/property/rounding_units.h"

namespace tilewright::graph {
namespace {

// The effect of each tile op on errors. `unary` are monotone unless listed otherwise.
enum class Behaviour { exact_monotone, monotone, transcendental, wave, step, pair };
Behaviour behaviour_of(ir::Op op) {
  using enum ir::Op;
  for (ir::Op exact : {neg_, abs_, not_})
    if (op == exact) return Behaviour::exact_monotone;
  for (ir::Op steps : {floor_, ceil_, round_, cast_})
    if (op == steps) return Behaviour::step;
  if (op == sin_ || op == cos_) return Behaviour::wave;
  if (op == sqrt_) return Behaviour::monotone;
  return ir::info(op).max_operands == 1 ? Behaviour::transcendental : Behaviour::pair;
}

double apply_double(ir::Op op, double x, DType from, DType to) {
  auto wide = [](DType d) { return is_floating(d) ? DType::f64 : d; };
  ir::Scalar operand = ir::Scalar::of(wide(from), x);
  return ir::evaluate(op, {&operand, 1}, wide(to)).as_double();
}

// |f(x +- e) - f(x)|; unknown where the function is not defined there.
double unary_error(const Node& node, DType from, double x, double e, double y) {
  ir::Op op = *info(node.op).tile_op;
  Behaviour behaviour = behaviour_of(op);
  double ulps = behaviour == Behaviour::transcendental || behaviour == Behaviour::wave
                    ? 4 * accumulator_unit(node.dtype) * std::abs(y)
                    : 0;
  if (behaviour == Behaviour::wave)
    return std::min(e, 2.0) + ulps + rounding(node.dtype, std::abs(y) + e);
  double spread = 0;
  if (e > 0) {
    double low = apply_double(op, x - e, from, node.dtype);
    double high = apply_double(op, x + e, from, node.dtype);
    spread = std::max(std::abs(low - y), std::abs(high - y));
    if (std::isnan(spread)) return unknown;
    bool decides =
        behaviour == Behaviour::step && !(op == ir::Op::cast_ && is_floating(node.dtype));
    if (decides) {
      bool to_boolean = op == ir::Op::cast_ && is_boolean(node.dtype);
      if (spread != 0 || (to_boolean && std::abs(x) <= e)) return unknown;
      return 0;
    }
  }
  if (behaviour == Behaviour::exact_monotone) return spread;
  if (behaviour == Behaviour::step && op != ir::Op::cast_) return 0;
  return spread + ulps + rounding(node.dtype, std::abs(y) + spread);
}

}  // namespace

double binary_error(const Node& node, double a, double ea, double b, double eb, double y) {
  using enum ir::Op;
  ir::Op op = *info(node.op).tile_op;
  if (ea == 0 && eb == 0 && !is_floating(node.dtype)) return 0;
  if (is_boolean(node.dtype)) return std::abs(a - b) <= ea + eb ? unknown : 0;
  if (op == max_ || op == min_) return std::max(ea, eb);
  if (op == rem_) return ea == 0 && eb == 0 ? rounding(node.dtype, std::abs(y)) : unknown;
  double spread = unknown;
  if (op == add_ || op == sub_) spread = ea + eb;
  if (op == mul_) spread = std::abs(a) * eb + std::abs(b) * ea + ea * eb;
  if (op == div_ && std::abs(b) > eb) spread = (ea + std::abs(y) * eb) / (std::abs(b) - eb);
  return spread + rounding(node.dtype, std::abs(y) + spread);
}

namespace {

bool is_surely(const BoundedTensor& x, std::size_t i, bool value) {
  return x.error[i] == 0 && (x.value.integer[i] != 0) == value;
}

// Where a condition may go either way, the result may be either side.
double either_error(const BoundedTensor& a, const BoundedTensor& b, std::size_t i, double y) {
  const auto at = static_cast<std::int64_t>(i);
  const double error = std::max(std::abs(a.value.number(at) - y) + a.error[i],
                                std::abs(b.value.number(at) - y) + b.error[i]);
  return std::isnan(error) ? unknown : error;
}

// True if infinities of the operands are what makes the result infinite, whatever their errors.
bool is_surely_infinite(ir::Op op, double a, double ea, double b, double eb) {
  auto follows = [&](double infinite, double own, double other, double error) {
    if (!std::isinf(infinite) || own != 0 || !std::isfinite(error)) return false;
    return op == ir::Op::mul_ ? std::abs(other) > error : op == ir::Op::add_ || op == ir::Op::sub_;
  };
  return follows(a, ea, b, eb) || follows(b, eb, a, ea);
}

// The other operands decide a result, where they can, that errors of some leave open.
std::optional<double> decided_error(const Node& node, const Operands& x, std::size_t i, double y) {
  const bool is_exact =
      std::ranges::all_of(x, [&](const auto* each) { return each->error[i] == 0; });
  if (is_exact && !std::isfinite(y)) return 0;
  if (node.op == Op::where && x[0]->error[i] != 0) return either_error(*x[1], *x[2], i, y);
  if (x.size() != 2) return std::nullopt;
  if (node.op == Op::logical_and || node.op == Op::logical_or)
    for (const BoundedTensor* each : x)
      if (is_surely(*each, i, node.op == Op::logical_or)) return 0;
  const double ea = x[0]->error[i], eb = x[1]->error[i];
  if (is_boolean(node.dtype) && node.operands[0] == node.operands[1])
    return std::isfinite(ea) ? 0 : unknown;
  const auto at = static_cast<std::int64_t>(i);
  const ir::Op op = *info(node.op).tile_op;
  const double a = x[0]->value.number(at), b = x[1]->value.number(at);
  if (std::isinf(y) && is_surely_infinite(op, a, ea, b, eb)) return 0;
  const bool is_apart = std::abs(a - b) > ea + eb;
  if ((op == ir::Op::max_ || op == ir::Op::min_) && is_apart) return y == a ? ea : eb;
  return std::nullopt;
}

}  // namespace

std::vector<double> pointwise_error(const Node& node, const HostTensor& y, const Operands& x,
                                    Choices choices) {
  std::vector<double> error(static_cast<std::size_t>(y.count()));
  for (std::int64_t i = 0; i < y.count(); ++i) {
    auto at = static_cast<std::size_t>(i);
    double out = y.number(i);
    if (choices == Choices::bounded)
      if (const auto decided = decided_error(node, x, at, out)) {
        error[at] = *decided;
        continue;
      }
    if (x.size() == 1)
      error[at] = unary_error(node, x[0]->value.dtype, x[0]->value.number(i), x[0]->error[at], out);
    else if (x.size() == 2)
      error[at] = binary_error(node, x[0]->value.number(i), x[0]->error[at], x[1]->value.number(i),
                               x[1]->error[at], out);
    else
      error[at] =
          x[0]->error[at] != 0 ? unknown : x[x[0]->value.integer[at] != 0 ? 1 : 2]->error[at];
  }
  return error;
}

}  // namespace tilewright::graph
