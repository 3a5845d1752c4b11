// The layers that models are made of, under PyTorch's names and with its initial weights.
//
// Each is a few tensors and one formula. Sizes are checked here where the tensor operations would
// only say which axes differ.
#pragma once

#include <cstdint>

#include "graph/tensor.h"
#include "models/module.h"

namespace tilewright {

// Whether a layer draws initial weights, or leaves them for `Module::load` to fill.
enum class Init : std::uint8_t { random, none };

struct LayerOptions {
  Init init = Init::random;
  DType dtype = f32;
  Device device = Device::cpu();  // where parameters lie
};

// y = x W^T + b, W [out, in]. Initially uniform in +-1/sqrt(in).
class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool bias = true, LayerOptions options = {});
  // Of weights that another layer has too, an embedding's: no parameter of this one. Rows [out,
  // in].
  explicit Linear(const Tensor& shared);
  Tensor forward(const Tensor& x) const;  // [.., in] -> [.., out]
  Tensor operator()(const Tensor& x) const { return forward(x); }
  void quantize(const QuantizeOptions& options) override;
  Tensor weight, bias;  // undefined: `weight` once it is quantised, `bias` where there is none
  QuantizedWeight quantized;

 private:
  std::int64_t in_ = 0;
};

// y = x W + b, W [in, out]: what files of GPT-2 call Conv1D. Initially normal, deviation 0.02, and
// 0.
class Conv1D : public Module {
 public:
  Conv1D(std::int64_t in, std::int64_t out, LayerOptions options = {});
  Tensor forward(const Tensor& x) const;  // [.., in] -> [.., out]
  Tensor operator()(const Tensor& x) const { return forward(x); }
  void quantize(const QuantizeOptions& options) override;
  Tensor weight, bias;        // `weight`: undefined once it is quantised
  QuantizedWeight quantized;  // of W^T

 private:
  std::int64_t in_;
};

// Rows of a table. Initially normal, deviation 1.
class Embedding : public Module {
 public:
  Embedding(std::int64_t count, std::int64_t width, LayerOptions options = {});
  Tensor forward(const Tensor& ids) const;  // integers [..] -> [.., width]
  Tensor operator()(const Tensor& ids) const { return forward(ids); }
  Tensor weight;
};

// x / sqrt(mean(x^2) + eps) * weight over the last axis (Zhang and Sennrich 2019). Initially 1.
class RmsNorm : public Module {
 public:
  explicit RmsNorm(std::int64_t width, double eps = 1e-6, LayerOptions options = {});
  Tensor forward(const Tensor& x) const;
  Tensor operator()(const Tensor& x) const { return forward(x); }
  Tensor weight;
  double eps;
};

// (x - mean) / sqrt(var + eps) * weight + bias over the last axis. Initially 1 and 0.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(std::int64_t width, double eps = 1e-5, LayerOptions options = {});
  Tensor forward(const Tensor& x) const;
  Tensor operator()(const Tensor& x) const { return forward(x); }
  Tensor weight, bias;
  double eps;
};

// down(silu(gate(x)) * up(x)): the gated MLP of Llama (Shazeer 2020, SwiGLU).
class Mlp : public Module {
 public:
  Mlp(std::int64_t width, std::int64_t inner, bool bias = false, LayerOptions options = {});
  Tensor forward(const Tensor& x) const;
  Tensor operator()(const Tensor& x) const { return forward(x); }
  Linear gate_proj, up_proj, down_proj;
};

}  // namespace tilewright
