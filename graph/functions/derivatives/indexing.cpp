#include "graph/functions/derivatives/indexing.h"

#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

Tensor embedding_dense_backward(const Tensor& gradient, const Tensor& indices, std::int64_t rows,
                                const EmbeddingGradientOptions& options, source_location w) {
  const std::int64_t width = gradient.rank() == 0 ? 1 : gradient.size(-1);
  require(gradient.count() == indices.count() * width && rows >= 0,
          "[embedding_dense_backward] the indices are [", indices.shape(), "], for gradients [",
          gradient.shape(), "] of ", rows, " rows (at ", At{w},
          "); one for each row of the gradients is wanted");
  const Tensor numbers = indices.to(DType::i64).reshape({indices.count()});
  Tensor each = gradient.reshape({numbers.count(), width}).to(accumulator(gradient.dtype()));
  if (options.padding_row) each = where((numbers == *options.padding_row).unsqueeze(1), 0, each);
  if (options.scale_by_frequency) {
    const Tensor counts =
        index_add(zeros({rows}, each.dtype()), 0, numbers, ones({numbers.count()}, each.dtype()));
    each = each / index_select(counts, 0, numbers).unsqueeze(1);
  }
  return index_add(zeros({rows, width}, each.dtype()), 0, numbers, each).to(gradient.dtype());
}

Tensor slice_backward(const Tensor& gradient, const Shape& sizes, const SliceOf& slice,
                      source_location w) {
  return slice_scatter({zeros(sizes, gradient.dtype(), w), w}, gradient, slice.axis, slice.start,
                       slice.end, slice.step);
}
Tensor select_backward(const Tensor& gradient, const Shape& sizes, int axis, std::int64_t index,
                       source_location w) {
  return select_scatter({zeros(sizes, gradient.dtype(), w), w}, gradient, axis, index);
}

}  // namespace tilewright
