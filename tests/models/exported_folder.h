// Exported programs as files of a folder, for tests that load them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "models/exported/exported_module.h"
#include "tests/errors.h"
#include "tests/models/exported_files.h"
#include "tests/models/folders.h"

namespace tilewright::testing_exported {

using testing::argument;
using testing::exported_file;
using testing::node;
using testing::ProgramText;
using testing::tensor_argument;
using testing::tensor_facts;

class Exported : public ::testing::Test {
 protected:
  std::unique_ptr<ExportedModule> load(const std::string& bytes,
                                       const ExportedOptions& options = {}) {
    return load_exported(folder_.write("net.pt2", bytes), options);
  }
  std::string error_of_file(const std::string& bytes) {
    return error_of([&] { load(bytes); });
  }
  std::string error_of_weights(const std::string& table) {
    return error_of_file(exported_file({}, {{"data/weights/model_weights_config.json", table}}));
  }
  ScratchFolder folder_;
};

// x -> x * 2, of [s0, 3].
inline ProgramText of_any_rows() {
  ProgramText program;
  program.inputs = R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})";
  program.tensors =
      R"("x": )" +
      tensor_facts(R"x([{"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)",
                           "hint": {"as_int": 4}}}, {"as_int": 3}])x");
  program.ranges = R"("s0": {"min_val": 2, "max_val": 8})";
  program.nodes = node("torch.ops.aten.mul.Tensor",
                       {tensor_argument("self", "x"), argument("other", R"({"as_int": 2})")}, "y");
  return program;
}

}  // namespace tilewright::testing_exported
