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
  explicit Flatten(int first = 1, int last = -1)
      : FunctionLayer([=](const Tensor& x) { return flatten(x, first, last); }) {}
};

class Relu : public FunctionLayer {
 public:
  Relu() : FunctionLayer([](const Tensor& x) { return relu(x); }) {}
};
class LeakyRelu : public FunctionLayer {
 public:
  explicit LeakyRelu(double negative_slope = 0.01)
      : FunctionLayer([=](const Tensor& x) { return leaky_relu(x, negative_slope); }) {}
};
class Elu : public FunctionLayer {
 public:
  explicit Elu(double alpha = 1) : FunctionLayer([=](const Tensor& x) { return elu(x, alpha); }) {}
};
class Gelu : public FunctionLayer {
 public:
  explicit Gelu(GeluForm form = GeluForm::erf)
      : FunctionLayer([=](const Tensor& x) { return gelu(x, form); }) {}
};
class Silu : public FunctionLayer {
 public:
  Silu() : FunctionLayer([](const Tensor& x) { return silu(x); }) {}
};
class Hardswish : public FunctionLayer {
 public:
  Hardswish() : FunctionLayer([](const Tensor& x) { return hardswish(x); }) {}
};
class Sigmoid : public FunctionLayer {
 public:
  Sigmoid() : FunctionLayer([](const Tensor& x) { return sigmoid(x); }) {}
};
class Tanh : public FunctionLayer {
 public:
  Tanh() : FunctionLayer([](const Tensor& x) { return tanh(x); }) {}
};
class Softplus : public FunctionLayer {
 public:
  explicit Softplus(double beta = 1, double threshold = 20)
      : FunctionLayer([=](const Tensor& x) { return softplus(x, beta, threshold); }) {}
};
class Mish : public FunctionLayer {
 public:
  Mish() : FunctionLayer([](const Tensor& x) { return mish(x); }) {}
};
class Relu6 : public FunctionLayer {
 public:
  Relu6() : FunctionLayer([](const Tensor& x) { return relu6(x); }) {}
};
class Softmax : public FunctionLayer {
 public:
  explicit Softmax(int axis) : FunctionLayer([=](const Tensor& x) { return softmax(x, axis); }) {}
};

// Pools over the last two axes of [N, C, height, width]; a stride that is not given is the kernel.
class MaxPool2d : public FunctionLayer {
 public:
  using Options = MaxPoolOptions;
  explicit MaxPool2d(Shape kernel, MaxPoolOptions options = {})
      : FunctionLayer([=](const Tensor& x) { return max_pool2d(x, kernel, options); }) {}
  explicit MaxPool2d(std::int64_t kernel, MaxPoolOptions options = {})
      : MaxPool2d(Shape{kernel}, std::move(options)) {}
};
// Over the last three axes of [N, C, depth, height, width].
class MaxPool3d : public FunctionLayer {
 public:
  using Options = MaxPoolOptions;
  explicit MaxPool3d(Sizes kernel, MaxPoolOptions options = {})
      : FunctionLayer([=](const Tensor& x) { return max_pool3d(x, kernel, options); }) {}
};
class AvgPool2d : public FunctionLayer {
 public:
  using Options = AveragePoolOptions;
  explicit AvgPool2d(Shape kernel, AveragePoolOptions options = {})
      : FunctionLayer([=](const Tensor& x) { return avg_pool2d(x, kernel, options); }) {}
  explicit AvgPool2d(std::int64_t kernel, AveragePoolOptions options = {})
      : AvgPool2d(Shape{kernel}, std::move(options)) {}
};
// Into so many parts along each of both axes.
class AdaptiveAvgPool2d : public FunctionLayer {
 public:
  explicit AdaptiveAvgPool2d(Shape parts)
      : FunctionLayer([=](const Tensor& x) { return adaptive_avg_pool2d(x, parts); }) {}
  explicit AdaptiveAvgPool2d(std::int64_t parts) : AdaptiveAvgPool2d(Shape{parts, parts}) {}
};
class Upsample : public FunctionLayer {
 public:
  explicit Upsample(InterpolateOptions options)
      : FunctionLayer([=](const Tensor& x) { return interpolate(x, options); }) {}
};

}  // namespace tilewright
