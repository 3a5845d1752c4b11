// Adapters as PEFT's save_pretrained writes them: a folder with adapter_config.json and
// adapter_model.safetensors, whose tensors are updates of low rank of a model's linear layers
// (LoRA), their lengths (DoRA), biases, and whole parameters that were trained with them.
//
// The tensors of the file decide which layers change; the settings give the scale of each. A
// setting that would change the result and is not known here is refused by its name.
#pragma once

#include <filesystem>
#include <string>

#include "models/layers/layers.h"

namespace tilewright {

struct AdapterOptions {
  bool merge = false;  // add updates to the weights, which costs no time later; else beside them
  bool links_may_leave = false;  // follow symbolic links out of the folder, to anywhere
};

// Adds the adapter to the model, under whose names PEFT knows it. Functions compiled from the model
// before are compiled again. Raises `Error` "[load_adapter] ..." that names the tensor or the
// setting, its value, and what would be right.
void load_adapter(Module& model, const std::filesystem::path& folder, AdapterOptions options = {});

// The ranks that a folder's adapter takes of a bank at the most in a layer (bank/adapter_bank.h).
// Raises `Error` as `load_adapter` does.
std::int64_t ranks_of_adapter(const std::filesystem::path& folder, bool links_may_leave = false);

namespace adapters {

// An update of a linear layer as a folder has it, f32 on the host.
struct ReadUpdate {
  std::string path;  // of the layer
  Tensor a, b;       // [rank, in], [out, rank]
  double scale;      // of their product
  Tensor factors;    // [out]: of DoRA, by which rows of the changed weight get their lengths
};

// Takes what a folder changes.
class AdapterSink {
 public:
  virtual ~AdapterSink() = default;
  virtual void update(Linear& layer, const ReadUpdate& update) = 0;
  // True if biases, embeddings and whole parameters are changed in the model itself. False: biases
  // of linear layers go to `bias`, as f32 [out], and other changes are an Error.
  virtual bool takes_other_changes() const { return true; }
  virtual void bias(const Linear& layer, const std::string& path, const Tensor& values);
};

// Reads a folder for `load_adapter` and for banks (bank/adapter_bank.h), whose errors it raises.
void read_adapter(Module& model, const std::filesystem::path& folder, bool links_may_leave,
                  AdapterSink& sink);

}  // namespace adapters

}  // namespace tilewright
