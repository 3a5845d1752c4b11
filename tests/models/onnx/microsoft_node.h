// Models of one node of com.microsoft, and the error from one whose inputs do not fit.
#pragma once

#include <string>
#include <vector>

#include "models/onnx/onnx_module.h"
#include "runtime/base/error.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::testing_microsoft {

using namespace testing::onnx;

// A tensor of zeros, but where it has one element, which is given.
struct Input {
  std::vector<std::int64_t> sizes;
  int dtype = is_float;
  std::int64_t value = 1;
  bool is_missing = false;
};
constexpr int is_u8 = 2, is_i8 = 3, is_i32 = 6;
inline const Input missing = {{}, is_float, 0, true};

inline std::string error_of(std::string_view op, const std::vector<Input>& inputs,
                            const std::string& attributes = {},
                            std::string_view domain = "com.microsoft",
                            const std::vector<std::string>& outputs = {"y"}) {
  GraphParts parts;
  std::vector<std::string> names;
  for (const Input& input : inputs) {
    names.push_back(input.is_missing ? "" : concat("x", names.size()));
    if (input.is_missing) continue;
    std::int64_t count = 1;
    for (std::int64_t size : input.sizes) count *= size;
    const std::int64_t element = input.dtype == is_float || input.dtype == is_i32 ? 4
                                 : input.dtype == is_int64                        ? 8
                                                                                  : 1;
    std::string raw(static_cast<std::size_t>(count * element), '\0');
    if (count == 1 && input.dtype != is_float)
      for (std::size_t i = 0; i < raw.size(); ++i)
        raw[i] = static_cast<char>(static_cast<std::uint64_t>(input.value) >> (8 * i));
    parts.tensors.push_back(tensor(names.back(), input.sizes, raw, input.dtype));
  }
  parts.nodes = {node(op, names, outputs, attributes + bytes(7, domain))};
  for (const std::string& output : outputs) parts.outputs.push_back(bytes(1, output));
  ScratchFolder folder;
  try {
    load_onnx(folder.write("model.onnx", model(graph_of(parts))))->forward({});
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

inline const Input one = {{}}, u8_zero = {{}, is_u8, 0}, u8_matrix = {{3, 4}, is_u8};

}  // namespace tilewright::testing_microsoft
