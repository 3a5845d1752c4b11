#include "graph/functions/convolving/folding.h"

#include "graph/functions/convolving/convolution.h"
#include "graph/functions/convolving/windows.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

// How windows lie over axes of these sizes, as options say.
struct FoldedWindows {
  graph::Windows windows;
  Shape before, after, counts;
};

Shape values_of_axes(const char* name, const Shape& given, int rank, std::int64_t missing,
                     std::int64_t least, source_location w) {
  Shape values = given.empty() ? Shape(static_cast<std::size_t>(rank), missing) : given;
  if (values.rank() == 1 && rank > 1) values = Shape(static_cast<std::size_t>(rank), values[0]);
  require(values.rank() == rank, "[", name, "] [", given, "] for ", rank, " axes (at ", At{w},
          "); a value an axis is wanted, or one for all");
  for (std::int64_t value : values)
    require(value >= least && value <= INT32_MAX, "[", name, "] [", given, "] (at ", At{w},
            "); values from ", least, " on are wanted");
  return values;
}

FoldedWindows windows_over(const char* name, const Shape& sizes, const Shape& kernel,
                           const FoldOptions& o, source_location w) {
  const int rank = sizes.rank();
  require(rank >= 1 && rank <= 3, "[", name, "] images of ", rank, " axes (at ", At{w},
          "); one to three are wanted");
  auto values = [&](const Shape& given, std::int64_t missing, std::int64_t least) {
    return values_of_axes(name, given, rank, missing, least, w);
  };
  FoldedWindows all;
  all.windows = {values(kernel, 1, 1), values(o.stride, 1, 1), values(o.dilation, 1, 1)};
  all.before = values(o.padding, 0, 0);
  all.after = o.padding_after.empty() ? all.before : values(o.padding_after, 0, 0);
  for (int i = 0; i < rank; ++i) {
    const std::int64_t span = all.windows.dilation[i] * (all.windows.kernel[i] - 1) + 1,
                       size = sizes[i] + all.before[i] + all.after[i];
    require(size >= span, "[", name, "] windows of ", span, " do not fit an axis of ", sizes[i],
            " (at ", At{w}, "); it must be at least as large, with its padding");
    all.counts.push_back((size - span) / all.windows.stride[i] + 1);
  }
  return all;
}

}  // namespace

Tensor unfold(const TensorOperand& operand, const Shape& kernel, const FoldOptions& options) {
  const source_location w = operand.where;
  const Tensor& given = graph::tensor_of(operand, "unfold");
  const int rank = kernel.rank() == 1 && given.rank() > 3 ? given.rank() - 2 : kernel.rank();
  require(given.rank() == rank + 1 || given.rank() == rank + 2, "[unfold] x is [", given.shape(),
          "], the kernel [", kernel, "] (at ", At{w},
          "); [N, C, sizes..] or [C, sizes..] is wanted");
  const bool has_batch = given.rank() == rank + 2;
  const Tensor x = has_batch ? given : given.unsqueeze(0, w);
  const Shape sizes(x.shape().begin() + 2, x.shape().end());
  const FoldedWindows over = windows_over("unfold", sizes, kernel, options, w);
  const Tensor around = graph::padded(x, graph::pads(over.before, over.after), 0, w);
  const Tensor all = graph::all_places(around, over.windows, w)
                         .reshape({x.size(0), x.size(1) * element_count(over.windows.kernel),
                                   element_count(over.counts)},
                                  w);
  return has_batch ? all : all.select(0, 0, w);
}

Tensor fold(const TensorOperand& operand, const Shape& sizes, const Shape& kernel_given,
            const FoldOptions& options) {
  const source_location w = operand.where;
  const Tensor& given = graph::tensor_of(operand, "fold");
  const FoldedWindows over = windows_over("fold", sizes, kernel_given, options, w);
  const std::int64_t places = element_count(over.windows.kernel),
                     windows = element_count(over.counts);
  const bool has_batch = given.rank() == 3;
  const Tensor x = has_batch || given.rank() != 2 ? given : given.unsqueeze(0, w);
  require(
      x.rank() == 3 && x.size(1) % places == 0 && x.size(2) == windows && is_floating(x.dtype()),
      "[fold] columns are ", given.dtype(), " [", given.shape(), "] of windows [",
      over.windows.kernel, "] over [", sizes, "] (at ", At{w}, "); floats [N, a multiple of ",
      places, ", ", windows, "] are wanted");
  const std::int64_t channels = x.size(1) / places;
  Shape columns = {x.size(0), x.size(1)}, kernel = {x.size(1), 1}, before, after;
  for (int i = 0; i < sizes.rank(); ++i) {
    const std::int64_t span = over.windows.dilation[i] * (over.windows.kernel[i] - 1) + 1;
    columns.push_back(over.counts[i]);
    kernel.push_back(over.windows.kernel[i]);
    before.push_back(-over.before[i]);
    after.push_back(sizes[i] + over.before[i] -
                    ((over.counts[i] - 1) * over.windows.stride[i] + span));
  }
  // The transpose of the convolution that takes windows apart, by a one at each place.
  const Tensor each = (arange(0, places).reshape({places, 1}) == arange(0, places)).to(x.dtype());
  const Tensor weight =
      each.reshape({1, places, places}).expand({channels, places, places}).reshape(kernel);
  const TransposedConvolutionOptions lay{
      .stride = over.windows.stride, .dilation = over.windows.dilation, .groups = channels};
  const Tensor parts = x.reshape(columns, w);
  const Tensor sums = sizes.rank() == 1   ? conv_transpose1d({parts, w}, weight, {}, lay)
                      : sizes.rank() == 2 ? conv_transpose2d({parts, w}, weight, {}, lay)
                                          : conv_transpose3d({parts, w}, weight, {}, lay);
  const Tensor all = graph::padded(sums, graph::pads(before, after), 0.0, w);
  return has_batch ? all : all.select(0, 0, w);
}

}  // namespace tilewright
