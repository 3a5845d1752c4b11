// Models and the arguments of their steps, as the benches of whole steps need them.
#pragma once

#include <memory>

#include "models/decoder/decoder.h"
#include "tools/bench/section.h"

namespace tilewright::tools {

struct StepSizes {
  std::int64_t context, cache;        // positions: where a step decodes, and of the cache
  std::vector<std::int64_t> prompts;  // rows
};
StepSizes step_sizes(const BenchSettings& settings);
std::vector<std::string> model_names(const BenchSettings& settings);

// Where tensors of the benches lie: the GPU, or the host.
Device device_of_tensors(const BenchSettings& settings);

// How the weights of a model are kept.
struct WeightCase {
  const char* name;  // in those of cases; "" is bf16, else it ends in a space
  std::optional<QuantizeOptions> quantized;

  double bytes() const;  // of a weight, with its part of a scale
  // Rounding activations makes no difference to a step of one row.
  bool has_own_step() const {
    return !quantized || quantized->activations == Activations::floating;
  }
};
// Those that a bench of this model on this device has.
std::vector<WeightCase> weight_cases(const DecoderConfig& config, const BenchSettings& settings);

// Normal random numbers, drawn on the device: the host's memory for them is never touched.
void fill_parameters(Module& model, DType dtype, const BenchSettings& settings);
// A model whose parameters lie on the device from the beginning: the host's memory for them is
// never touched. bf16, normal random numbers, then quantised if that is wanted.
std::unique_ptr<Decoder> model_on_device(const std::string& name, const WeightCase& weights,
                                         const BenchSettings& settings);
Tensor ids_of(std::int64_t rows, const DecoderConfig& config,
              const Device& device);                              // i64 [1, rows]
Tensor position_of(std::int64_t position, const Device& device);  // i64 [1]

// The question for adapters (peer.h): a step of `rows` at the context, or from 0 for more than one;
// all rows of `batch` texts.
nlohmann::json llama_question(const DecoderConfig& config, std::int64_t rows,
                              const StepSizes& sizes);
nlohmann::json gpt2_question(const DecoderConfig& config, std::int64_t batch, std::int64_t rows);

}  // namespace tilewright::tools
