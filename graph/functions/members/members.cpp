// The members of Tensor that are functions of the same names (members.def), of tensors and of parts
// of them.
#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/arranging.h"
#include "graph/functions/indexing/gathering.h"
#include "graph/functions/ordering/sort.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/reducing/cumulative.h"
#include "graph/functions/reducing/reductions.h"
#include "graph/functions/shaping/axes.h"
#include "graph/functions/shaping/parts.h"
#include "graph/functions/shaping/repeating.h"
#include "graph/ir/location.h"
#include "graph/tensor/tensor.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using Line = std::source_location;
using TensorPair = std::pair<Tensor, Tensor>;

#define TILEWRIGHT_MEMBER_UNARY(name) \
  Tensor Tensor::name(Line w) const { return tilewright::name({*this, w}); }
#define TILEWRIGHT_MEMBER_BINARY(name)                    \
  Tensor Tensor::name(const TensorOperand& other) const { \
    return tilewright::name({*this, other.where}, other); \
  }
#define TILEWRIGHT_MEMBER_AXIS(name) \
  Tensor Tensor::name(int axis, Line w) const { return tilewright::name({*this, w}, axis); }
#define TILEWRIGHT_MEMBER_AXES(name)                                    \
  Tensor Tensor::name(const Axes& axes, bool keep_dims, Line w) const { \
    return tilewright::name({*this, w}, axes, keep_dims);               \
  }
#define TILEWRIGHT_MEMBER_PLACE(name)                                          \
  Tensor Tensor::name(std::optional<int> axis, bool keep_dims, Line w) const { \
    return tilewright::name({*this, w}, axis, keep_dims);                      \
  }
#define TILEWRIGHT_MEMBER_CHANGE(name)
#define TILEWRIGHT_MEMBER_CHANGE_BY(name)
#include "graph/tensor/user/members.def"

#define TILEWRIGHT_MEMBER_UNARY(name) \
  Tensor IndexedTensor::name(Line w) const { return tensor_.index(indices_).name(w); }
#define TILEWRIGHT_MEMBER_BINARY(name)                           \
  Tensor IndexedTensor::name(const TensorOperand& other) const { \
    return tensor_.index(indices_).name(other);                  \
  }
#define TILEWRIGHT_MEMBER_AXIS(name)                   \
  Tensor IndexedTensor::name(int axis, Line w) const { \
    return tensor_.index(indices_).name(axis, w);      \
  }
#define TILEWRIGHT_MEMBER_AXES(name)                                           \
  Tensor IndexedTensor::name(const Axes& axes, bool keep_dims, Line w) const { \
    return tensor_.index(indices_).name(axes, keep_dims, w);                   \
  }
#define TILEWRIGHT_MEMBER_PLACE(name)                                                 \
  Tensor IndexedTensor::name(std::optional<int> axis, bool keep_dims, Line w) const { \
    return tensor_.index(indices_).name(axis, keep_dims, w);                          \
  }
#define TILEWRIGHT_MEMBER_CHANGE(name)
#define TILEWRIGHT_MEMBER_CHANGE_BY(name)
#include "graph/tensor/user/members.def"

Tensor IndexedTensor::reshape(const Sizes& shape, Line w) const {
  return tensor_.index(indices_).reshape(shape, w);
}
Tensor IndexedTensor::view(const Sizes& shape, Line w) const {
  return tensor_.index(indices_).view(shape, w);
}
Tensor IndexedTensor::permute(const std::vector<int>& axes, Line w) const {
  return tensor_.index(indices_).permute(axes, w);
}
Tensor IndexedTensor::transpose(int a, int b, Line w) const {
  return tensor_.index(indices_).transpose(a, b, w);
}
Tensor IndexedTensor::unsqueeze(int axis, Line w) const {
  return tensor_.index(indices_).unsqueeze(axis, w);
}
Tensor IndexedTensor::squeeze(int axis, Line w) const {
  return tensor_.index(indices_).squeeze(axis, w);
}
Tensor IndexedTensor::contiguous(Line w) const { return tensor_.index(indices_).contiguous(w); }
Tensor IndexedTensor::operator[](const ViewIndex& index) const {
  return tensor_.index(indices_)[index];
}
Tensor IndexedTensor::to(DType dtype, Line w) const { return tensor_.index(indices_).to(dtype, w); }
Tensor IndexedTensor::clone(Line w) const { return tensor_.index(indices_).clone(w); }

Tensor Tensor::var(const Axes& axes, std::int64_t correction, bool keep_dims, Line w) const {
  return tilewright::var({*this, w}, axes, correction, keep_dims);
}
Tensor Tensor::stddev(const Axes& axes, std::int64_t correction, bool keep_dims, Line w) const {
  return tilewright::stddev({*this, w}, axes, correction, keep_dims);
}
TensorPair Tensor::max(int axis, bool keep_dims, Line w) const {
  return tilewright::max({*this, w}, axis, keep_dims);
}
TensorPair Tensor::min(int axis, bool keep_dims, Line w) const {
  return tilewright::min({*this, w}, axis, keep_dims);
}
TensorPair Tensor::sort(int axis, bool descending, Line w) const {
  return tilewright::sort({*this, w}, axis, descending);
}
Tensor Tensor::argsort(int axis, bool descending, Line w) const {
  return tilewright::argsort({*this, w}, axis, descending);
}
TensorPair Tensor::topk(std::int64_t k, int axis, bool largest, bool sorted, Line w) const {
  return tilewright::topk({*this, w}, k, axis, largest, sorted);
}
Tensor Tensor::clamp(const TensorOperand& least, const TensorOperand& most) const {
  return tilewright::clamp({*this, least.where}, least, most);
}
Tensor Tensor::masked_fill(const Tensor& mask, const TensorOperand& value) const {
  return tilewright::masked_fill({*this, value.where}, mask, value);
}
Tensor Tensor::masked_select(const Tensor& mask, Line w) const {
  return tilewright::masked_select({*this, w}, mask);
}
Tensor Tensor::gather(int axis, const Tensor& index, Line w) const {
  return tilewright::gather({*this, w}, axis, index);
}
Tensor Tensor::index_select(int axis, const Tensor& index, Line w) const {
  return tilewright::index_select({*this, w}, axis, index);
}
Tensor Tensor::flip(const Axes& axes, Line w) const {
  return tilewright::flip({*this, w}, axes.list());
}
Tensor Tensor::tril(std::int64_t diagonal, Line w) const {
  return tilewright::tril({*this, w}, diagonal);
}
Tensor Tensor::triu(std::int64_t diagonal, Line w) const {
  return tilewright::triu({*this, w}, diagonal);
}
Tensor Tensor::flatten(int first, int last, Line w) const {
  return tilewright::flatten(*this, first, last, w);
}
Tensor Tensor::unflatten(int axis, const Shape& sizes, Line w) const {
  return tilewright::unflatten(*this, axis, sizes, w);
}
Tensor Tensor::t(Line w) const {
  require(rank() <= 2, "[t] the tensor is ", shape(), " (at ", At{w},
          "); it must have two axes at most: permute turns others");
  return rank() < 2 ? *this : transpose(0, 1, w);
}
Tensor Tensor::squeeze(Line w) const {
  Tensor result = *this;
  for (int axis = rank(); axis-- > 0;)
    if (result.shape()[axis] == 1) result = result.squeeze(axis, w);
  return result;
}
Tensor Tensor::expand_as(const Tensor& other, Line w) const { return expand(other.shape(), w); }
Tensor Tensor::view_as(const Tensor& other, Line w) const { return view(other.shape(), w); }
Tensor Tensor::reshape_as(const Tensor& other, Line w) const { return reshape(other.shape(), w); }
Tensor Tensor::repeat(const Sizes& times, Line w) const {
  return tilewright::repeat(*this, times, w);
}
Tensor Tensor::narrow(int axis, std::int64_t start, std::int64_t length, Line w) const {
  return tilewright::narrow(*this, axis, start, length, w);
}
std::vector<Tensor> Tensor::split(std::int64_t size, int axis, Line w) const {
  return tilewright::split(*this, size, axis, w);
}
std::vector<Tensor> Tensor::chunk(std::int64_t chunks, int axis, Line w) const {
  return tilewright::chunk(*this, chunks, axis, w);
}
std::vector<Tensor> Tensor::unbind(int axis, Line w) const {
  return tilewright::unbind(*this, axis, w);
}

}  // namespace tilewright
