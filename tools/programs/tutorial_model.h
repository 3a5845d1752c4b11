// The model of PyTorch's tutorial on regional compilation: a linear layer, then 64 equal layers.
// `bench regional`, `explain` and `demo` show it.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "graph/compile/region.h"
#include "models/layers/compile_regions.h"
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

// The same with each layer marked as a region by the author of the model.
struct MarkedTutorialModel : Module {
  explicit MarkedTutorialModel(std::size_t count, const Options& options = {}) {
    register_module("linear", linear);
    register_module("layers", layers);
    for (std::size_t i = 0; i < count; ++i)
      regions.push_back(region("layer", layers.add(), options));
  }
  Tensor forward(const Tensor& x) const {
    Tensor y = linear(x);
    for (const Compiled& layer : regions) y = layer(y);
    return y;
  }
  Linear linear{10, 10};
  ModuleList<TutorialLayer> layers;
  std::vector<Compiled> regions;
};

// How layers come to be compiled once: found by compile() itself, by compile_regions, by marks; or
// each a function of its own that an uncompiled model calls.
enum class Regions : std::uint8_t { automatic, compile_regions, marks, calls };
inline constexpr std::array<std::string_view, 4> regions_names = {"automatic", "compile_regions",
                                                                  "marks", "calls"};

// The tutorial's model of `layers` layers, compiled.
class TutorialByRegions {
 public:
  TutorialByRegions(std::size_t layers, Regions regions, const Options& options);
  Tensor operator()(const Tensor& x) const;
  // The plans of each compiled function, the first of which is not a layer.
  std::vector<PlanReport> reports() const;

 private:
  std::unique_ptr<Module> model_;
  std::vector<Compiled> functions_;  // of the model, or of its linear layer and its layers
};

// [10, 10], the tutorial's input, from a fixed seed.
Tensor tutorial_input();

}  // namespace tilewright::tools
