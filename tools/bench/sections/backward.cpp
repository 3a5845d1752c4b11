// The section backward: gradients of single operations, each as a compiled function of its own.
#include <fmt/format.h>

#include "graph/differentiating/differentiate.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/derivatives/attention.h"
#include "graph/functions/derivatives/indexing.h"
#include "tools/bench/kernel_case.h"

namespace tilewright::tools {
namespace {

using Tensors = std::vector<Tensor>;

// From the result and the logarithms of sums, which are random here, as for the peer.
KernelCase attention_case(DType dtype, std::int64_t batch, std::int64_t heads, std::int64_t length,
                          std::int64_t size, bool causal) {
  KernelCase c;
  c.name = fmt::format("attention {} d{} {} {}x{} s{}", name_of(dtype), size,
                       causal ? "causal" : "full", batch, heads, length);
  const CaseArgument tokens{.dtype = dtype, .shape = {batch, heads, length, size}};
  const CaseArgument sums{.dtype = f32, .shape = {batch, heads, length}};
  c.arguments = {tokens, tokens, tokens, tokens, tokens, sums};
  c.function = [causal](const Tensors& a) {
    const AttentionGradients all = attention_backward(a[0], {.query = a[1],
                                                             .key = a[2],
                                                             .value = a[3],
                                                             .output = a[4],
                                                             .logsumexp = a[5] + 8.0,
                                                             .causal = causal});
    return Tensors{all.query, all.key, all.value};
  };
  c.flops = 10.0 * static_cast<double>(batch * heads) * static_cast<double>(length) *
            static_cast<double>(length) * static_cast<double>(size) * (causal ? 0.5 : 1);
  c.peer = {{"op", "attention backward"}, {"causal", causal}};
  c.limit = HostLimit::f32;
  return c;
}

// A step from the last hidden values of a language model to their gradients and the table's.
KernelCase loss_case(std::int64_t rows, std::int64_t columns, std::int64_t classes) {
  KernelCase c;
  c.name = fmt::format("linear and cross entropy {}x{} to {}", rows, columns, classes);
  c.arguments = {{.shape = {rows, columns}, .deviation = 0.1},
                 {.shape = {classes, columns}, .deviation = 0.1},
                 {.dtype = i64, .shape = {rows}, .below = classes}};
  c.function = [](const Tensors& a) {
    const auto [loss, gradients] = value_and_grad<0, 1>([&](const Tensor& x, const Tensor& w) {
      return cross_entropy(linear(x, w), a[2]);
    })(a[0], a[1]);
    const auto& [of_x, of_table] = gradients;
    return Tensors{loss, of_x, of_table};
  };
  c.flops = 6.0 * static_cast<double>(rows) * static_cast<double>(columns * classes);
  c.peer = {{"op", "linear and cross entropy"}};
  c.limit = HostLimit::f32;
  return c;
}

KernelCase embedding_case(std::int64_t ids, std::int64_t rows, std::int64_t columns) {
  KernelCase c;
  c.name = fmt::format("embedding {} of {}x{}", ids, rows, columns);
  c.arguments = {{.shape = {ids, columns}}, {.dtype = i64, .shape = {ids}, .below = rows}};
  c.function = [rows](const Tensors& a) {
    return Tensors{embedding_dense_backward(a[0], a[1], rows)};
  };
  c.bytes = 4.0 * static_cast<double>((ids + rows) * columns);
  c.peer = {{"op", "embedding backward"}, {"rows", rows}};
  c.limit = HostLimit::copy;
  return c;
}

struct Convolved {
  std::int64_t channels, size, outputs, kernel, stride;
};
// Those of ResNet-18.
constexpr Convolved convolved[] = {{3, 224, 64, 7, 2},   {64, 56, 64, 3, 1},   {64, 56, 128, 3, 2},
                                   {64, 56, 128, 1, 2},  {128, 28, 128, 3, 1}, {128, 28, 256, 3, 2},
                                   {128, 28, 256, 1, 2}, {256, 14, 256, 3, 1}, {256, 14, 512, 3, 2},
                                   {256, 14, 512, 1, 2}, {512, 7, 512, 3, 1}};

KernelCase convolution_case(const Convolved& of, std::int64_t images, bool of_filters) {
  KernelCase c;
  c.name = fmt::format("convolution {}x{} s{} {}x{}x{} to {}, {}", of.kernel, of.kernel, of.stride,
                       images, of.channels, of.size, of.outputs, of_filters ? "filters" : "input");
  const std::int64_t padding = of.kernel / 2;
  const std::int64_t windows = (of.size + 2 * padding - of.kernel) / of.stride + 1;
  c.arguments = {{.shape = {images, of.channels, of.size, of.size}},
                 {.shape = {of.outputs, of.channels, of.kernel, of.kernel}, .deviation = 0.05},
                 {.shape = {images, of.outputs, windows, windows}}};
  c.function = [=](const Tensors& a) {
    const auto loss = [&](const Tensor& x, const Tensor& w) {
      return sum(conv2d(x, w, {}, {.stride = {of.stride}, .padding = {padding}}) * a[2]);
    };
    return Tensors{of_filters ? grad<1>(loss)(a[0], a[1]) : grad<0>(loss)(a[0], a[1])};
  };
  c.flops = 2.0 * static_cast<double>(images * windows * windows) *
            static_cast<double>(of.outputs * of.channels * of.kernel * of.kernel);
  c.peer = {{"op", "convolution backward"},
            {"stride", std::vector(2, of.stride)},
            {"padding", std::vector(2, padding)},
            {"of_filters", of_filters}};
  c.limit = HostLimit::f32;
  return c;
}

}  // namespace

void bench_backward(BenchLog& log) {
  if (log.settings().tiny)
    return bench_kernels(
        log,
        {attention_case(bf16, 1, 2, 72, 16, true), loss_case(70, 8, 40), embedding_case(20, 9, 8),
         convolution_case({3, 8, 4, 3, 1}, 1, false), convolution_case({3, 8, 4, 3, 2}, 1, true)});
  std::vector<KernelCase> cases = {attention_case(f32, 1, 8, 4096, 64, false),
                                   attention_case(f32, 1, 8, 4096, 64, true),
                                   attention_case(bf16, 1, 8, 4096, 64, true),
                                   attention_case(f32, 1, 12, 256, 64, true),
                                   attention_case(f32, 12, 4, 64, 32, true),
                                   loss_case(1024, 768, 50257),
                                   loss_case(4096, 256, 50257),
                                   embedding_case(8192, 50257, 768),
                                   embedding_case(65536, 8192, 256)};
  for (const Convolved& of : convolved)
    for (bool of_filters : {false, true})
      if (of.channels != 3 || of_filters)  // images have no gradient
        cases.push_back(convolution_case(of, 8, of_filters));
  bench_kernels(log, cases);
}

}  // namespace tilewright::tools
