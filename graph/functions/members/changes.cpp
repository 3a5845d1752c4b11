// The members of Tensor that write the result of a function of the same name, without the
// underscore, to the tensor.
#include <functional>

#include "graph/functions/indexing/advanced_indexing.h"
#include "graph/functions/indexing/scattering.h"
#include "graph/functions/indexing/scatters.h"
#include "graph/functions/members/writes.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/random/random.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using Line = std::source_location;

namespace {

int rank_of_kind(DType dtype) { return is_boolean(dtype) ? 0 : is_floating(dtype) ? 2 : 1; }

// The result must have the tensor's shape, and no higher kind than its dtype.
Tensor& change(Tensor& x, std::string_view name, Line w, const std::function<Tensor()>& function) {
  graph::tensor_of({x, w}, name);
  const Tensor result = function();
  require(result.shape() == x.shape(), "[", name, "] the tensor is ", x.shape(), ", the result ",
          result.shape(), " (at ", At{w}, "); the operands must broadcast to the tensor");
  require(rank_of_kind(result.dtype()) <= rank_of_kind(x.dtype()), "[", name, "] the result is ",
          result.dtype(), ", which a tensor of ", x.dtype(), " does not hold (at ", At{w},
          "); convert the tensor with to()");
  graph::write(x, {result, w}, name);
  return x;
}

}  // namespace

#define TILEWRIGHT_MEMBER_UNARY(name)
#define TILEWRIGHT_MEMBER_BINARY(name)
#define TILEWRIGHT_MEMBER_AXIS(name)
#define TILEWRIGHT_MEMBER_AXES(name)
#define TILEWRIGHT_MEMBER_PLACE(name)
#define TILEWRIGHT_MEMBER_CHANGE(name)                                                \
  Tensor& Tensor::name##_(Line w) {                                                   \
    return change(*this, #name "_", w, [&] { return tilewright::name({*this, w}); }); \
  }
#define TILEWRIGHT_MEMBER_CHANGE_BY(name)                                                    \
  Tensor& Tensor::name##_(const TensorOperand& other) {                                      \
    auto w = other.where;                                                                    \
    return change(*this, #name "_", w, [&] { return tilewright::name({*this, w}, other); }); \
  }
#include "graph/tensor/user/members.def"

Tensor& Tensor::add_(const TensorOperand& value, const Number& alpha) {
  auto w = value.where;
  return change(*this, "add_", w, [&] { return tilewright::add({*this, w}, value, alpha); });
}
Tensor& Tensor::sub_(const TensorOperand& value, const Number& alpha) {
  auto w = value.where;
  return change(*this, "sub_", w, [&] { return tilewright::sub({*this, w}, value, alpha); });
}
Tensor& Tensor::clamp_(const TensorOperand& least) { return clamp_min_(least); }
Tensor& Tensor::clamp_(const TensorOperand& least, const TensorOperand& most) {
  auto w = least.where;
  return change(*this, "clamp_", w, [&] { return tilewright::clamp({*this, w}, least, most); });
}
Tensor& Tensor::lerp_(const TensorOperand& end, const TensorOperand& weight) {
  auto w = end.where;
  return change(*this, "lerp_", w, [&] { return tilewright::lerp({*this, w}, end, weight); });
}
Tensor& Tensor::addcmul_(const TensorOperand& a, const TensorOperand& b, const Number& value) {
  auto w = a.where;
  return change(*this, "addcmul_", w, [&] { return tilewright::addcmul({*this, w}, a, b, value); });
}
Tensor& Tensor::addcdiv_(const TensorOperand& a, const TensorOperand& b, const Number& value) {
  auto w = a.where;
  return change(*this, "addcdiv_", w, [&] { return tilewright::addcdiv({*this, w}, a, b, value); });
}

Tensor& Tensor::scatter_(int axis, const Tensor& index, const TensorOperand& source) {
  auto w = source.where;
  return change(*this, "scatter_", w, [&] {
    return tilewright::scatter({*this, w}, axis, index, source);
  });
}
Tensor& Tensor::scatter_add_(int axis, const Tensor& index, const Tensor& source, Line w) {
  return change(*this, "scatter_add_", w, [&] {
    return tilewright::scatter_add({*this, w}, axis, index, source);
  });
}
Tensor& Tensor::index_add_(int axis, const Tensor& index, const Tensor& source, const Number& alpha,
                           Line w) {
  return change(*this, "index_add_", w, [&] {
    return tilewright::index_add({*this, w}, axis, index, source, alpha);
  });
}
Tensor& Tensor::index_fill_(int axis, const Tensor& index, const TensorOperand& value) {
  auto w = value.where;
  return change(*this, "index_fill_", w, [&] {
    return tilewright::index_fill({*this, w}, axis, index, value);
  });
}
Tensor& Tensor::masked_scatter_(const Tensor& mask, const Tensor& source, Line w) {
  return change(*this, "masked_scatter_", w, [&] {
    return tilewright::masked_scatter({*this, w}, mask, source);
  });
}

Tensor& Tensor::normal_(double mean, double deviation, const Generator& generator, Line w) {
  return change(*this, "normal_", w, [&] {
    return tilewright::normal(mean, deviation, shape(), dtype(), generator, w);
  });
}
Tensor& Tensor::normal_(double mean, double deviation, Line w) {
  return normal_(mean, deviation, default_generator(), w);
}
Tensor& Tensor::uniform_(double low, double high, const Generator& generator, Line w) {
  return change(*this, "uniform_", w,
                [&] { return tilewright::uniform(shape(), low, high, dtype(), generator, w); });
}
Tensor& Tensor::uniform_(double low, double high, Line w) {
  return uniform_(low, high, default_generator(), w);
}

}  // namespace tilewright
