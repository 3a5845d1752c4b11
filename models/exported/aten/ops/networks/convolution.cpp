// Convolutions, of one to three axes.
#include "graph/functions/convolving/convolution.h"

#include <functional>

#include "graph/functions/complex/products.h"
#include "models/exported/aten/operators.h"
#include "models/exported/aten/windows.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace convolution_rows {
namespace {

Tensor transposed(const Tensor& x, const Tensor& weight, const Tensor& bias, int rank,
                  const TransposedConvolutionOptions& options) {
  if (rank == 1) return conv_transpose1d(x, weight, bias, options);
  return rank == 2 ? conv_transpose2d(x, weight, bias, options)
                   : conv_transpose3d(x, weight, bias, options);
}

using Convolution = Tensor (*)(const TensorOperand&, const Tensor&, const Tensor&,
                               const ConvolutionOptions&);
constexpr Convolution convolutions[] = {conv1d, conv2d, conv3d};

int rank_of(const Tensor& weight) {
  int rank = weight.rank() - 2;
  require(rank >= 1 && rank <= 3, "[exported] a convolution by [", weight.shape(),
          "]; one to three axes besides the channels are wanted");
  return rank;
}

// "same", or "valid", which is none.
bool keeps_sizes(const Call& call) {
  const std::string padding = call.text("padding", "valid");
  if (padding != "same" && padding != "valid") call.refuse("padding", "is neither same nor valid");
  return padding == "same";
}

enum class Padding : std::uint8_t { sizes, word };

// What a call says besides its tensors: a function of the input, the weight and the bias, of which
// the last may be undefined.
using Run = std::function<Tensor(const Tensor& x, const Tensor& weight, const Tensor& bias)>;

template <Padding padding>
Run convolved(const Call& call, int rank) {
  const Shape ones_of_rank(static_cast<std::size_t>(rank), 1);
  ConvolutionOptions options{.stride = positive(call, "stride", rank, ones_of_rank),
                             .dilation = positive(call, "dilation", rank, ones_of_rank),
                             .groups = call.integer("groups", 1)};
  if constexpr (padding == Padding::sizes)
    options.padding = not_negative(call, "padding", rank);
  else
    options.keeps_sizes = keeps_sizes(call);
  return [=](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return convolutions[rank - 1](x, weight, bias, options);
  };
}

Run transposed_convolution(const Call& call, int rank) {
  const Shape ones_of_rank(static_cast<std::size_t>(rank), 1);
  const TransposedConvolutionOptions options{
      .stride = positive(call, "stride", rank, ones_of_rank),
      .padding = not_negative(call, "padding", rank),
      .output_padding = not_negative(call, "output_padding", rank),
      .dilation = positive(call, "dilation", rank, ones_of_rank),
      .groups = call.integer("groups", 1)};
  return [=](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return transposed(x, weight, bias, rank, options);
  };
}

Run convolution(const Call& call, int rank) {
  if (call.flag("transposed", false)) return transposed_convolution(call, rank);
  not_negative(call, "output_padding", rank);
  return convolved<Padding::sizes>(call, rank);
}

// With how its libraries were to compute it.
Run convolution_by_library(const Call& call, int rank) {
  for (const char* name : {"benchmark", "deterministic", "cudnn_enabled", "allow_tf32"})
    (void)call.has(name);
  return convolution(call, rank);
}

using Kind = Run (*)(const Call& call, int rank);
template <Kind kind>
constexpr auto of_reals = [](const Call& c) {
  const Tensor weight = c.tensor("weight");
  return kind(c, rank_of(weight))(c.tensor("input"), weight, c.optional_tensor("bias"));
};
// A bias is added to each channel of the result.
template <Kind kind>
constexpr auto of_complex = [](const Call& c) -> Value {
  const ComplexTensor weight = c.complex_tensor("weight");
  const int rank = rank_of(weight.real());
  const Run run = kind(c, rank);
  const ComplexTensor y =
      multiply_parts(c.complex_factor("input"), weight,
                     [&](const Tensor& x, const Tensor& by) { return run(x, by, {}); });
  if (!c.has("bias")) return y;
  const ComplexTensor bias = c.complex_tensor("bias");
  Shape sizes(static_cast<std::size_t>(rank + 1), 1);
  sizes[0] = bias.count();
  return y + bias.reshape(sizes);
};

constexpr Operator rows[] = {
    {"aten._convolution.default", of_reals<convolution_by_library>},
    {"aten.convolution.default", of_reals<convolution>},
    {"aten.conv1d.default", of_reals<convolved<Padding::sizes>>},
    {"aten.conv2d.default", of_reals<convolved<Padding::sizes>>},
    {"aten.conv3d.default", of_reals<convolved<Padding::sizes>>},
    {"aten.conv1d.padding", of_reals<convolved<Padding::word>>},
    {"aten.conv2d.padding", of_reals<convolved<Padding::word>>},
    {"aten.conv3d.padding", of_reals<convolved<Padding::word>>},
    {"aten.conv_transpose1d.default", of_reals<transposed_convolution>},
    {"aten.conv_transpose2d.input", of_reals<transposed_convolution>},
    {"aten.conv_transpose3d.input", of_reals<transposed_convolution>},
};
constexpr Operator complex_rows[] = {
    {"aten._convolution.default", of_complex<convolution_by_library>},
    {"aten.convolution.default", of_complex<convolution>},
    {"aten.conv1d.default", of_complex<convolved<Padding::sizes>>},
    {"aten.conv2d.default", of_complex<convolved<Padding::sizes>>},
    {"aten.conv3d.default", of_complex<convolved<Padding::sizes>>},
    {"aten.conv1d.padding", of_complex<convolved<Padding::word>>},
    {"aten.conv2d.padding", of_complex<convolved<Padding::word>>},
    {"aten.conv3d.padding", of_complex<convolved<Padding::word>>},
    {"aten.conv_transpose1d.default", of_complex<transposed_convolution>},
    {"aten.conv_transpose2d.input", of_complex<transposed_convolution>},
    {"aten.conv_transpose3d.input", of_complex<transposed_convolution>},
};

}  // namespace
}  // namespace convolution_rows

std::span<const Operator> convolution_operators() { return convolution_rows::rows; }
std::span<const Operator> complex_convolution_operators() { return convolution_rows::complex_rows; }

}  // namespace tilewright::exported
