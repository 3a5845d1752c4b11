// Small exported programs as PyTorch would write them, for tests: JSON by parts, and archives.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/models/zip_archive.h"

namespace tilewright::testing {

// A tensor's description: f32 (7), sizes as JSON ("{\"as_int\": 2}", ...).
inline std::string sizes_of(const std::vector<int>& sizes) {
  std::string text;
  for (int size : sizes)
    text += (text.empty() ? "" : ", ") + ("{\"as_int\": " + std::to_string(size) + "}");
  return "[" + text + "]";
}
inline std::string tensor_facts(const std::string& sizes, int dtype = 7,
                                const std::string& strides = "[]", int offset = 0) {
  return R"({"dtype": )" + std::to_string(dtype) + R"(, "sizes": )" + sizes +
         R"(, "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": )" +
         strides + R"(, "storage_offset": {"as_int": )" + std::to_string(offset) +
         R"(}, "layout": 7})";
}

inline std::string tensor_argument(const std::string& name, const std::string& tensor) {
  return R"({"name": ")" + name + R"(", "arg": {"as_tensor": {"name": ")" + tensor +
         R"("}}, "kind": 1})";
}
inline std::string argument(const std::string& name, const std::string& value) {
  return R"({"name": ")" + name + R"(", "arg": )" + value + R"(, "kind": 1})";
}
inline std::string node(const std::string& target, const std::vector<std::string>& arguments,
                        const std::string& result) {
  std::string inputs;
  for (const std::string& each : arguments) inputs += (inputs.empty() ? "" : ", ") + each;
  return R"({"target": ")" + target + R"(", "inputs": [)" + inputs +
         R"(], "outputs": [{"as_tensor": {"name": ")" + result +
         R"("}}], "metadata": {"stack_trace": "net.py\", line 7, in forward\n    y"}, "name": ")" +
         result + R"("})";
}

// The parts of model.json; by default y = x + w of f32 [2], w a parameter "net.weight".
struct ProgramText {
  std::string inputs =
      R"({"parameter": {"arg": {"name": "p_w"}, "parameter_name": "net.weight"}},
         {"user_input": {"arg": {"as_tensor": {"name": "x"}}}})";
  std::string outputs = R"({"user_output": {"arg": {"as_tensor": {"name": "y"}}}})";
  std::string nodes = node("torch.ops.aten.add.Tensor",
                           {tensor_argument("self", "x"), tensor_argument("other", "p_w")}, "y");
  std::string tensors =
      R"("x": )" + tensor_facts(sizes_of({2})) + R"(, "p_w": )" + tensor_facts(sizes_of({2}));
  std::string ranges = "";
  std::string version = R"({"major": 8, "minor": 20})";

  std::string text() const {
    return R"({"graph_module": {"graph": {"inputs": [], "outputs": [], "nodes": [)" + nodes +
           R"(], "tensor_values": {)" + tensors + R"(}, "sym_int_values": {}},
              "signature": {"input_specs": [)" +
           inputs + R"(], "output_specs": [)" + outputs + R"(]}}, "range_constraints": {)" +
           ranges + R"(}, "schema_version": )" + version + R"(, "torch_version": "2.15.0"})";
  }
};

inline std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}
inline std::string weights_table(const std::string& rows) {
  return R"({"config": {)" + rows + "}}";
}
inline std::string weight_row(const std::string& name, const std::string& path,
                              const std::string& facts, bool is_pickled = false) {
  return '"' + name + R"(": {"path_name": ")" + path + R"(", "is_param": true, "use_pickle": )" +
         (is_pickled ? "true" : "false") + R"(, "tensor_meta": )" + facts + "}";
}

// An archive; entries of the same name in `others` take the place of the usual ones.
inline std::string exported_file(const ProgramText& program = {},
                                 const std::map<std::string, std::string>& others = {}) {
  std::map<std::string, std::string> entries = {
      {"archive_format", "pt2"},
      {"byteorder", "little"},
      {"data/weights/weight_0", bytes_of({10, 20})},
      {"data/weights/model_weights_config.json",
       weights_table(
           weight_row("net.weight", "weight_0", tensor_facts(sizes_of({2}), 7, sizes_of({1}))))},
      {"models/model.json", program.text()}};
  for (const auto& [name, content] : others) entries[name] = content;
  std::vector<ZipEntry> files;
  for (const auto& [name, content] : entries)
    files.push_back({.name = "net/" + name, .content = content});
  return zip_archive(files, 64);
}

}  // namespace tilewright::testing
