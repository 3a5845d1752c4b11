#include "graph/functions/derivatives/indexing.h"

#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/named/named_function.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/index_ranges.h"
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

namespace {

std::vector<Tensor> padded_embedding_body(const graph::FunctionCall& call) {
  return {embedding({call[0], call.where}, call[1])};
}
std::vector<Tensor> padded_embedding_derivative(const graph::DerivativeCall& call) {
  const std::int64_t row = call.settings.integer("padding_row");
  return {Tensor(),
          embedding_dense_backward(call.cotangents[0], call[0], call[1].size(0),
                                   {.padding_row = row < 0 ? std::nullopt : std::optional(row),
                                    .scale_by_frequency = call.settings.flag("scale_by_frequency")},
                                   call.where)};
}

}  // namespace

namespace graph::named {
extern const NamedFunction padded_embedding_function;
const NamedFunction padded_embedding_function("padded_embedding", padded_embedding_body,
                                              padded_embedding_derivative);
}  // namespace graph::named

Tensor embedding(const TensorOperand& ids, const Tensor& table,
                 const EmbeddingGradientOptions& gradient) {
  if (!gradient.padding_row && !gradient.scale_by_frequency) return embedding(ids, table);
  const Tensor& index = graph::tensor_of(ids, "embedding");
  const Tensor rows = graph::tensor_of({table, ids.where}, "embedding");
  require(is_integer(index.dtype()) && rows.rank() == 2, "[embedding] the ids are ", index.dtype(),
          ", the table is [", rows.shape(), "] (at ", At{ids.where},
          "); integers, and a table [rows, width], are wanted");
  graph::require_inside(index,
                        {"embedding", graph::IndexRange::Noun::id, 0, rows.size(0), ids.where});
  return graph::named::padded_embedding_function(
      {index, rows},
      {{"padding_row", gradient.padding_row.value_or(-1)},
       {"scale_by_frequency", gradient.scale_by_frequency}},
      ids.where)[0];
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
