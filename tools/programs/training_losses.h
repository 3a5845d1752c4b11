// Losses of networks in training, small in width and whole in structure: what compiling a function
// costs beside compiling it with its gradients depends on their layers alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::tools {

struct TrainingLoss {
  std::vector<Tensor> parameters, data;  // random numbers from a fixed seed, and a batch
  std::function<Tensor(const std::vector<Tensor>& parameters, const std::vector<Tensor>& data)>
      loss;
};

// GPT-2 with 64 channels, 4 heads, 256 words and 2 x 64 tokens.
TrainingLoss gpt2_loss(std::int64_t layers);
// ResNet-18 with a quarter of its channels and 2 images of 3 x 64 x 64, normalised by the
// statistics of the batch.
TrainingLoss resnet18_loss();

}  // namespace tilewright::tools
