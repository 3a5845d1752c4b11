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

Tensor convolution(const Call& call) {
  Tensor x = call.tensor("input"), weight = call.tensor("weight"),
         bias = call.optional_tensor("bias");
  int rank = weight.rank() - 2;
  require(rank >= 1 && rank <= 3, "[exported] a convolution by [", weight.shape(),
          "]; one to three axes besides the channels are wanted");
  Shape ones_of_rank(static_cast<std::size_t>(rank), 1);
  Shape stride = positive(call, "stride", rank, ones_of_rank),
        dilation = positive(call, "dilation", rank, ones_of_rank),
        padding = not_negative(call, "padding", rank),
        more = not_negative(call, "output_padding", rank);
  std::int64_t groups = call.integer("groups", 1);
  if (call.flag("transposed", false))
    return transposed(x, weight, bias, rank,
                      {.stride = stride,
                       .padding = padding,
                       .output_padding = more,
                       .dilation = dilation,
                       .groups = groups});
  ConvolutionOptions options{
      .stride = stride, .padding = padding, .dilation = dilation, .groups = groups};
  if (rank == 1) return conv1d(x, weight, bias, options);
  return rank == 2 ? conv2d(x, weight, bias, options) : conv3d(x, weight, bias, options);
}

constexpr Operator rows[] = {
    {"aten.convolution.default", by<convolution>},
};

}  // namespace

std::span<const Operator> convolution_operators() { return rows; }

}  // namespace tilewright::exported
