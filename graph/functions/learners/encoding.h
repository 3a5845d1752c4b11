// What classical learners do with columns of numbers before and after they compute: categories as
// numbers or flags, missing values, and scores as probabilities. By the rules of ONNX Runtime's
// ai.onnx.ml.
//
// Misuse raises `Error`; safe to call from several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

// For each element the place of the first equal key, NaN being equal to NaN, or -1: i64.
Tensor places_of_keys(const TensorOperand& x, const Tensor& keys);

// The value of its key, or `missing` (without axes) for an element that is none; x may have any
// shape.
Tensor mapped_keys(const TensorOperand& x, const Tensor& keys, const Tensor& values,
                   const Tensor& missing);

// A last axis with 1 at the category that an element is, f32. An element that is no category has
// zeros only, or is an `Error` as an index outside is, where `all_are_known`.
Tensor one_hot_categories(const TensorOperand& x, const std::vector<std::int64_t>& categories,
                          bool all_are_known);

// `by` instead of elements equal to `missing`, NaN being equal to NaN; `by` is one number, or one
// for each feature (the last axis).
Tensor imputed(const TensorOperand& x, const Number& missing, const Tensor& by);

// (x - offset) scale, by one number or one for each feature.
Tensor scaled_features(const TensorOperand& x, const Tensor& offset, const Tensor& scale);
// 1 above the threshold, else 0, in x's dtype.
Tensor binarized(const TensorOperand& x, double threshold);
// Features over the greatest of their row, the sum of magnitudes or the root of that of squares; a
// row for which that is 0 stays.
enum class RowNorm : std::uint8_t { greatest, l1, l2 };
Tensor normalized_rows(const TensorOperand& x, RowNorm norm);

enum class ScoreTransform : std::uint8_t {
  none,
  softmax,
  logistic,
  softmax_of_nonzero,  // scores of 0 (within 1e-7) stay 0 and count for nothing
  probit,              // the inverse of the normal distribution, to 2e-3
};
// Scores [rows, classes] as the transform makes them.
Tensor transformed_scores(const TensorOperand& scores, ScoreTransform transform);
// The scores of both of two classes by that of the second one, [rows, 1]: s beside 1 - s where it
// is a share, or -s; with a logistic transform those of -s and s, with other ones s and 1 - s.
Tensor scores_of_two(const TensorOperand& score, ScoreTransform transform, bool is_share);
// 1 for scores above 0, else -1.
Tensor signs_of_scores(const TensorOperand& scores);
// The label of the greatest score of each row, the first of equal ones: i64 [rows].
Tensor greatest_labels(const TensorOperand& scores, const std::vector<std::int64_t>& labels);

}  // namespace tilewright
