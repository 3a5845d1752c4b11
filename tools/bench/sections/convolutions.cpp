// The section convolutions: single ones of networks that see (ResNet-50, MobileNetV2,
// EfficientNet-B0, U-Net, the patches of ViT) and hear (Whisper), by class: of one place, of
// windows, of strides, of a channel each, in groups, transposed.
#include <fmt/format.h>

#include "graph/functions/convolving/convolution.h"
#include "tools/bench/kernel_case.h"

namespace tilewright::tools {
namespace {

using Tensors = std::vector<Tensor>;

// A square image, or a line where `is_line`; kernel, stride and padding are alike along both axes.
struct ConvolutionCase {
  const char* name;
  std::int64_t images, channels, size, outputs, kernel;
  std::int64_t stride = 1, padding = 0, groups = 1;
  bool is_line = false, is_transposed = false;
};

const ConvolutionCase convolutions[] = {
    {"resnet50 7x7 s2", 1, 3, 224, 64, 7, 2, 3},
    {"resnet50 1x1", 1, 64, 56, 64, 1},
    {"resnet50 3x3", 1, 64, 56, 64, 3, 1, 1},
    {"resnet50 1x1", 1, 64, 56, 256, 1},
    {"resnet50 3x3 s2", 1, 128, 56, 128, 3, 2, 1},
    {"resnet50 1x1 s2", 1, 256, 56, 512, 1, 2},
    {"resnet50 3x3", 1, 128, 28, 128, 3, 1, 1},
    {"resnet50 3x3", 1, 256, 14, 256, 3, 1, 1},
    {"resnet50 1x1", 1, 1024, 14, 256, 1},
    {"resnet50 3x3", 1, 512, 7, 512, 3, 1, 1},
    {"resnet50 1x1", 1, 512, 7, 2048, 1},
    {"resnet50 3x3", 8, 64, 56, 64, 3, 1, 1},
    {"resnet50 3x3", 8, 256, 14, 256, 3, 1, 1},
    {"resnet50 1x1", 8, 2048, 7, 512, 1},
    {"resnext50 3x3 groups", 1, 128, 56, 128, 3, 1, 1, 32},
    {"mobilenetv2 3x3 s2", 1, 3, 224, 32, 3, 2, 1},
    {"mobilenetv2 depthwise 3x3", 1, 32, 112, 32, 3, 1, 1, 32},
    {"mobilenetv2 depthwise 3x3 s2", 1, 96, 112, 96, 3, 2, 1, 96},
    {"mobilenetv2 1x1", 1, 96, 56, 24, 1},
    {"mobilenetv2 depthwise 3x3", 1, 384, 14, 384, 3, 1, 1, 384},
    {"mobilenetv2 1x1", 1, 320, 7, 1280, 1},
    {"efficientnet depthwise 5x5 s2", 1, 144, 56, 144, 5, 2, 2, 144},
    {"efficientnet depthwise 5x5", 1, 672, 14, 672, 5, 1, 2, 672},
    {"efficientnet depthwise 3x3", 8, 480, 14, 480, 3, 1, 1, 480},
    {"unet 3x3", 1, 64, 128, 64, 3, 1, 1},
    {"unet 3x3", 1, 512, 32, 256, 3, 1, 1},
    {"unet transposed 2x2 s2", 1, 256, 32, 128, 2, 2, 0, 1, false, true},
    {"whisper 3", 1, 80, 3000, 384, 3, 1, 1, 1, true},
    {"whisper 3 s2", 1, 384, 3000, 384, 3, 2, 1, 1, true},
    {"vit patches 16x16", 1, 3, 224, 768, 16, 16},
};
const ConvolutionCase tiny_convolutions[] = {
    {"3x3", 1, 3, 8, 5, 3, 1, 1},
    {"depthwise 3x3 s2", 1, 4, 9, 4, 3, 2, 1, 4},
    {"transposed 2x2 s2", 1, 3, 4, 2, 2, 2, 0, 1, false, true},
    {"line 3", 1, 3, 16, 4, 3, 1, 1, 1, true},
};

KernelCase convolution_case(const ConvolutionCase& of, int threads) {
  KernelCase c;
  const std::int64_t of_group = (of.is_transposed ? of.outputs : of.channels) / of.groups;
  c.name = fmt::format("{} f32 {}x{}x{} to {}{}", of.name, of.images, of.channels, of.size,
                       of.outputs, threads == 0 ? "" : fmt::format(", {} thread", threads));
  Shape x = {of.images, of.channels, of.size, of.size};
  Shape weight = {of.is_transposed ? of.channels : of.outputs, of_group, of.kernel, of.kernel};
  if (of.is_line) {
    x.pop_back();
    weight.pop_back();
  }
  c.arguments = {{.dtype = f32, .shape = x},
                 {.dtype = f32, .shape = weight, .deviation = 0.05, .constant = true},
                 {.dtype = f32, .shape = {of.outputs}, .constant = true}};
  c.function = [of](const Tensors& a) {
    if (of.is_transposed)
      return Tensors{conv_transpose2d(
          a[0], a[1], a[2], {.stride = {of.stride}, .padding = {of.padding}, .groups = of.groups})};
    const ConvolutionOptions options = {
        .stride = {of.stride}, .padding = {of.padding}, .groups = of.groups};
    return Tensors{of.is_line ? conv1d(a[0], a[1], a[2], options)
                              : conv2d(a[0], a[1], a[2], options)};
  };
  const std::int64_t windows = (of.size + 2 * of.padding - of.kernel) / of.stride + 1;
  const std::int64_t all = of.is_line         ? windows
                           : of.is_transposed ? of.size * of.size
                                              : windows * windows;
  c.flops = 2.0 * static_cast<double>(of.images * all) * static_cast<double>(element_count(weight));
  auto along = [&](std::int64_t value) {
    return std::vector<std::int64_t>(of.is_line ? 1 : 2, value);
  };
  c.peer = {{"op", of.is_transposed ? "transposed convolution" : "convolution"},
            {"stride", along(of.stride)},
            {"padding", along(of.padding)},
            {"groups", of.groups}};
  c.limit = HostLimit::f32;
  c.threads = threads;
  return c;
}

}  // namespace

void bench_convolutions(BenchLog& log) {
  std::vector<KernelCase> cases;
  const bool is_tiny = log.settings().tiny;
  const int threads = is_host(log.settings()) && !is_tiny ? 1 : 0;
  if (is_tiny)
    for (const ConvolutionCase& c : tiny_convolutions) cases.push_back(convolution_case(c, 0));
  else
    for (const ConvolutionCase& c : convolutions) cases.push_back(convolution_case(c, threads));
  bench_kernels(log, cases);
}

}  // namespace tilewright::tools
