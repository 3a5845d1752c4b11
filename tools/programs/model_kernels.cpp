// Kernels in the shapes of three models' layers, for tuning and timing on a processor.
#include "tools/programs/kernel_tensors.h"
#include "tools/programs/named_kernels.h"

namespace tilewright::tools {
namespace {

Tensor linear_bias_of(const Tensors& a) { return linear(a[0], a[1], a[2]); }
Tensor linear_gelu_of(const Tensors& a) { return gelu(linear(a[0], a[1], a[2])); }
Tensor layer_norm_of(const Tensors& a) { return layer_norm(a[0], a[1], a[2]); }
Tensor residual_norm_of(const Tensors& a) { return rms_norm(a[0] + a[1], a[2]); }
Tensor silu_mul_of(const Tensors& a) { return silu(a[0]) * a[1]; }
Tensor bias_gelu_of(const Tensors& a) { return gelu(a[0] + a[1]); }
Tensor attention_of(const Tensors& a) {
  return scaled_dot_product_attention(a[0], a[1], a[2],
                                      {.causal = true, .alignment = CausalAlignment::bottom_right});
}

// "gpt2 up" -> "gpt2 up, 128 rows, f32"
std::string name_of(const char* what, std::int64_t rows, DType dtype) {
  return std::string(what) + ", " + std::to_string(rows) + (rows == 1 ? " row, " : " rows, ") +
         std::string(tilewright::name_of(dtype));
}

NamedKernel product(const char* what, std::int64_t rows, std::int64_t depth, std::int64_t width,
                    DType dtype) {
  return {name_of(what, rows, dtype), {{dtype, {rows, depth}}, {dtype, {width, depth}}}, linear_of};
}

NamedKernel biased(const char* what, std::int64_t rows, std::int64_t depth, std::int64_t width,
                   DType dtype, Tensor (*function)(const Tensors&) = linear_bias_of) {
  return {name_of(what, rows, dtype),
          {{dtype, {rows, depth}}, {dtype, {width, depth}}, {dtype, {width}}},
          function};
}

// Attention of the last `rows` positions to all `keys` of them.
NamedKernel attention(const char* what, std::int64_t heads, std::int64_t key_heads,
                      std::int64_t rows, std::int64_t keys, std::int64_t size, DType dtype) {
  std::string name = std::string(what) + " of " + std::to_string(keys);
  return {name_of(name.c_str(), rows, dtype),
          {{dtype, {1, heads, rows, size}},
           {dtype, {1, key_heads, keys, size}},
           {dtype, {1, key_heads, keys, size}}},
          attention_of};
}

NamedKernel residual_norm(const char* what, std::int64_t rows, std::int64_t width, DType dtype) {
  return {name_of(what, rows, dtype),
          {{dtype, {rows, width}}, {dtype, {rows, width}}, {dtype, {width}}},
          residual_norm_of};
}

NamedKernel silu_mul(const char* what, std::int64_t rows, std::int64_t width, DType dtype) {
  return {
      name_of(what, rows, dtype), {{dtype, {rows, width}}, {dtype, {rows, width}}}, silu_mul_of};
}

std::vector<NamedKernel> gpt2_kernels() {
  return {
      biased("gpt2 query key value", 128, 768, 2304, f32),
      biased("gpt2 query key value", 1, 768, 2304, f32),
      biased("gpt2 attention's output", 16, 768, 768, f32),
      biased("gpt2 up", 128, 768, 3072, f32, linear_gelu_of),
      biased("gpt2 up", 1, 768, 3072, f32, linear_gelu_of),
      biased("gpt2 up", 64, 768, 3072, bf16, linear_gelu_of),
      biased("gpt2 down", 128, 3072, 768, f32),
      biased("gpt2 down", 8, 3072, 768, f16),
      biased("gpt2 down", 1, 3072, 768, f32),
      product("gpt2 head", 1, 768, 50257, f32),
      {name_of("gpt2 layer_norm", 4096, f32),
       {{f32, {4096, 768}}, {f32, {768}}, {f32, {768}}},
       layer_norm_of},
      {name_of("gpt2 bias gelu", 4096, f32), {{f32, {4096, 3072}}, {f32, {3072}}}, bias_gelu_of},
      {name_of("gpt2 softmax", 512, f32), {{f32, {512, 50257}}}, softmax_of},
      attention("gpt2 attention", 12, 12, 512, 512, 64, f32),
      attention("gpt2 attention", 12, 12, 1, 1024, 64, f32),
  };
}

std::vector<NamedKernel> llama_1b_kernels() {
  return {
      product("llama 1b query", 64, 2048, 2048, bf16),
      product("llama 1b query", 8, 2048, 2048, f16),
      product("llama 1b query", 1, 2048, 2048, bf16),
      product("llama 1b key", 1, 2048, 512, bf16),
      product("llama 1b key", 32, 2048, 512, f32),
      product("llama 1b up", 16, 2048, 8192, bf16),
      product("llama 1b down", 1, 8192, 2048, bf16),
      product("llama 1b down", 4, 8192, 2048, f32),
      residual_norm("llama 1b rms_norm", 512, 2048, bf16),
      silu_mul("llama 1b silu mul", 512, 8192, bf16),
      attention("llama 1b attention", 32, 8, 512, 512, 64, bf16),
      attention("llama 1b attention", 32, 8, 1, 1024, 64, bf16),
  };
}

std::vector<NamedKernel> llama_3b_kernels() {
  return {
      product("llama 3b query", 1, 3072, 3072, bf16),
      product("llama 3b query", 16, 3072, 3072, bf16),
      product("llama 3b key", 1, 3072, 1024, f32),
      product("llama 3b key", 64, 3072, 1024, bf16),
      product("llama 3b up", 1, 3072, 8192, bf16),
      product("llama 3b down", 1, 8192, 3072, bf16),
      product("llama 3b down", 32, 8192, 3072, f32),
      residual_norm("llama 3b rms_norm", 128, 3072, bf16),
      residual_norm("llama 3b rms_norm", 512, 3072, f32),
      silu_mul("llama 3b silu mul", 64, 8192, bf16),
      attention("llama 3b attention", 24, 8, 256, 256, 128, bf16),
      attention("llama 3b attention", 24, 8, 1, 2048, 128, bf16),
  };
}

}  // namespace

std::vector<NamedKernel> model_kernels(const std::vector<std::string>& words) {
  std::vector<NamedKernel> kernels;
  for (auto* list : {gpt2_kernels, llama_1b_kernels, llama_3b_kernels})
    for (NamedKernel& kernel : list())
      if (is_named(kernel, words)) kernels.push_back(std::move(kernel));
  return kernels;
}

}  // namespace tilewright::tools
