// Scores of classifiers as ai.onnx.ml gives them: transformed, and with labels.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/onnx/program/call.h"

namespace tilewright::onnx {

// By the attribute "post_transform".
Tensor transformed(const Call& call, const Tensor& scores);

// The scores of two classes by that of the second one [rows, 1], as ONNX Runtime has them: with a
// logistic transform those of -s and s, and else s beside 1 - s, where `is_share`, or -s.
Tensor both_scores(const Call& call, const Tensor& score, bool is_share);

// Labels that are integers; those that are texts have no dtype here and are refused.
std::vector<std::int64_t> labels_of(const Call& call, std::string_view integers,
                                    std::string_view texts);
Tensor labelled(const Tensor& number, const std::vector<std::int64_t>& labels);

Tensor list_of_floats(const std::vector<double>& numbers);
Tensor samples_of(const Call& call);  // floats, but f32 for f64

}  // namespace tilewright::onnx
