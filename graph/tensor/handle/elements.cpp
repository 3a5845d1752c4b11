// Reading and writing the elements of a tensor.
//
// Where a function is being captured there may be no elements yet: the capture records the write,
// or sees to it that what it has recorded has been done.
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>

#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/eager.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/index_ranges.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright {

using graph::At;
using graph::Capture;
using graph::Op;
using std::source_location;

namespace {

// The tensor's memory is about to be read or written by the host: it must be concrete. A capture
// sees to it that what it has recorded of it has been done.
using BeforeUse = void (Capture::*)(const TensorBody&, std::string_view, source_location);
TensorBody& concrete(const Tensor& tensor, std::string_view operation, source_location w,
                     BeforeUse before = &Capture::before_address) {
  TensorBody& body = graph::body_of(tensor, operation, w);
  if (Capture* capture = Capture::active()) (capture->*before)(body, operation, w);
  if (!body.buffer) graph::require_usable(body, operation, w);
  require_current(body.token, operation, w);
  return body;
}

}  // namespace

void* Tensor::data(source_location w) const {
  const TensorBody& body = concrete(*this, "data", w);
  graph::require_shared(body, "data", w);
  require(!body.buffer->is_read_only(), "[data] the tensor is frozen: functions compiled with ",
          "Options::freezing hold copies of it, or what they computed from it, which would not "
          "follow a write (at ",
          At{w}, "); read it through const_data(), write to a clone, or compile them without");
  return graph::address_of(body);
}

const void* Tensor::const_data(source_location w) const {
  return graph::address_of(concrete(*this, "const_data", w, &Capture::before_const_address));
}

namespace {

// The value of a tensor that is about to be read, where a capture computes it for that.
Tensor looked_at(const Tensor& tensor, std::string_view operation, source_location w) {
  Capture* capture = Capture::active();
  return capture == nullptr ? Tensor() : capture->looked_at(tensor, operation, w);
}

// As concrete, for reading values.
const TensorBody& readable(const Tensor& tensor, std::string_view operation, source_location w) {
  return concrete(tensor, operation, w, &Capture::before_values);
}

}  // namespace

template <typename T>
std::vector<T> Tensor::to_vector(source_location w) const {
  if (const Tensor value = looked_at(*this, "to_vector", w); value.defined()) {
    const graph::CapturePause pause;
    return value.to_vector<T>(w);
  }
  const TensorBody& body = readable(*this, "to_vector", w);
  require(body.dtype == dtype_of<T>(), "[to_vector] the tensor is ", body.dtype, ", not ",
          dtype_of<T>(), " (at ", At{w}, "); read it as its own type or convert with to()");
  graph::StepAccess access(body.token, "to_vector", w);
  bool is_readable = is_contiguous() && body.buffer->memory() == nullptr;
  const Tensor packed = is_readable ? *this : graph::copy_to(*this, Device::cpu());
  const T* first = static_cast<const T*>(graph::address_of(*packed.body()));
  std::vector<T> elements;
  reserve_list(elements, "to_vector", count());
  if (count() > 0) elements.assign(first, first + count());
  return elements;
}

// A number of another type as a T; an Error where that is of integers and does not hold it.
template <typename T, typename From>
static T converted(From own, source_location w) {
  if constexpr (!std::is_arithmetic_v<From>) {
    return converted<T>(static_cast<float>(own), w);
  } else if constexpr (std::same_as<T, bool>) {
    return own != From{0};
  } else if constexpr (!std::integral<T>) {
    if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(own);
    return static_cast<T>(static_cast<float>(own));
  } else {
    bool fits = true;
    if constexpr (std::floating_point<From>)
      fits = std::trunc(own) == own &&
             std::abs(own) < std::ldexp(From{1}, std::numeric_limits<T>::digits) &&
             (std::is_signed_v<T> || own >= 0);
    else if constexpr (!std::same_as<From, bool>)
      fits = std::in_range<T>(own);
    require(fits, "[item] the element is ", +own, ", which ", dtype_of<T>(), " does not hold (at ",
            At{w}, "); read it as ", dtype_of<From>());
    return static_cast<T>(own);
  }
}

template <typename T>
T Tensor::item(source_location w) const {
  if (const Tensor value = looked_at(*this, "item", w); value.defined()) {
    const graph::CapturePause pause;
    return value.item<T>(w);
  }
  const TensorBody& body = readable(*this, "item", w);
  require(count() == 1, "[item] the tensor has shape ", shape(), " (at ", At{w},
          "); item reads a tensor with one element");
  if (body.dtype != dtype_of<T>())
    return dispatch(body.dtype, [&](auto own) { return converted<T>(item<decltype(own)>(w), w); });
  if (body.buffer->memory() != nullptr) return to_vector<T>(w).front();
  graph::StepAccess access(body.token, "item", w);
  return *static_cast<const T*>(graph::address_of(body));
}

#define TILEWRIGHT_DTYPE(name, host, ...)                                    \
  template std::vector<host> Tensor::to_vector<host>(source_location) const; \
  template host Tensor::item<host>(source_location) const;
#include "runtime/base/dtype.def"
#undef TILEWRIGHT_DTYPE

void Tensor::copy_from(const Tensor& source, source_location w) {
  TensorBody& to = graph::body_of(*this, "copy_from", w);
  TensorBody& from = graph::body_of(source, "copy_from", w);
  require(to.dtype == from.dtype && shape() == source.shape(), "[copy_from] this tensor is ",
          to.dtype, " ", shape(), ", the source is ", from.dtype, " ", source.shape(), " (at ",
          At{w}, "); dtype and shape must be equal");
  if (Capture* capture = Capture::active()) return capture->write(*this, source, "copy_from", w);
  graph::require_writable(concrete(*this, "copy_from", w), "copy_from", w);
  graph::require_own_elements(to, "copy_from", w);
  concrete(source, "copy_from", w);
  if (to.buffer == from.buffer) {
    if (to.view == from.view) return;
    return copy_from(source.clone(w), w);
  }
  graph::StepAccess access;
  access.add(to.token);
  access.add(from.token);
  access.begin("copy_from", w);
  graph::copy_elements(*this, source);
}

Tensor Tensor::clone(source_location w) const {
  TensorBody& body = graph::body_of(*this, "clone", w);
  if (Capture* capture = Capture::active()) return capture->copy(*this, "clone", w);
  if (!body.buffer) graph::require_usable(body, "clone", w);
  graph::StepAccess access(body.token, "clone", w);
  return graph::copy_row_major(*this);
}

Tensor Tensor::to(DType dtype, source_location w) const {
  if (graph::body_of(*this, "to", w).dtype == dtype) return *this;
  return graph::apply(Op::to, {*this}, {}, w, dtype);
}

Tensor& Tensor::index_copy_(int axis, const Tensor& index, const Tensor& source,
                            source_location w) {
  TensorBody& body = graph::body_of(*this, "index_copy_", w);
  graph::Attributes attributes;
  attributes.axes = {graph::axis_of(axis, shape(), "index_copy_", w)};
  Tensor operands[3] = {*this, index, source};
  auto require_rows = [&] {
    if (index.defined() && is_integer(index.dtype()))
      graph::require_inside(
          index, {"index_copy_", graph::IndexRange::Noun::row, 0, shape()[attributes.axes[0]], w});
  };
  if (Capture* capture = Capture::active()) {
    require_rows();
    Tensor written = capture->append(Op::index_copy, operands, attributes, std::nullopt, w);
    capture->write(*this, written, "index_copy_", w);
    return *this;
  }
  graph::require_writable(concrete(*this, "index_copy_", w), "index_copy_", w);
  graph::require_own_elements(body, "index_copy_", w);
  require_rows();
  graph::run_eager_in_place(Op::index_copy, operands, attributes, w);
  return *this;
}

}  // namespace tilewright
