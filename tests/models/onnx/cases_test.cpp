// ONNX models compute what the onnx package says of each operator. What is not supported stands in
// docs/unsupported_onnx.txt; whatever is neither right nor there fails, and so does a line there
// that is not true any more. TILEWRIGHT_TEST_CASE=test_add runs the cases of that prefix alone.
#include "tests/models/onnx/cases.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <map>

#include "graph/compile/compile.h"
#include "models/onnx/file/model.h"
#include "models/onnx/onnx_module.h"
#include "runtime/base/error.h"
#include "tests/scratch_folder.h"

namespace tilewright {
namespace {

using testing::onnx_cases;
using testing::onnx_difference;
using testing::OnnxCase;
using testing::unsupported_onnx_cases;

enum class How { at_once, compiled };

// The package has floats of 16 bits that end early as integers of as many bits.
Tensor as_dtype(const Tensor& given, DType dtype) {
  if (dtype != bf16 || given.dtype() != u16) return given;
  return Tensor::from_bytes(given.const_data(), given.count() * 2, given.shape(), bf16);
}

// What is wrong with the case, in words, or nothing.
std::string wrong(const OnnxCase& c, const std::filesystem::path& path, How how) try {
  std::ofstream(path, std::ios::binary) << c.model;
  auto module = load_onnx(path);
  std::vector<Tensor> inputs, outputs;
  for (const std::string& bytes : c.inputs) {
    Tensor input = onnx::read_tensor(bytes, c.name);
    bool is_known = inputs.size() < module->inputs().size();
    inputs.push_back(is_known ? as_dtype(input, module->inputs()[inputs.size()].dtype) : input);
  }
  auto fast = compile(*module);
  std::vector<Tensor> got = how == How::compiled ? fast(inputs) : module->forward(inputs);
  for (const std::string& bytes : c.outputs) {
    Tensor output = onnx::read_tensor(bytes, c.name);
    bool is_known = outputs.size() < got.size();
    outputs.push_back(is_known ? as_dtype(output, got[outputs.size()].dtype()) : output);
  }
  return onnx_difference(got, outputs);
} catch (const std::exception& error) {
  return error.what();
}

void check_all(How how) {
  std::vector<OnnxCase> cases = onnx_cases();
  ASSERT_FALSE(cases.empty());
  ScratchFolder folder;
  int right = 0;
  for (const OnnxCase& c : cases) {
    std::string found = wrong(c, folder.path() / "model.onnx", how);
    bool is_excused = unsupported_onnx_cases().contains(c.name);
    right += found.empty();
    EXPECT_TRUE(found.empty() || is_excused)
        << c.name << ": " << found << "\n  repeat: TILEWRIGHT_TEST_CASE=" << c.name;
    EXPECT_FALSE(found.empty() && is_excused) << c.name << " is right, and listed as unsupported";
  }
  std::cout << right << " of " << cases.size() << " cases agree\n";
}

TEST(SlowOnnxCases, AtOnceComputeWhatThePackageSays) { check_all(How::at_once); }
TEST(SlowOnnxCases, CompiledComputeWhatThePackageSays) { check_all(How::compiled); }

}  // namespace
}  // namespace tilewright
