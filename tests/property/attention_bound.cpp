#include <algorithm>
#include <cmath>

#include "graph/ops/attention_operands.h"
#include "tests/property/rounding_units.h"

namespace tilewright::graph {

// One row of attention: scores s are off by at most d, so that every weight exp(s - max) is off by
// a factor within exp(2 d), times the rounding of exp, of the running rescaling and of the weights'
// own dtype; numerator and denominator both carry that. A function of scores makes of their error
// what its ops do. A mask adds its error to d, and what the sum is rounded by; a key that it hides
// has no weight at all.
namespace {

// Scores [batch, heads, rows, keys] before masks, and how large what they are sums of is.
struct Scores {
  BoundedTensor of;
  std::vector<double> sizes;
};

AttentionOperands operands_of(const Node& node, const Operands& x) {
  return {node.attributes, x.size(), [&](std::size_t i) { return x[i]->value.shape.size(); }};
}

Scores scores_of(const Node& node, const Operands& x) {
  const AttentionOperands given = operands_of(node, x);
  const BoundedTensor &q = *x[0], &k = *x[1];
  const std::int64_t heads = node.shape[1], rows = node.shape[2], depth = node.shape[3],
                     groups = k.value.shape[1], columns = k.value.shape[2];
  const double u = accumulator_unit(node.dtype), scale = std::abs(node.attributes.number);
  Scores scores;
  scores.of.value = HostTensor(accumulator(node.dtype), {node.shape[0], heads, rows, columns});
  for (std::int64_t at = 0; at < scores.of.value.count(); ++at) {
    const std::int64_t line = at / columns, head = line / rows % heads, batch = line / rows / heads;
    const std::int64_t key = (batch * groups + head / (heads / groups)) * columns + at % columns;
    double dot = 0, error = 0, size = 0;
    for (std::int64_t i = 0; i < depth; ++i) {
      const std::int64_t at_q = line * depth + i, at_k = key * depth + i;
      const double eq = q.error[static_cast<std::size_t>(at_q)];
      const double ek = k.error[static_cast<std::size_t>(at_k)];
      dot += q.value.number(at_q) * k.value.number(at_k);
      error += std::abs(q.value.number(at_q)) * ek + magnitude(k, at_k) * eq;
      size += magnitude(q, at_q) * magnitude(k, at_k);
    }
    if (given.are_codes()) {  // a product more of each term
      const BoundedTensor& scales = *x[given.key_scales];
      const double by = scales.value.number(key), off = scales.error[static_cast<std::size_t>(key)];
      error = error * magnitude(scales, key) + size * off;
      dot *= by;
      size *= magnitude(scales, key);
    }
    double score = dot * node.attributes.number;
    double score_error = scale * (error + gamma(static_cast<double>(depth) + 5, u) * size);
    if (const double cap = node.attributes.cap; cap != 0) {  // its slope is at most 1
      score = cap * std::tanh(score / cap);
      score_error += 16 * u * std::min(cap, scale * size);
    }
    scores.of.value.set_number(at, score);
    scores.of.error.push_back(score_error);
    scores.sizes.push_back(scale * size);
  }
  return scores;
}

// The scores that a function makes of them.
Scores changed(const Node& node, const Operands& x, std::size_t of_scores, Scores scores) {
  const Shape sizes = scores.of.value.shape;
  const std::int64_t count = element_count(sizes);
  scores.of.value.shape = {count};
  std::vector<BoundedTensor> inputs = {std::move(scores.of)};
  for (int axis = 0; axis < sizes.rank(); ++axis)
    inputs.push_back(
        {places_of_scores(sizes, axis), std::vector<double>(static_cast<std::size_t>(count))});
  for (std::size_t i = of_scores; i < x.size(); ++i) {
    inputs.push_back(*x[i]);
    inputs.back().value.shape = {count};
  }
  const Graph function = for_each_score(node.attributes.bodies[0], count);
  scores.of = bound_nodes(function, std::move(inputs)).at(function.outputs[0]);
  scores.of.value.shape = sizes;
  for (std::int64_t i = 0; i < count; ++i)
    scores.sizes[static_cast<std::size_t>(i)] += magnitude(scores.of, i);
  return scores;
}

struct AttentionErrors {
  std::vector<double> value, sums;
};

AttentionErrors attention_error(const Node& node, const HostTensor& y, const Operands& x) {
  if (y.count() == 0) return {};
  const BoundedTensor &k = *x[1], &v = *x[2];
  std::int64_t heads = node.shape[1], rows = node.shape[2], depth = node.shape[3];
  std::int64_t groups = k.value.shape[1], columns = k.value.shape[2];
  const AttentionOperands given = operands_of(node, x);
  const BoundedTensor* value_scales = given.are_codes() ? x[given.value_scales] : nullptr;
  std::int64_t position =
      given.position != 0 ? x[given.position]->value.integer[0] : node.attributes.start;
  const BoundedTensor* mask = given.mask != 0 ? x[given.mask] : nullptr;
  double u = accumulator_unit(node.dtype);
  Scores all = scores_of(node, x);
  if (!node.attributes.bodies.empty()) all = changed(node, x, given.of_scores, std::move(all));
  std::vector<double> errors(static_cast<std::size_t>(y.count()));
  std::vector<double> of_sums(static_cast<std::size_t>(y.count() / depth));
  for (std::int64_t line = 0; line < y.count() / depth; ++line) {
    std::int64_t row = line % rows, head = line / rows % heads, batch = line / rows / heads;
    std::int64_t keys = (batch * groups + head / (heads / groups)) * columns * depth;
    std::int64_t visible =
        node.attributes.causal ? std::clamp<std::int64_t>(row + position + 1, 0, columns) : columns;
    std::int64_t hidden = 0;
    if (std::int64_t window = node.attributes.window)
      hidden = std::clamp<std::int64_t>(row + position + 1 - window, 0, visible);
    keys += hidden * depth;
    visible -= hidden;
    std::vector<double> scores(static_cast<std::size_t>(visible));
    double d = 0, top = -unknown, largest = 0;
    for (std::int64_t c = 0; c < visible; ++c) {
      const std::int64_t at = line * columns + hidden + c;
      double &score = scores[static_cast<std::size_t>(c)], added = 0;
      score = all.of.value.number(at);
      if (score == -unknown) continue;  // hidden by the function
      double score_error = all.of.error[static_cast<std::size_t>(at)];
      const double size = all.sizes[static_cast<std::size_t>(at)];
      if (mask != nullptr) {
        const bool is_hidden = is_boolean(mask->value.dtype) ? mask->value.number(at) == 0
                                                             : mask->value.number(at) == -unknown;
        if (is_hidden) {
          score = -unknown;
          continue;
        }
        if (!is_boolean(mask->value.dtype)) {
          added = std::abs(mask->value.number(at));
          score += mask->value.number(at);
          score_error += mask->error[static_cast<std::size_t>(at)] + 2 * u * (size + added);
        }
      }
      top = std::max(top, score);
      largest = std::max(largest, size + added);
      d = std::max(d, score_error);
    }
    if (top == -unknown) continue;  // exactly 0
    auto count = static_cast<double>(visible);
    double weight_error =
        std::expm1(2 * d + 6 * u * largest) + unit(node.dtype) + gamma(6 * count + 8, u);
    if (value_scales != nullptr) weight_error += 2 * unit(node.dtype);
    double total = 0;
    for (double& s : scores) total += s = std::exp(s - top);
    of_sums[static_cast<std::size_t>(line)] =
        d + 6 * u * (largest + std::abs(top) + std::log(total)) + gamma(6 * count + 8, u);
    for (std::int64_t i = 0; i < depth; ++i) {
      double size = 0, error = 0;
      for (std::int64_t c = 0; c < visible; ++c) {
        std::int64_t at = keys + c * depth + i;
        double weight = scores[static_cast<std::size_t>(c)] / total;
        if (value_scales != nullptr) {
          const std::int64_t key = keys / depth + c;
          error += weight * magnitude(v, at) * value_scales->error[static_cast<std::size_t>(key)];
          // The value, or its weight, is rounded with the scale in it.
          error += weight * rounding(node.dtype, magnitude(v, at) * magnitude(*value_scales, key));
          weight *= magnitude(*value_scales, key);
        }
        size += weight * magnitude(v, at);
        error += weight * v.error[static_cast<std::size_t>(at)];
        // The least weights have fewer digits.
        const double by = value_scales != nullptr ? magnitude(*value_scales, keys / depth + c) : 1;
        error += rounding(node.dtype, 0) * magnitude(v, at) * by;
      }
      double relative = 2 * weight_error / (1 - std::min(weight_error, 0.5));
      error = error * (1 + relative) + size * relative;
      errors[static_cast<std::size_t>(line * depth + i)] =
          error + rounding(node.dtype, size + error);
    }
  }
  return {std::move(errors), std::move(of_sums)};
}

BoundedTensor in_order(const BoundedTensor& pages, const HostTensor& page_table) {
  HostTensor errors(DType::f64, pages.value.shape);
  errors.floating = pages.error;
  return {in_order_of_table(pages.value, page_table),
          in_order_of_table(errors, page_table).floating};
}

BoundedTensor bound_to_pages(const Node& node, const HostTensor& y, Operands x,
                             const AttentionOperands& given) {
  const HostTensor& page_table = x[given.page_table]->value;
  const std::vector<std::size_t> paged = given.keys_and_values();
  std::vector<BoundedTensor> ordered;
  for (std::size_t i : paged) ordered.push_back(in_order(*x[i], page_table));
  for (std::size_t i = 0; i < paged.size(); ++i) x[paged[i]] = &ordered[i];
  x.erase(x.begin() + static_cast<std::ptrdiff_t>(given.page_table));
  return bound_attention(node, y, x);
}

BoundedTensor bound_gradient(const Node& node, const Operands& x) {
  std::vector<BoundedTensor> inputs;
  std::vector<ValueType> types;
  for (const BoundedTensor* operand : x) {
    inputs.push_back(*operand);
    types.push_back({operand->value.dtype, operand->value.shape});
  }
  const Graph formula = formula_of_gradient(node, types);
  std::vector<BoundedTensor> values = bound_nodes(formula, std::move(inputs));
  BoundedTensor result = values[formula.outputs[0]];
  for (std::size_t i = 1; i < formula.outputs.size(); ++i) {
    result.others.push_back(values[formula.outputs[i]]);
    result.value.others.push_back(values[formula.outputs[i]].value);
  }
  return result;
}

}  // namespace

BoundedTensor bound_attention(const Node& node, const HostTensor& y, const Operands& x) {
  if (node.op == Op::attention_gradient) return bound_gradient(node, x);
  if (const AttentionOperands given = operands_of(node, x); given.are_pages())
    return bound_to_pages(node, y, x, given);
  AttentionErrors errors = attention_error(node, y, x);
  BoundedTensor result{y, std::move(errors.value)};
  if (y.others.empty()) return result;
  errors.sums.resize(static_cast<std::size_t>(y.others[0].count()));
  result.others.push_back({y.others[0], std::move(errors.sums)});
  return result;
}

}  // namespace tilewright::graph
