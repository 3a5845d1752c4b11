#include "models/layers.h"

#include <cmath>

#include "models/random.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

void require_sizes(const char* layer, std::int64_t a, std::int64_t b = 1) {
  require(a > 0 && b > 0, "[", layer, "] sizes ", a, " and ", b, "; sizes above 0 are needed");
}

void require_width(const char* layer, const Tensor& x, std::int64_t width) {
  require(x.rank() >= 1 && x.size(-1) == width, "[", layer, "] the input is ", x.shape(),
          "; its last axis must be ", width);
}

Tensor constant(std::int64_t width, double value, const LayerOptions& options) {
  Tensor tensor = Tensor::empty({width}, options.dtype, options.device);
  if (options.init == Init::random) fill_value(tensor, value);
  return tensor;
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, bool has_bias, LayerOptions options) : in_(in) {
  require_sizes("linear", in, out);
  weight = Tensor::empty({out, in}, options.dtype, options.device);
  register_parameter("weight", weight);
  if (has_bias) {
    bias = Tensor::empty({out}, options.dtype, options.device);
    register_parameter("bias", bias);
  }
  if (options.init == Init::none) return;
  double bound = 1 / std::sqrt(static_cast<double>(in));
  fill_uniform(weight, -bound, bound, next_random_stream());
  if (has_bias) fill_uniform(bias, -bound, bound, next_random_stream());
}

Linear::Linear(const Tensor& shared) : weight(shared) {
  require(shared.rank() == 2, "[linear] shared weights are ", shared.shape(),
          "; they must be [out, in]");
  in_ = shared.size(1);
}

Tensor Linear::forward(const Tensor& x) const {
  require_width("linear", x, in_);
  if (weight.defined()) return linear(x, weight, bias);
  Tensor y = quantized_linear(x, quantized);
  return bias.defined() ? y + bias : y;
}

void Linear::quantize(const QuantizeOptions& options) {
  quantize_weight("weight", weight, weight, quantized, options);
}

Conv1D::Conv1D(std::int64_t in, std::int64_t out, LayerOptions options) : in_(in) {
  require_sizes("conv1d", in, out);
  weight = Tensor::empty({in, out}, options.dtype, options.device);
  bias = constant(out, 0, options);
  register_parameter("weight", weight);
  register_parameter("bias", bias);
  if (options.init == Init::random) fill_normal(weight, 0, 0.02, next_random_stream());
}

Tensor Conv1D::forward(const Tensor& x) const {
  require_width("conv1d", x, in_);
  return (weight.defined() ? matmul(x, weight) : quantized_linear(x, quantized)) + bias;
}

void Conv1D::quantize(const QuantizeOptions& options) {
  Tensor rows = weight.defined() ? weight.transpose(0, 1) : weight;
  quantize_weight("weight", weight, rows, quantized, options);
}

Embedding::Embedding(std::int64_t count, std::int64_t width, LayerOptions options) {
  require_sizes("embedding", count, width);
  weight = Tensor::empty({count, width}, options.dtype, options.device);
  register_parameter("weight", weight);
  if (options.init == Init::random) fill_normal(weight, 0, 1, next_random_stream());
}

Tensor Embedding::forward(const Tensor& ids) const { return embedding(ids, weight); }

RmsNorm::RmsNorm(std::int64_t width, double eps, LayerOptions options) : eps(eps) {
  require_sizes("rms_norm", width);
  weight = constant(width, 1, options);
  register_parameter("weight", weight);
}

Tensor RmsNorm::forward(const Tensor& x) const {
  require_width("rms_norm", x, weight.size(0));
  return rms_norm(x, weight, eps);
}

LayerNorm::LayerNorm(std::int64_t width, double eps, LayerOptions options) : eps(eps) {
  require_sizes("layer_norm", width);
  weight = constant(width, 1, options);
  bias = constant(width, 0, options);
  register_parameter("weight", weight);
  register_parameter("bias", bias);
}

Tensor LayerNorm::forward(const Tensor& x) const {
  require_width("layer_norm", x, weight.size(0));
  return layer_norm(x, weight, bias, eps);
}

Mlp::Mlp(std::int64_t width, std::int64_t inner, bool bias, LayerOptions options)
    : gate_proj(width, inner, bias, options),
      up_proj(width, inner, bias, options),
      down_proj(inner, width, bias, options) {
  register_module("gate_proj", gate_proj);
  register_module("up_proj", up_proj);
  register_module("down_proj", down_proj);
}

Tensor Mlp::forward(const Tensor& x) const { return down_proj(silu(gate_proj(x)) * up_proj(x)); }

}  // namespace tilewright
