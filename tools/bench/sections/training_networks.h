// Networks in training, for the section training: each with a loss of two tensors, a batch, and the
// sizes by which adapters (tools/peers/torch_training.py) build the same.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/optimizers/optimizer.h"

namespace tilewright::tools {

struct TrainedNetwork {
  std::string name;
  nlohmann::json question;  // for adapters: network, sizes, and "clip" where gradients are clipped
  std::shared_ptr<Module> module;
  std::function<Tensor(const Tensor& x, const Tensor& y)> loss;
  Tensor x, y;
  std::unique_ptr<Optimizer> optimizer;
  double clip = 0;  // the limit of the global norm; 0: none
};

// Networks are made one after the other, since the largest takes 2 GB.
using NetworkMaker = std::function<TrainedNetwork()>;
std::vector<std::pair<std::string, NetworkMaker>> training_networks(bool tiny);

}  // namespace tilewright::tools
