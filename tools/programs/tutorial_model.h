// The model of PyTorch's tutorial on regional compilation: a linear layer, then 64 equal layers.
// What `bench regional`, `explain` and `demo` show.
#pragma once

#include "models/layers/containers.h"
#include "models/layers/layers.h"

namespace tilewright::tools {

struct TutorialLayer : Module {
  TutorialLayer() {
    register_module("linear1", linear1);
    register_module("linear2", linear2);
  }
  Tensor forward(const Tensor& x) const { return relu(linear2(sigmoid(relu(linear1(x))))); }
  Linear linear1{10, 10}, linear2{10, 10};
};

struct TutorialModel : Module {
  explicit TutorialModel(std::size_t count) : layers(Sequential::repeat<TutorialLayer>(count)) {
    register_module("linear", linear);
    register_module("layers", layers);
  }
  Tensor forward(const Tensor& x) const { return layers(linear(x)); }
  Linear linear{10, 10};
  Sequential layers;
};

// [10, 10], the tutorial's input, from a fixed seed.
Tensor tutorial_input();

}  // namespace tilewright::tools
