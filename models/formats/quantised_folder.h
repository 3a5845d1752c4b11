// Folders whose config.json has a quantization_config: their weights are stored as codes and
// scales under names of their own, and appear here as the weights that the model has.
//
// Each method of quantisation is a row of a table (quantised_folder.cpp) and a function that finds
// its tensors: bitsandbytes (4 and 8 bits), GPTQ, AWQ, compressed-tensors, fp8 in blocks and MXFP4.
// How codes become numbers is the matter of graph/quant. Activations are not quantised: a folder
// that asks for that is computed with those of the model's dtype.
#pragma once

#include <filesystem>
#include <string_view>

#include "models/files/config_fields.h"
#include "models/files/model_file.h"
#include "models/weights/weights.h"

namespace tilewright {

// `weights` are those of the files; `fields` is config.json. Raises `Error` "[quantised_folder]
// ..." that names the tensor or the member, its value and what is expected. Without a
// quantization_config the weights are returned as they are.
Weights dequantised_weights(Weights weights, const ConfigFields& fields);

}  // namespace tilewright
