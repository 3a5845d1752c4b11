// Members of Tensor that are functions of the same names with more arguments than the rows of
// members.def have.
#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/indexing/strided_parts.h"
#include "graph/functions/ordering/quantiles.h"
#include "graph/functions/ordering/runs.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/reducing/products.h"
#include "graph/functions/reducing/reductions.h"
#include "graph/functions/shaping/axes.h"
#include "graph/functions/shaping/repeating.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

using Line = std::source_location;
using TensorPair = std::pair<Tensor, Tensor>;

Tensor Tensor::add(const TensorOperand& other, const Number& alpha) const {
  return tilewright::add({*this, other.where}, other, alpha);
}
Tensor Tensor::sub(const TensorOperand& other, const Number& alpha) const {
  return tilewright::sub({*this, other.where}, other, alpha);
}
Tensor Tensor::div(const TensorOperand& other, RoundingMode mode) const {
  return tilewright::div({*this, other.where}, other, mode);
}
Tensor Tensor::clamp(const TensorOperand& least) const { return clamp_min(least); }
Tensor Tensor::nan_to_num(double nan, std::optional<double> posinf, std::optional<double> neginf,
                          Line w) const {
  return tilewright::nan_to_num({*this, w}, {nan, posinf, neginf});
}

TensorPair Tensor::kthvalue(std::int64_t k, int axis, bool keep_dims, Line w) const {
  return tilewright::kthvalue({*this, w}, k, axis, keep_dims);
}
TensorPair Tensor::median(int axis, bool keep_dims, Line w) const {
  return tilewright::median({*this, w}, axis, keep_dims);
}
TensorPair Tensor::cummax(int axis, Line w) const { return tilewright::cummax({*this, w}, axis); }
TensorPair Tensor::cummin(int axis, Line w) const { return tilewright::cummin({*this, w}, axis); }
Tensor Tensor::quantile(const TensorOperand& q, std::optional<int> axis, bool keep_dims) const {
  return tilewright::quantile({*this, q.where}, q, {.axis = axis, .keep_dims = keep_dims});
}
Tensor Tensor::norm(double order, const Axes& axes, bool keep_dims, Line w) const {
  return tilewright::norm({*this, w}, order, axes, keep_dims);
}
Tensor Tensor::unique(Line w) const { return tilewright::unique({*this, w}).values; }

Tensor Tensor::take_along_dim(const Tensor& index, std::optional<int> axis, Line w) const {
  return tilewright::take_along_dim({*this, w}, index, axis);
}
Tensor Tensor::scatter(int axis, const Tensor& index, const TensorOperand& source) const {
  return tilewright::scatter({*this, source.where}, axis, index, source);
}
Tensor Tensor::scatter_add(int axis, const Tensor& index, const Tensor& source, Line w) const {
  return tilewright::scatter_add({*this, w}, axis, index, source);
}
Tensor Tensor::index_add(int axis, const Tensor& index, const Tensor& source, const Number& alpha,
                         Line w) const {
  return tilewright::index_add({*this, w}, axis, index, source, alpha);
}
Tensor Tensor::index_fill(int axis, const Tensor& index, const TensorOperand& value) const {
  return tilewright::index_fill({*this, value.where}, axis, index, value);
}
Tensor Tensor::masked_scatter(const Tensor& mask, const Tensor& source, Line w) const {
  return tilewright::masked_scatter({*this, w}, mask, source);
}
Tensor Tensor::mm(const Tensor& other, Line w) const { return tilewright::mm({*this, w}, other); }
Tensor Tensor::bmm(const Tensor& other, Line w) const { return tilewright::bmm({*this, w}, other); }

Tensor Tensor::roll(const Sizes& shifts, const Axes& axes, Line w) const {
  return tilewright::roll({*this, w}, shifts, axes);
}
Tensor Tensor::unfold(int axis, std::int64_t size, std::int64_t step, Line w) const {
  return tilewright::unfold({*this, w}, axis, size, step);
}
Tensor Tensor::diagonal(std::int64_t offset, int a, int b, Line w) const {
  return tilewright::diagonal({*this, w}, offset, a, b);
}
Tensor Tensor::movedim(int from, int to, Line w) const {
  return tilewright::movedim(*this, from, to, w);
}
Tensor Tensor::swapaxes(int a, int b, Line w) const { return transpose(a, b, w); }
Tensor Tensor::broadcast_to(const Shape& shape, Line w) const { return expand(shape, w); }
Tensor Tensor::repeat_interleave(std::int64_t times, std::optional<int> axis, Line w) const {
  return tilewright::repeat_interleave(*this, times, axis, w);
}
Tensor Tensor::repeat_interleave(const Tensor& times, std::optional<int> axis, Line w) const {
  return tilewright::repeat_interleave(*this, times, axis, w);
}

}  // namespace tilewright
