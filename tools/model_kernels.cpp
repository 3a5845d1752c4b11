// Kernels in the shapes of two models' layers, for tuning and timing on a processor.
#include "tools/named_kernels.h"

namespace tilewright::tools {
namespace {

constexpr DType f32 = DType::f32, bf16 = DType::bf16;
using Tensors = std::vector<Tensor>;

Tensor linear_of(const Tensors& a) { return linear(a[0], a[1]); }
Tensor linear_bias_of(const Tensors& a) { return linear(a[0], a[1], a[2]); }
Tensor linear_gelu_of(const Tensors& a) { return gelu(linear(a[0], a[1], a[2])); }
Tensor layer_norm_of(const Tensors& a) { return layer_norm(a[0], a[1], a[2]); }
Tensor residual_norm_of(const Tensors& a) { return rms_norm(a[0] + a[1], a[2]); }
Tensor silu_mul_of(const Tensors& a) { return silu(a[0]) * a[1]; }
Tensor softmax_of(const Tensors& a) { return softmax(a[0], -1); }
Tensor bias_gelu_of(const Tensors& a) { return gelu(a[0] + a[1]); }
Tensor attention_of(const Tensors& a) {
  return scaled_dot_product_attention(a[0], a[1], a[2], {.causal = true});
}

std::vector<NamedKernel> gpt2_kernels() {
  return {
      {"gpt2 query key value, 128 rows, f32",
       {{f32, {128, 768}}, {f32, {2304, 768}}, {f32, {2304}}},
       linear_bias_of},
      {"gpt2 up, 128 rows, f32",
       {{f32, {128, 768}}, {f32, {3072, 768}}, {f32, {3072}}},
       linear_gelu_of},
      {"gpt2 down, 128 rows, f32",
       {{f32, {128, 3072}}, {f32, {768, 3072}}, {f32, {768}}},
       linear_bias_of},
      {"gpt2 down, 1 row, f32",
       {{f32, {1, 3072}}, {f32, {768, 3072}}, {f32, {768}}},
       linear_bias_of},
      {"gpt2 head, 1 row, f32", {{f32, {1, 768}}, {f32, {50257, 768}}}, linear_of},
      {"gpt2 layer_norm, 4096 rows, f32",
       {{f32, {4096, 768}}, {f32, {768}}, {f32, {768}}},
       layer_norm_of},
      {"gpt2 bias gelu, 4096 rows, f32", {{f32, {4096, 3072}}, {f32, {3072}}}, bias_gelu_of},
      {"gpt2 softmax, 512 rows, f32", {{f32, {512, 50257}}}, softmax_of},
      {"gpt2 attention of 512, f32",
       {{f32, {1, 12, 512, 64}}, {f32, {1, 12, 512, 64}}, {f32, {1, 12, 512, 64}}},
       attention_of},
  };
}

std::vector<NamedKernel> llama_kernels() {
  return {
      {"llama query, 64 rows, bf16", {{bf16, {64, 2048}}, {bf16, {2048, 2048}}}, linear_of},
      {"llama up, 16 rows, bf16", {{bf16, {16, 2048}}, {bf16, {8192, 2048}}}, linear_of},
      {"llama query, 1 row, bf16", {{bf16, {1, 2048}}, {bf16, {2048, 2048}}}, linear_of},
      {"llama key, 1 row, bf16", {{bf16, {1, 2048}}, {bf16, {512, 2048}}}, linear_of},
      {"llama down, 1 row, bf16", {{bf16, {1, 8192}}, {bf16, {2048, 8192}}}, linear_of},
      {"llama rms_norm, 512 rows, bf16",
       {{bf16, {512, 2048}}, {bf16, {512, 2048}}, {bf16, {2048}}},
       residual_norm_of},
      {"llama silu mul, 512 rows, bf16", {{bf16, {512, 8192}}, {bf16, {512, 8192}}}, silu_mul_of},
      {"llama attention of 512, bf16",
       {{bf16, {1, 32, 512, 64}}, {bf16, {1, 8, 512, 64}}, {bf16, {1, 8, 512, 64}}},
       attention_of},
      {"llama attention, 1 row of 1024, bf16",
       {{bf16, {1, 32, 1, 64}}, {bf16, {1, 8, 1024, 64}}, {bf16, {1, 8, 1024, 64}}},
       attention_of},
  };
}

}  // namespace

std::vector<NamedKernel> model_kernels(const std::vector<std::string>& words) {
  std::vector<NamedKernel> kernels;
  for (auto* list : {gpt2_kernels, llama_kernels})
    for (NamedKernel& kernel : list())
      if (is_named(kernel, words)) kernels.push_back(std::move(kernel));
  return kernels;
}

}  // namespace tilewright::tools
