// The tensors that a quantised weight of a folder is stored in, read with their types and shapes
// checked. Every method of quantisation reads through this, so that errors are alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/files/config_fields.h"
#include "models/weights/weights.h"

namespace tilewright::formats {

inline constexpr std::string_view formats_operation = "quantised_folder";

// The arguments of a method's function: the tensors of the files, the settings, and the weights of
// the model, to which it adds.
struct Folder {
  const Weights& stored;
  const ConfigFields& config;  // quantization_config
  DType dtype;                 // of the model, by its config.json
  Weights& result;
  // The names that end so, without the ending.
  std::vector<std::string> stems(std::string_view ending) const;
  // Takes a stored tensor out of the result, if it is there.
  void consume(const std::string& name) const {
    if (stored.contains(name)) result.hide(name);
  }
};

// A stored tensor. Raises `Error` where it is missing, or is not of the dtype or the shape.
Tensor part(const Weights& stored, const std::string& name, const std::vector<DType>& dtypes,
            const std::optional<Shape>& shape = {});
// Checks without reading: dtype and shape of a tensor that is there.
void expect_part(const Weights& stored, const std::string& name, const std::vector<DType>& dtypes,
                 const std::optional<Shape>& shape = {});
std::vector<DType> scale_dtypes();  // floats of 16 and 32 bits
// A member that is PyTorch's name of such a float, "float32"; raises `Error` for another name.
DType dtype_setting(const ConfigFields& fields, std::string_view name, std::string_view missing);
std::vector<float> floats(const Tensor& tensor);  // of any floating dtype

[[noreturn]] void refuse_setting(const ConfigFields& config, std::string_view name,
                                 const std::string& value, std::string_view wanted);

// The methods.
void add_bitsandbytes(const Folder& folder);
void add_gptq(const Folder& folder);
void add_awq(const Folder& folder);
void add_compressed_tensors(const Folder& folder);
void add_block_float8(const Folder& folder);
void add_mxfp4(const Folder& folder);

}  // namespace tilewright::formats
