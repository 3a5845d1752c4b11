// Small ONNX models with inputs and what they give, many in one file: the node tests of the onnx
// package, versions 1.16.2 and 1.23 (Apache License 2.0), and models of control flow.
// tests/models/onnx/README.md says which.
#pragma once

#include <filesystem>
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
// The cases of "cases.zip" or another archive, by name. TILEWRIGHT_TEST_CASE names the only one, or
// a prefix.
std::vector<OnnxCase> onnx_cases(const std::string& archive);

enum class How { at_once, compiled, as_one_graph };
// The problem with the case, in words, or nothing; its model is written to `path`.
std::string what_is_wrong(const OnnxCase& c, const std::filesystem::path& path, How how);

// The unsupported cases, by name, with the reason: docs/unsupported_onnx.txt.
const std::map<std::string, std::string>& unsupported_onnx_cases();

// How outputs differ from those of the package, or nothing. Integers and flags must be equal.
std::string onnx_difference(const std::vector<Tensor>& got, const std::vector<Tensor>& expected);

}  // namespace tilewright::testing
