#include "tools/programs/model_programs.h"

#include <fmt/format.h>

#include "models/exported/exported_module.h"
#include "models/onnx/onnx_module.h"

namespace tilewright::tools {

bool is_onnx(const std::string& path) { return path.ends_with(".onnx"); }

bool is_package(const std::string& path) { return path.ends_with(".twp"); }

ProgramSummary summary_of(const std::string& path, const Constants& constants) {
  return is_onnx(path) ? inspect_onnx(path, {.constants = constants})
                       : inspect_exported(path, {.constants = constants});
}

Constants constants_of(const std::string& path, const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  return parse_constants(texts, summary_of(path, {}).inputs);
}

std::string sizes_text(const ProgramInput& input) {
  std::string text;
  for (int axis = 0; axis < input.shape.rank(); ++axis) {
    std::string size = std::to_string(input.shape[axis]);
    for (const DynamicAxis& dynamic : input.dynamic)
      if (dynamic.axis == axis)
        size = fmt::format("{} ({} to {})", dynamic.size, dynamic.min,
                           dynamic.max == INT64_MAX ? "any" : std::to_string(dynamic.max));
    text += (text.empty() ? "" : ", ") + size;
  }
  return text;
}

std::string integer_text(const ProgramInput& input) {
  if (!input.integer) return "";
  const auto& [size, min, max] = *input.integer;
  auto bound = [](std::int64_t value, std::int64_t none) {
    return value == none ? "any" : std::to_string(value);
  };
  return fmt::format(", the integer {} ({} to {})", size, bound(min, INT64_MIN),
                     bound(max, INT64_MAX));
}

}  // namespace tilewright::tools
