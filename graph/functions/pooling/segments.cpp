#include "graph/functions/pooling/segments.h"

#include <cmath>
#include <limits>

#include "graph/functions/indexing/searching.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

double neutral(ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::sum:
    case ScatterReduction::mean: return 0;
    case ScatterReduction::prod: return 1;
    case ScatterReduction::amax: return -std::numeric_limits<double>::infinity();
    case ScatterReduction::amin: return std::numeric_limits<double>::infinity();
  }
  return 0;
}

}  // namespace

Tensor segment_reduce(const TensorOperand& x_operand, const Tensor& lengths,
                      ScatterReduction reduction, std::optional<double> initial) {
  const auto w = x_operand.where;
  Tensor x = graph::tensor_of(x_operand, "segment_reduce");
  require(lengths.defined() && is_integer(lengths.dtype()) && lengths.rank() >= 1 &&
              lengths.rank() <= x.rank() && is_floating(x.dtype()),
          "[segment_reduce] x is ", x.dtype(), " [", x.shape(), "], lengths are ",
          lengths.defined() ? concat(lengths.dtype(), " [", lengths.shape(), "]") : "undefined",
          " (at ", graph::At{w}, "); floats and integers of at most as many axes are wanted");
  const int axis = lengths.rank() - 1;
  for (int i = 0; i < axis; ++i)
    require(lengths.size(i) == x.size(i), "[segment_reduce] axis ", i, " of the lengths [",
            lengths.shape(), "] is not that of x [", x.shape(), "] (at ", graph::At{w}, ")");
  const std::int64_t size = x.size(axis), segments = lengths.size(axis);
  std::int64_t rows = 1, inner = 1;
  for (int i = 0; i < axis; ++i) rows *= x.size(i);
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.size(i);
  const DType own = x.dtype(), wide = accumulator(own);
  // The segment of each element; one more has what lies behind the last.
  Tensor counts = clamp_max(clamp_min(lengths.to(DType::i64), 0), size).reshape({rows, segments});
  Tensor places = arange(0, size).expand({rows, size}).contiguous();
  Tensor of = searchsorted(cumsum(counts, 1), places, {.right = true});
  of = of + arange(0, rows).reshape({rows, 1}) * (segments + 1);
  Tensor source = x.to(wide).reshape({rows * size, inner});
  Tensor all = full({rows * (segments + 1), inner}, initial.value_or(neutral(reduction)), wide);
  const bool adds = reduction == ScatterReduction::sum || reduction == ScatterReduction::mean;
  all = adds ? index_add(all, 0, of.reshape({rows * size}), source)
             : index_reduce(all, 0, of.reshape({rows * size}), source, reduction);
  Tensor result = all.reshape({rows, segments + 1, inner}).slice(1, 0, segments);
  if (reduction == ScatterReduction::mean) {
    Tensor each = counts.to(wide).unsqueeze(2);
    Tensor none = initial ? result : full({}, std::nan(""), wide);
    result = where(each == 0.0, none, result / each);
  }
  Shape shape = x.shape();
  shape[axis] = segments;
  return result.reshape(shape).to(own);
}

}  // namespace tilewright
