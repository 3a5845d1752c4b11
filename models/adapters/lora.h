// Adapters as PEFT's save_pretrained writes them: a folder with adapter_config.json and
// adapter_model.safetensors, whose tensors are updates of low rank of a model's linear layers
// (LoRA), their lengths (DoRA), biases, and whole parameters that were trained with them.
//
// The tensors of the file decide which layers change; the settings give the scale of each. A
// setting that would change the result and is not known here is refused by its name.
#pragma once

#include <filesystem>
#include <source_location>

#include "models/layers/module.h"

namespace tilewright {

struct AdapterOptions {
  bool merge = false;  // add updates to the weights, which costs no time later; else beside them
  bool links_may_leave = false;  // follow symbolic links out of the folder, to anywhere
};

// Adds the adapter to the model, under whose names PEFT knows it. Functions compiled from the model
// before are compiled again. Raises `Error` "[load_adapter] ..." that names the tensor or the
// setting, its value, and what would be right.
void load_adapter(Module& model, const std::filesystem::path& folder, AdapterOptions options = {});

}  // namespace tilewright
