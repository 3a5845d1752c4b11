#include <algorithm>
#include <cmath>

#include "graph/ops/attention_operands.h"
#include "tests/property/rounding_units.h"

namespace tilewright::graph {

// One row of attention: scores s are off by at most d, so that every weight exp(s - max) is off by
// a factor within exp(2 d), times the rounding of exp, of the running rescaling and of the weights'
// own dtype; numerator and denominator both carry that. A mask adds its error to d, and what the
// sum is rounded by; a key that it hides has no weight at all.
std::vector<double> attention_error(const Node& node, const HostTensor& y, const Operands& x) {
  if (y.count() == 0) return {};
  const BoundedTensor &q = *x[0], &k = *x[1], &v = *x[2];
  std::int64_t heads = node.shape[1], rows = node.shape[2], depth = node.shape[3];
  std::int64_t groups = k.value.shape[1], columns = k.value.shape[2];
  const AttentionOperands given(x.size(), x.size() > 3 ? x[3]->value.shape.size() : 0);
  std::int64_t position =
      given.position != 0 ? x[given.position]->value.integer[0] : node.attributes.start;
  const BoundedTensor* mask = given.mask != 0 ? x[given.mask] : nullptr;
  double u = accumulator_unit(node.dtype), scale = std::abs(node.attributes.number);
  std::vector<double> errors(static_cast<std::size_t>(y.count()));
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
      double dot = 0, error = 0, size = 0;
      for (std::int64_t i = 0; i < depth; ++i) {
        std::int64_t at_q = line * depth + i, at_k = keys + c * depth + i;
        double eq = q.error[static_cast<std::size_t>(at_q)];
        double ek = k.error[static_cast<std::size_t>(at_k)];
        dot += q.value.number(at_q) * k.value.number(at_k);
        error += std::abs(q.value.number(at_q)) * ek + magnitude(k, at_k) * eq;
        size += magnitude(q, at_q) * magnitude(k, at_k);
      }
      double &score = scores[static_cast<std::size_t>(c)], added = 0;
      score = dot * node.attributes.number;
      double score_error = scale * (error + gamma(static_cast<double>(depth) + 4, u) * size);
      if (const double cap = node.attributes.cap; cap != 0) {  // its slope is at most 1
        score = cap * std::tanh(score / cap);
        score_error += 16 * u * std::min(cap, scale * size);
      }
      if (mask != nullptr) {
        const std::int64_t at = line * columns + hidden + c;
        const bool is_hidden = is_boolean(mask->value.dtype) ? mask->value.number(at) == 0
                                                             : mask->value.number(at) == -unknown;
        if (is_hidden) {
          score = -unknown;
          continue;
        }
        if (!is_boolean(mask->value.dtype)) {
          added = std::abs(mask->value.number(at));
          score += mask->value.number(at);
          score_error += mask->error[static_cast<std::size_t>(at)] + 2 * u * (scale * size + added);
        }
      }
      top = std::max(top, score);
      largest = std::max(largest, scale * size + added);
      d = std::max(d, score_error);
    }
    if (top == -unknown) continue;  // exactly 0
    auto count = static_cast<double>(visible);
    double weight_error =
        std::expm1(2 * d + 6 * u * largest) + unit(node.dtype) + gamma(6 * count + 8, u);
    double total = 0;
    for (double& s : scores) total += s = std::exp(s - top);
    for (std::int64_t i = 0; i < depth; ++i) {
      double size = 0, error = 0;
      for (std::int64_t c = 0; c < visible; ++c) {
        std::int64_t at = keys + c * depth + i;
        double weight = scores[static_cast<std::size_t>(c)] / total;
        size += weight * magnitude(v, at);
        error += weight * v.error[static_cast<std::size_t>(at)];
      }
      double relative = 2 * weight_error / (1 - std::min(weight_error, 0.5));
      error = error * (1 + relative) + size * relative;
      errors[static_cast<std::size_t>(line * depth + i)] =
          error + rounding(node.dtype, size + error);
    }
  }
  return errors;
}

}  // namespace tilewright::graph
