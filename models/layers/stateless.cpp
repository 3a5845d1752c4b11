#include "models/layers/stateless.h"

#include "graph/ir/user_call.h"

namespace tilewright {

Tensor FunctionLayer::forward(const Tensor& x, std::source_location w) const {
  return graph::of_user_call("layer", w, [&] { return function_(x); });
}

Flatten::Flatten(int first, int last)
    : FunctionLayer([=](const Tensor& x) { return flatten(x, first, last); }) {}

Relu::Relu() : FunctionLayer([](const Tensor& x) { return relu(x); }) {}

LeakyRelu::LeakyRelu(double negative_slope)
    : FunctionLayer([=](const Tensor& x) { return leaky_relu(x, negative_slope); }) {}

Elu::Elu(double alpha) : FunctionLayer([=](const Tensor& x) { return elu(x, alpha); }) {}

Gelu::Gelu(GeluForm form) : FunctionLayer([=](const Tensor& x) { return gelu(x, form); }) {}

Silu::Silu() : FunctionLayer([](const Tensor& x) { return silu(x); }) {}

Hardswish::Hardswish() : FunctionLayer([](const Tensor& x) { return hardswish(x); }) {}

Sigmoid::Sigmoid() : FunctionLayer([](const Tensor& x) { return sigmoid(x); }) {}

Tanh::Tanh() : FunctionLayer([](const Tensor& x) { return tanh(x); }) {}

Softplus::Softplus(double beta, double threshold)
    : FunctionLayer([=](const Tensor& x) { return softplus(x, beta, threshold); }) {}

Mish::Mish() : FunctionLayer([](const Tensor& x) { return mish(x); }) {}

Relu6::Relu6() : FunctionLayer([](const Tensor& x) { return relu6(x); }) {}

Softmax::Softmax(int axis) : FunctionLayer([=](const Tensor& x) { return softmax(x, axis); }) {}

MaxPool2d::MaxPool2d(Shape kernel, MaxPoolOptions options)
    : FunctionLayer([=](const Tensor& x) { return max_pool2d(x, kernel, options); }) {}

MaxPool3d::MaxPool3d(Sizes kernel, MaxPoolOptions options)
    : FunctionLayer([=](const Tensor& x) { return max_pool3d(x, kernel, options); }) {}

AvgPool2d::AvgPool2d(Shape kernel, AveragePoolOptions options)
    : FunctionLayer([=](const Tensor& x) { return avg_pool2d(x, kernel, options); }) {}

AdaptiveAvgPool2d::AdaptiveAvgPool2d(Shape parts)
    : FunctionLayer([=](const Tensor& x) { return adaptive_avg_pool2d(x, parts); }) {}

Upsample::Upsample(InterpolateOptions options)
    : FunctionLayer([=](const Tensor& x) { return interpolate(x, options); }) {}

MaxPool2d::MaxPool2d(std::int64_t kernel, MaxPoolOptions options)
    : MaxPool2d(Shape{kernel}, std::move(options)) {}

AvgPool2d::AvgPool2d(std::int64_t kernel, AveragePoolOptions options)
    : AvgPool2d(Shape{kernel}, std::move(options)) {}

AdaptiveAvgPool2d::AdaptiveAvgPool2d(std::int64_t parts) : AdaptiveAvgPool2d(Shape{parts, parts}) {}

}  // namespace tilewright
