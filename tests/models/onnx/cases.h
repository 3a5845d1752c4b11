// The node tests of the onnx package, version 1.16.2 (Apache License 2.0), in one file: a model of
// a node or a few, inputs, and what they give. tests/models/onnx/README.md says which.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::testing {

struct OnnxCase {
  std::string name;                          // "test_add"
  std::string model;                         // the bytes of its file
  std::vector<std::string> inputs, outputs;  // likewise
};
// By name. TILEWRIGHT_TEST_CASE names the only one, or a prefix.
std::vector<OnnxCase> onnx_cases();

// What is not supported, by name, with the reason: docs/unsupported_onnx.txt.
const std::map<std::string, std::string>& unsupported_onnx_cases();

// How outputs differ from those of the package, or nothing. Integers and flags must be equal.
std::string onnx_difference(const std::vector<Tensor>& got, const std::vector<Tensor>& expected);

}  // namespace tilewright::testing
