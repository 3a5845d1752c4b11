#include "graph/functions/learners/encoding.h"

#include <cmath>
#include <numbers>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/pointwise/activations.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/host_constants.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/index_ranges.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::constant_of;

namespace {

// True where an element, along a new last axis, is a key.
Tensor are_equal(const Tensor& x, const Tensor& keys) {
  const Tensor each = x.unsqueeze(-1), equal = each == keys;
  if (!is_floating(x.dtype())) return equal;
  return logical_or(equal, logical_and(isnan(each), isnan(keys)));
}

}  // namespace

Tensor places_of_keys(const TensorOperand& operand, const Tensor& keys) {
  const Tensor& x = graph::tensor_of(operand, "places_of_keys");
  require(keys.rank() == 1 && keys.count() > 0 && keys.dtype() == x.dtype(),
          "[places_of_keys] x is ", x.dtype(), ", the keys ", keys.dtype(), " [", keys.shape(),
          "] (at ", At{operand.where}, "); a list of keys of x's dtype is wanted");
  const Tensor equal = are_equal(x, keys).to(i32), place = argmax(equal, -1);
  return where(amax(equal, {-1}) > 0, place, -1);
}

Tensor mapped_keys(const TensorOperand& x, const Tensor& keys, const Tensor& values,
                   const Tensor& missing) {
  require(values.shape() == keys.shape() && missing.count() == 1, "[mapped_keys] ", keys.count(),
          " keys and values [", values.shape(), "] (at ", At{x.where},
          "); a value for each key is wanted");
  const Tensor place = places_of_keys(x, keys);
  return where(place < 0, missing.reshape({}), index(values, {clamp_min(place, 0)}));
}

Tensor scaled_features(const TensorOperand& operand, const Tensor& offset, const Tensor& scale) {
  const Tensor& x = graph::tensor_of(operand, "scaled_features");
  return (x - offset) * scale;
}
Tensor binarized(const TensorOperand& operand, double threshold) {
  const Tensor& x = graph::tensor_of(operand, "binarized");
  return (x > threshold).to(x.dtype());
}

static Tensor norm_of_rows(const Tensor& x, RowNorm norm) {
  switch (norm) {
    case RowNorm::greatest: return amax(x, {-1}, true);
    case RowNorm::l1: return sum(abs(x), {-1}, true);
    case RowNorm::l2: return sqrt(sum(x * x, {-1}, true));
  }
  __builtin_unreachable();
}
Tensor normalized_rows(const TensorOperand& operand, RowNorm norm) {
  const Tensor& x = graph::tensor_of(operand, "normalized_rows");
  const Tensor size = norm_of_rows(x, norm);
  return x / where(size == 0, 1.0, size);
}

Tensor one_hot_categories(const TensorOperand& operand, const std::vector<std::int64_t>& categories,
                          bool all_are_known) {
  const Tensor x = graph::tensor_of(operand, "one_hot_categories").to(i64),
               keys = constant_of(categories, {std::ssize(categories)});
  if (all_are_known)
    graph::require_inside(places_of_keys(x, keys),
                          {"one_hot_categories", graph::IndexRange::Noun::index, 0,
                           std::ssize(categories), operand.where});
  return are_equal(x, keys).to(f32);
}

Tensor imputed(const TensorOperand& operand, const Number& missing, const Tensor& by) {
  const Tensor& x = graph::tensor_of(operand, "imputed");
  require(by.rank() == 1 && by.dtype() == x.dtype() &&
              (by.count() == 1 || (x.rank() > 0 && by.count() == x.size(-1))),
          "[imputed] ", by.dtype(), " [", by.shape(), "] for ", x.dtype(), " [", x.shape(),
          "] (at ", At{operand.where}, "); one number, or one for each feature, is wanted");
  const double number = missing.as_double();
  return where(std::isnan(number) ? isnan(x) : x == full({}, missing, x.dtype()), by, x);
}

namespace {

// exp of each score over the sum of these, but for scores of 0, which stay.
Tensor softmax_of_nonzero(const Tensor& x) {
  const Tensor greatest = amax(x, {-1}, true), is_zero = abs(x) <= 1e-7,
               shifted = exp(x - greatest), total = sum(where(is_zero, 0.0, shifted), {-1}, true);
  return where(is_zero, x * exp(-greatest), shifted) / total;
}

// The inverse of the normal distribution, by S. Winitzki's approximation of the inverse of erf.
Tensor approximate_probit(const Tensor& share) {
  constexpr double a = 0.147;
  const Tensor x = share * 2.0 - 1.0, logarithm = log((1.0 - x) * (1.0 + x)),
               half = logarithm * 0.5 + 2 / (std::numbers::pi * a),
               size = sqrt(sqrt(half * half - logarithm * (1 / a)) - half);
  return where(x < 0.0, -size, size) * std::numbers::sqrt2;
}

}  // namespace

Tensor transformed_scores(const TensorOperand& operand, ScoreTransform transform) {
  const Tensor& scores = graph::tensor_of(operand, "transformed_scores");
  switch (transform) {
    case ScoreTransform::none: return scores;
    case ScoreTransform::softmax: return softmax(scores, -1);
    case ScoreTransform::logistic: return sigmoid(scores);
    case ScoreTransform::softmax_of_nonzero: return softmax_of_nonzero(scores);
    case ScoreTransform::probit: return approximate_probit(scores);
  }
  __builtin_unreachable();
}

Tensor scores_of_two(const TensorOperand& operand, ScoreTransform transform, bool is_share) {
  const Tensor& score = graph::tensor_of(operand, "scores_of_two");
  require(score.rank() == 2 && score.size(1) == 1 && transform != ScoreTransform::probit,
          "[scores_of_two] a score [", score.shape(), "] (at ", At{operand.where},
          "); [rows, 1] is wanted, and another transform than probit");
  const Tensor opposite = -score;
  if (transform == ScoreTransform::logistic) return sigmoid(cat({opposite, score}, 1));
  const bool is_one_less = is_share || transform != ScoreTransform::none;
  return cat({is_one_less ? 1.0 - score : opposite, score}, 1);
}

Tensor signs_of_scores(const TensorOperand& operand) {
  const Tensor& scores = graph::tensor_of(operand, "signs_of_scores");
  return where(scores > 0.0, 1.0, full({}, -1.0, scores.dtype()));
}

Tensor greatest_labels(const TensorOperand& operand, const std::vector<std::int64_t>& labels) {
  const Tensor& scores = graph::tensor_of(operand, "greatest_labels");
  require(scores.rank() == 2 && scores.size(1) == std::ssize(labels), "[greatest_labels] scores [",
          scores.shape(), "] of ", labels.size(), " labels (at ", At{operand.where},
          "); one for each is wanted");
  return index(constant_of(labels, {std::ssize(labels)}), {argmax(scores, -1)});
}

}  // namespace tilewright
