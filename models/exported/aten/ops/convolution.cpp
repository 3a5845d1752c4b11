// Convolutions, of one to three axes.
#include "graph/functions/convolving/convolution.h"

#include "models/exported/aten/operators.h"
#include "models/exported/aten/windows.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
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

template <Padding padding>
Tensor convolved(const Call& call) {
  Tensor weight = call.tensor("weight");
  const int rank = rank_of(weight);
  const Shape ones_of_rank(static_cast<std::size_t>(rank), 1);
  ConvolutionOptions options{.stride = positive(call, "stride", rank, ones_of_rank),
                             .dilation = positive(call, "dilation", rank, ones_of_rank),
                             .groups = call.integer("groups", 1)};
  if constexpr (padding == Padding::sizes)
    options.padding = not_negative(call, "padding", rank);
  else
    options.keeps_sizes = keeps_sizes(call);
  return convolutions[rank - 1](call.tensor("input"), weight, call.optional_tensor("bias"),
                                options);
}

Tensor transposed_convolution(const Call& call) {
  Tensor weight = call.tensor("weight");
  const int rank = rank_of(weight);
  const Shape ones_of_rank(static_cast<std::size_t>(rank), 1);
  return transposed(call.tensor("input"), weight, call.optional_tensor("bias"), rank,
                    {.stride = positive(call, "stride", rank, ones_of_rank),
                     .padding = not_negative(call, "padding", rank),
                     .output_padding = not_negative(call, "output_padding", rank),
                     .dilation = positive(call, "dilation", rank, ones_of_rank),
                     .groups = call.integer("groups", 1)});
}

Tensor convolution(const Call& call) {
  if (call.flag("transposed", false)) return transposed_convolution(call);
  const int rank = rank_of(call.tensor("weight"));
  not_negative(call, "output_padding", rank);
  return convolved<Padding::sizes>(call);
}

// With how its libraries were to compute it.
Tensor convolution_by_library(const Call& call) {
  for (const char* name : {"benchmark", "deterministic", "cudnn_enabled", "allow_tf32"})
    (void)call.has(name);
  return convolution(call);
}

constexpr Operator rows[] = {
    {"aten._convolution.default", by<convolution_by_library>},
    {"aten.convolution.default", by<convolution>},
    {"aten.conv1d.default", by<convolved<Padding::sizes>>},
    {"aten.conv2d.default", by<convolved<Padding::sizes>>},
    {"aten.conv3d.default", by<convolved<Padding::sizes>>},
    {"aten.conv1d.padding", by<convolved<Padding::word>>},
    {"aten.conv2d.padding", by<convolved<Padding::word>>},
    {"aten.conv3d.padding", by<convolved<Padding::word>>},
    {"aten.conv_transpose1d.default", by<transposed_convolution>},
    {"aten.conv_transpose2d.input", by<transposed_convolution>},
    {"aten.conv_transpose3d.input", by<transposed_convolution>},
};

}  // namespace

std::span<const Operator> convolution_operators() { return rows; }

}  // namespace tilewright::exported
