// The section attention: 16384 tokens, heads that make 2048 columns together.
#include <fmt/format.h>

#include "tools/bench/kernel_case.h"

namespace tilewright::tools {
namespace {

using Tensors = std::vector<Tensor>;

KernelCase attention_case(DType dtype, std::int64_t batch, std::int64_t heads,
                          std::int64_t kv_heads, std::int64_t length, std::int64_t size,
                          bool causal) {
  KernelCase c;
  c.name =
      fmt::format("{} d{} {}{} s{}", name_of(dtype), size, causal ? "causal" : "full",
                  kv_heads == heads ? "" : fmt::format(" {} of {} heads", kv_heads, heads), length);
  CaseArgument kv{.dtype = dtype, .shape = {batch, kv_heads, length, size}};
  c.arguments = {{.dtype = dtype, .shape = {batch, heads, length, size}, .sampled = 2}, kv, kv};
  c.function = [causal](const Tensors& a) {
    AttentionOptions options{.causal = causal};
    if (causal)
      options.alignment = CausalAlignment::bottom_right;  // what is sampled has fewer rows
    return Tensors{scaled_dot_product_attention(a[0], a[1], a[2], options)};
  };
  c.flops = 4.0 * static_cast<double>(batch * heads) * static_cast<double>(length) *
            static_cast<double>(length) * static_cast<double>(size) * (causal ? 0.5 : 1);
  c.sampled_result = 2;
  c.peer = {{"op", "attention"}, {"causal", causal}};
  c.sample_end_only = causal;  // the last rows of a longer text: the mask counts from the end
  return c;
}

}  // namespace

void bench_attention(BenchLog& log) {
  if (log.settings().tiny)
    return bench_kernels(log, {attention_case(bf16, 1, 2, 2, 72, 16, true),
                               attention_case(bf16, 1, 2, 1, 40, 16, false)});
  std::vector<KernelCase> cases;
  if (is_host(log.settings())) {
    for (DType dtype : {f32, bf16})
      for (std::int64_t length : {512, 2048})
        cases.push_back(attention_case(dtype, 1, 32, 8, length, 64, true));
    cases.push_back(attention_case(f32, 8, 12, 12, 512, 64, true));
    cases.push_back(attention_case(f32, 8, 12, 12, 512, 64, false));
    return bench_kernels(log, cases);
  }
  constexpr std::int64_t tokens = 16384, columns = 2048;
  for (std::int64_t size : {128, 64})
    for (bool causal : {true, false})
      for (std::int64_t length : {8192, 2048, 16384, 512})
        if (length >= 2048 || causal)
          cases.push_back(attention_case(bf16, tokens / length, columns / size, columns / size,
                                         length, size, causal));
  cases.push_back(attention_case(bf16, 2, 24, 8, 8192, 128, true));
  cases.push_back(attention_case(f16, 2, 16, 16, 8192, 128, true));
  bench_kernels(log, cases);
}

}  // namespace tilewright::tools
