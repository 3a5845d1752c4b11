#include "models/formats/quantised_folder.h"

#include <algorithm>

#include "models/formats/stored_parts.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using formats::Folder;
using formats::formats_operation;

struct Method {
  std::string_view name;
  void (*add)(const Folder& folder);
};
constexpr Method methods[] = {
    {"bitsandbytes", formats::add_bitsandbytes},
    {"gptq", formats::add_gptq},
    {"awq", formats::add_awq},
    {"compressed-tensors", formats::add_compressed_tensors},
    {"fp8", formats::add_block_float8},
    {"mxfp4", formats::add_mxfp4},
};

// The type of the weights that are not quantised, and to which most methods round the others.
DType dtype_of_model(const ConfigFields& fields) {
  const std::string_view name = fields.has("dtype") ? "dtype" : "torch_dtype";
  return formats::dtype_setting(fields, name, "float32");
}

}  // namespace

Weights dequantised_weights(Weights weights, const ConfigFields& fields) {
  std::optional<ConfigFields> config = fields.object("quantization_config");
  if (!config) return weights;
  std::string name = config->text("quant_method"), known;
  for (const Method& method : methods) known += concat(known.empty() ? "" : ", ", method.name);
  const auto* method = std::ranges::find(methods, name, &Method::name);
  if (method == std::end(methods))
    formats::refuse_setting(*config, "quant_method", name, concat("known are ", known));
  Weights result = weights;
  method->add({weights, *config, dtype_of_model(fields), result});
  return result;
}

}  // namespace tilewright
