// Forests of decision trees, as the attributes of TreeEnsembleClassifier and TreeEnsembleRegressor
// say them: lists in which each entry is a node of a tree, or a weight of a leaf.
//
// A forest is computed for all samples and trees at once, one level of the trees after the other:
// each sample is at a node of each tree, whose feature is compared with its value, and goes on to
// one of two others; at a leaf it stays. So it is a program of tensors like any other.
#pragma once

#include <string>

#include "models/onnx/program/call.h"

namespace tilewright::onnx {

// The weights that each sample gets of the leaves that it comes to, [samples, trees, columns];
// `weights` is the prefix of the attributes of the leaves' weights: "class" or "target". Raises
// `Error` for lists of unequal lengths and for nodes that make no trees.
Tensor forest_weights(const Call& call, const std::string& weights, std::int64_t columns);

}  // namespace tilewright::onnx
