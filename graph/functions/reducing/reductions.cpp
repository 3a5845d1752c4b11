#include "graph/functions/reducing/reductions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/formula.h"
#include "graph/functions/pointwise/ruled_formula.h"
#include "graph/ir/location.h"
#include "graph/ir/user_call.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::choice;
using graph::Formula;
using graph::Terms;
using std::source_location;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Formula term_of(const TensorOperand& x, std::string_view name) {
  return {graph::tensor_of(x, name), x.where};
}
TensorOperand operand_of(const Formula& x) { return {x.tensor(), x.where()}; }
Formula sum_of(const Formula& x, const std::vector<int>& axes, bool keep_dims) {
  return {sum(operand_of(x), axes, keep_dims), x.where()};
}

void require_floating(std::string_view name, const Formula& x) {
  require(x.is_floating(), "[", name, "] the operand is ", x.dtype(), " (at ", At{x.where()},
          "); it must be floating: convert with to(f32)");
}

// The settings of a reduction besides its operand.
std::vector<Number> settings_of(const std::vector<int>& axes, bool keep_dims,
                                std::initializer_list<Number> others = {}) {
  std::vector<Number> settings(others);
  settings.emplace_back(keep_dims);
  for (int axis : axes) settings.emplace_back(axis);
  return settings;
}

}  // namespace

Tensor sum(const TensorOperand& x, const Axes& axes, bool keep_dims, DType dtype) {
  const graph::AutocastPause pause;
  Formula converted = term_of(x, "sum").to(dtype);
  return sum(operand_of(converted), axes, keep_dims).to(dtype, x.where);
}
Tensor prod(const TensorOperand& x, const Axes& axes, bool keep_dims, DType dtype) {
  const graph::AutocastPause pause;
  Formula converted = term_of(x, "prod").to(dtype);
  return prod(operand_of(converted), axes, keep_dims).to(dtype, x.where);
}
Tensor mean(const TensorOperand& x, const Axes& axes, bool keep_dims, DType dtype) {
  return mean(operand_of(term_of(x, "mean").to(dtype)), axes, keep_dims);
}

Tensor max(const TensorOperand& x) { return amax(x); }
Tensor min(const TensorOperand& x) { return amin(x); }

std::pair<Tensor, Tensor> corrected_var_mean(const TensorOperand& x, const Axes& axes,
                                             double correction, bool keep_dims) {
  require_floating("var_mean", term_of(x, "var_mean"));
  Terms terms = graph::widened("var_mean", {&x});
  auto [spread, middle] = var_mean(operand_of(terms[0]), axes, 0, keep_dims);
  const auto count = static_cast<double>(x.tensor.count()) /
                     static_cast<double>(std::max<std::int64_t>(middle.count(), 1));
  Formula variance = Formula(spread, x.where) * (count / std::max(count - correction, 0.0));
  return {terms.result(variance), middle.to(terms.dtype, x.where)};
}

Tensor corrected_stddev(const TensorOperand& x, const Axes& axes, double correction,
                        bool keep_dims) {
  require_floating("stddev", term_of(x, "stddev"));
  if (std::abs(correction) < 0x1p53 && std::trunc(correction) == correction)
    return stddev(x, axes, static_cast<std::int64_t>(correction), keep_dims);
  Formula spread(stddev(operand_of(graph::widened("stddev", {&x})[0]), axes, 0, keep_dims),
                 x.where);
  const auto count = static_cast<double>(x.tensor.count()) /
                     static_cast<double>(std::max<std::int64_t>(spread.tensor().count(), 1));
  const double factor = std::sqrt(count / std::max(count - correction, 0.0));
  return (spread * factor).to(x.tensor.dtype()).tensor();
}

std::pair<Tensor, Tensor> std_mean(const TensorOperand& x, const Axes& axes,
                                   std::int64_t correction, bool keep_dims) {
  return {stddev(x, axes, correction, keep_dims), var_mean(x, axes, correction, keep_dims).second};
}

namespace {

// The greatest is taken off, so that no exponential is infinite, unless it is itself.
Formula log_of_sum(const Formula& x, const std::vector<int>& axes, bool keep_dims) {
  if (x.tensor().count() == 0) return log(sum_of(exp(x), axes, keep_dims));
  Formula greatest(amax(operand_of(x), axes, true), x.where());
  greatest = choice(abs(greatest) == infinity, 0, greatest);
  Tensor spread =
      graph::broadcast_to(greatest.tensor(), x.tensor().shape(), "logsumexp", x.where());
  Formula total = log(sum_of(exp(x - Formula(spread, x.where())), axes, true)) + greatest;
  return keep_dims ? total : sum_of(total, axes, false);
}

}  // namespace

Tensor logsumexp(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  graph::tensor_of(x, "logsumexp");
  auto formula = [&](const Terms& terms) { return log_of_sum(terms[0], axes, keep_dims); };
  return graph::computed("logsumexp", graph::floating("logsumexp", {&x}), formula,
                         settings_of(axes, keep_dims));
}

Tensor count_nonzero(const TensorOperand& x, const Axes& axes) {
  graph::tensor_of(x, "count_nonzero");
  Terms terms = graph::promoted("count_nonzero", {&x});
  terms.dtype = DType::i64;
  return graph::computed(
      "count_nonzero", terms, [&](const Terms& t) { return sum_of(t[0] != 0, axes, false); },
      settings_of(axes, false));
}

Tensor nansum(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  if (!is_floating(graph::tensor_of(x, "nansum").dtype())) return sum(x, axes, keep_dims);
  auto formula = [&](const Terms& t) {
    return sum_of(choice(is_nan(t[0]), 0, t[0]), axes, keep_dims);
  };
  return graph::computed("nansum", graph::widened("nansum", {&x}), formula,
                         settings_of(axes, keep_dims));
}
Tensor nanmean(const TensorOperand& x, const Axes& axes, bool keep_dims) {
  require_floating("nanmean", term_of(x, "nanmean"));
  auto formula = [&](const Terms& terms) {
    Formula is_number = !is_nan(terms[0]);
    Formula total = sum_of(choice(is_number, terms[0], 0), axes, keep_dims);
    return total / sum_of(is_number.to(terms[0].dtype()), axes, keep_dims);
  };
  return graph::computed("nanmean", graph::widened("nanmean", {&x}), formula,
                         settings_of(axes, keep_dims));
}

Tensor sum_to_size(const TensorOperand& x, const Shape& shape) {
  Formula term = term_of(x, "sum_to_size");
  const Shape& from = term.tensor().shape();
  require(broadcast_shapes(shape, from) == from, "[sum_to_size] a tensor of shape ", from,
          " does not sum to ", shape, " (at ", At{x.where},
          "); sizes must be equal or 1, counted from the last axis");
  std::vector<int> axes;
  const int leading = from.rank() - shape.rank();
  for (int axis = 0; axis < from.rank(); ++axis)
    if (axis < leading || (shape[axis - leading] == 1 && from[axis] != 1)) axes.push_back(axis);
  if (axes.empty()) return term.tensor();
  Tensor result = sum(x, axes, true);
  return result.reshape(shape, x.where);
}

namespace {

// In the dtype of the term.
Formula norm_by_its_formula(const Formula& term, double order, const std::vector<int>& axes,
                            bool keep_dims) {
  if (order == 0) return sum_of((term != 0).to(term.dtype()), axes, keep_dims);
  Formula magnitude = abs(term);
  TensorOperand all = operand_of(magnitude);
  if (std::isinf(order))
    return {order > 0 ? amax(all, axes, keep_dims) : amin(all, axes, keep_dims), term.where()};
  if (order == 1) return sum_of(magnitude, axes, keep_dims);
  if (order == 2) return sqrt(sum_of(term * term, axes, keep_dims));
  Formula powers(pow(all, order), term.where());
  return {pow(operand_of(sum_of(powers, axes, keep_dims)), 1 / order), term.where()};
}
Formula norm_of_term(const Formula& term, double order, const std::vector<int>& axes,
                     bool keep_dims) {
  std::vector<Number> settings = {order};
  settings.insert(settings.end(), axes.begin(), axes.end());
  return with_rule("vector norm", term, settings, [&](const Formula& t) {
    return norm_by_its_formula(t, order, axes, keep_dims);
  });
}
void require_elements(std::string_view name, const Formula& term, double order,
                      std::vector<int> axes) {
  const Shape& shape = term.tensor().shape();
  if (axes.empty())
    for (int axis = 0; axis < shape.rank(); ++axis) axes.push_back(axis);
  for (int axis : axes)
    require(shape[graph::axis_of(axis, shape, name, term.where())] > 0, "[", name,
            "] the operand is ", shape, " (at ", At{term.where()}, "); of no elements along axis ",
            axis, " there is no norm of order ", order);
}
Tensor norm_of(std::string_view name, const TensorOperand& x, double order,
               const std::vector<int>& axes, bool keep_dims) {
  require_floating(name, term_of(x, name));
  if (std::isinf(order)) require_elements(name, term_of(x, name), order, axes);
  return graph::computed(
      name, graph::widened(name, {&x}),
      [&](const Terms& t) { return norm_of_term(t[0], order, axes, keep_dims); },
      settings_of(axes, keep_dims, {order}));
}

}  // namespace

Tensor linalg_vector_norm(const TensorOperand& x, double order, const Axes& axes, bool keep_dims) {
  return norm_of("linalg_vector_norm", x, order, axes, keep_dims);
}
Tensor norm(const TensorOperand& x, double order, const Axes& axes, bool keep_dims) {
  return norm_of("norm", x, order, axes, keep_dims);
}
Tensor renorm(const TensorOperand& x, double order, int axis, double most) {
  require_floating("renorm", term_of(x, "renorm"));
  require(order > 0 && most >= 0, "[renorm] the order is ", order, ", the most ", most, " (at ",
          At{x.where}, "); an order is above 0, a norm not below");
  Terms terms = graph::widened("renorm", {&x});
  const Shape& shape = x.tensor.shape();
  axis = graph::axis_of(axis, shape, "renorm", x.where);
  require(shape.rank() > 1, "[renorm] the operand is ", shape, " (at ", At{x.where},
          "); it must have an axis besides that of its parts");
  std::vector<int> others;
  for (int other = 0; other < shape.rank(); ++other)
    if (other != axis) others.push_back(other);
  auto formula = [&](const Terms& t) {
    Formula norm = norm_of_term(t[0], order, others, true);
    // PyTorch adds this much, so that what is scaled is below the most.
    Formula factor = choice(norm > most, most / (norm + 1e-7), 1);
    Tensor spread =
        graph::broadcast_to(factor.tensor(), t[0].tensor().shape(), "renorm", t[0].where());
    return t[0] * Formula(spread, t[0].where());
  };
  return graph::computed("renorm", terms, formula, {order, axis, most});
}
Tensor dist(const TensorOperand& a, const TensorOperand& b, double order) {
  require_floating("dist", graph::promoted("dist", {&a, &b})[0]);
  auto formula = [&](const Terms& t) { return norm_of_term(t[0] - t[1], order, {}, false); };
  return graph::computed("dist", graph::widened("dist", {&a, &b}), formula, {order});
}

Tensor normalize(const TensorOperand& x, double order, int axis, double least) {
  return graph::of_user_call("normalize", x.where,
                             [&] { return x / clamp_min(norm(x, order, axis, true), least); });
}
Tensor cov(const TensorOperand& x, std::int64_t correction) {
  return graph::of_user_call("cov", x.where, [&] {
    const Tensor& given = graph::tensor_of(x, "cov");
    require(given.rank() == 1 || given.rank() == 2, "[cov] x is ", given.shape(),
            "; [variables, observations] or [observations] is wanted");
    const Tensor rows = given.rank() == 1 ? given.unsqueeze(0) : given;
    const Tensor apart = rows - mean(rows, 1, true);
    const auto count = static_cast<double>(std::max<std::int64_t>(rows.size(1) - correction, 0));
    const Tensor result = matmul(apart, apart.transpose(0, 1)) / count;
    return given.rank() == 1 ? result.reshape({}) : result;
  });
}
Tensor corrcoef(const TensorOperand& x) {
  return graph::of_user_call("corrcoef", x.where, [&] {
    const Tensor both = cov(x);
    if (both.rank() == 0) return both / both;
    const std::int64_t n = both.size(0);
    const Tensor deviations = sqrt(both.reshape({n * n}).slice(0, 0, n * n, n + 1));  // diagonal
    return clamp(both / deviations.unsqueeze(0) / deviations.unsqueeze(1), -1.0, 1.0);
  });
}

}  // namespace tilewright
