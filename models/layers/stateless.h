// Layers without parameters, for a Sequential: functions of one tensor under the names of PyTorch's
// modules.
//
//   Sequential net;
//   net.add<Conv2d>(3, 16, 3);
//   net.add<Relu>();
//   net.add<MaxPool2d>(2);
//   net.add<Apply>([](const Tensor& x) { return x * 2.0; });
#pragma once

#include <functional>
#include <source_location>
#include <utility>

#include "graph/functions/pointwise/activations.h"
#include "graph/functions/pooling/adaptive_pooling.h"
#include "graph/functions/pooling/pooling.h"
#include "graph/functions/resampling/interpolate.h"
#include "graph/functions/shaping/axes.h"
#include "graph/tensor/tensor.h"
#include "models/layers/module.h"

namespace tilewright {

// A function as a layer. It is called at each capture and, without compile(), at each call.
class Apply : public Module {
 public:
  explicit Apply(std::function<Tensor(const Tensor& x)> function)
      : function_(std::move(function)) {}
  Tensor forward(const Tensor& x) const { return function_(x); }
  Tensor operator()(const Tensor& x) const { return forward(x); }

 private:
  std::function<Tensor(const Tensor& x)> function_;
};

// A function of the library as a layer: its errors and nodes have the line of the layer's call.
class FunctionLayer : public Module {
 public:
  Tensor forward(const Tensor& x, std::source_location w = std::source_location::current()) const;
  Tensor operator()(const Tensor& x,
                    std::source_location w = std::source_location::current()) const {
    return forward(x, w);
  }

 protected:
  explicit FunctionLayer(std::function<Tensor(const Tensor& x)> function)
      : function_(std::move(function)) {}

 private:
  std::function<Tensor(const Tensor& x)> function_;
};

class Identity : public Module {
 public:
  Tensor forward(const Tensor& x) const { return x; }
  Tensor operator()(const Tensor& x) const { return x; }
};

// Makes one axis of those from `first` to `last`.
class Flatten : public FunctionLayer {
 public:
  explicit Flatten(int first = 1, int last = -1);
};

class Relu : public FunctionLayer {
 public:
  Relu();
};
class LeakyRelu : public FunctionLayer {
 public:
  explicit LeakyRelu(double negative_slope = 0.01);
};
class Elu : public FunctionLayer {
 public:
  explicit Elu(double alpha = 1);
};
class Gelu : public FunctionLayer {
 public:
  explicit Gelu(GeluForm form = GeluForm::erf);
};
class Silu : public FunctionLayer {
 public:
  Silu();
};
class Hardswish : public FunctionLayer {
 public:
  Hardswish();
};
class Sigmoid : public FunctionLayer {
 public:
  Sigmoid();
};
class Tanh : public FunctionLayer {
 public:
  Tanh();
};
class Softplus : public FunctionLayer {
 public:
  explicit Softplus(double beta = 1, double threshold = 20);
};
class Mish : public FunctionLayer {
 public:
  Mish();
};
class Relu6 : public FunctionLayer {
 public:
  Relu6();
};
class Softmax : public FunctionLayer {
 public:
  explicit Softmax(int axis);
};

// Pools over the last two axes of [N, C, height, width]; a stride that is not given is the kernel.
class MaxPool2d : public FunctionLayer {
 public:
  using Options = MaxPoolOptions;
  explicit MaxPool2d(Shape kernel, MaxPoolOptions options = {});
  explicit MaxPool2d(std::int64_t kernel, MaxPoolOptions options = {});
};
// Over the last three axes of [N, C, depth, height, width].
class MaxPool3d : public FunctionLayer {
 public:
  using Options = MaxPoolOptions;
  explicit MaxPool3d(Sizes kernel, MaxPoolOptions options = {});
};
class AvgPool2d : public FunctionLayer {
 public:
  using Options = AveragePoolOptions;
  explicit AvgPool2d(Shape kernel, AveragePoolOptions options = {});
  explicit AvgPool2d(std::int64_t kernel, AveragePoolOptions options = {});
};
// Into so many parts along each of both axes.
class AdaptiveAvgPool2d : public FunctionLayer {
 public:
  explicit AdaptiveAvgPool2d(Shape parts);
  explicit AdaptiveAvgPool2d(std::int64_t parts);
};
class Upsample : public FunctionLayer {
 public:
  explicit Upsample(InterpolateOptions options);
};

}  // namespace tilewright
