// Tensors as handles: creation, facts, and reading and writing of elements.
#include "graph/tensor/tensor.h"

#include <cstring>
#include <limits>

#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/eager.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/index_ranges.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"

namespace tilewright {

using graph::At;
using graph::Capture;
using graph::Op;
using std::source_location;

namespace graph {

static void require_countable_bytes(std::int64_t elements) {
  constexpr std::int64_t too_many = std::int64_t{1} << 59;  // of up to 16 bytes
  require(elements < too_many, "[tensor] ", elements,
          " elements are too many; fewer than 2^59 can be had, whose bytes fit 63 bits");
}

Tensor make_tensor(DType dtype, StridedView view, std::shared_ptr<Buffer> buffer) {
  require_countable_bytes(element_count(view.shape));
  auto body = std::make_shared<TensorBody>();
  body->dtype = dtype;
  body->view = std::move(view);
  body->buffer = std::move(buffer);
  return Tensor(std::move(body));
}

TensorBody& body_of(const Tensor& tensor, std::string_view operation, source_location where) {
  require(tensor.defined(), "[", operation, "] the tensor is undefined (at ", At{where},
          "); assign one before using it");
  return *tensor.body();  // defined() has noted that it is read
}

void require_writable(const TensorBody& concrete, std::string_view operation,
                      source_location where) {
  require(!concrete.buffer->is_read_only(), "[", operation,
          "] the tensor is frozen: functions compiled with Options::freezing hold copies of it, "
          "or what they computed from it",
          where.line() > 0 ? concat(" (at ", At{where}, ")") : "",
          "; write to a clone, or compile them without");
}

void* address_of(const TensorBody& body) {
  return static_cast<std::byte*>(body.buffer->data()) + body.view.offset * size_bytes(body.dtype);
}

}  // namespace graph

namespace {

TensorBody& existing(const Tensor& tensor, std::string_view operation) {
  require(tensor.defined(), "[", operation,
          "] the tensor is undefined; assign one before using it");
  return *tensor.body();
}

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

// Bytes of a tensor of that shape; raises `Error` where the shape is impossible.
std::int64_t bytes_of(const Shape& shape, DType dtype, std::string_view operation) {
  std::int64_t bytes = size_bytes(dtype);
  for (std::int64_t size : shape) {
    require(size >= 0, "[", operation, "] size ", size, " in the shape ", shape,
            "; sizes must not be negative");
    require(!__builtin_mul_overflow(bytes, size, &bytes), "[", operation, "] a tensor of shape ",
            shape, " is too large; its bytes must fit 63 bits");
  }
  return bytes;
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype, const Device& device) {
  auto buffer = Buffer::allocate(bytes_of(shape, dtype, "empty"), device.memory());
  Tensor tensor = graph::make_tensor(dtype, graph::row_major(shape), std::move(buffer));
  if (Capture* capture = Capture::active()) capture->note_empty(tensor.body());
  return tensor;
}

Tensor Tensor::from_bytes(const void* data, std::int64_t bytes, const Shape& shape, DType dtype) {
  std::int64_t wanted = bytes_of(shape, dtype, "from");
  require(bytes == wanted, "[from] ", bytes / size_bytes(dtype), " elements for the shape ", shape,
          "; it takes ", wanted / size_bytes(dtype));
  auto buffer = Buffer::allocate(bytes, nullptr);
  Tensor tensor = graph::make_tensor(dtype, graph::row_major(shape), std::move(buffer));
  if (bytes > 0) std::memcpy(tensor.body_->buffer->data(), data, static_cast<std::size_t>(bytes));
  if (Capture* capture = Capture::active()) capture->note_made(tensor.body());
  return tensor;
}

Tensor Tensor::from_blob(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner) {
  std::int64_t bytes = bytes_of(shape, dtype, "from_blob");
  require(data != nullptr || bytes == 0, "[from_blob] the memory is null, for a tensor of shape ",
          shape, "; give the address of its ", bytes, " bytes");
  auto buffer = Buffer::wrap(data, bytes, std::move(owner));
  return graph::make_tensor(dtype, graph::row_major(shape), std::move(buffer));
}

bool Tensor::is_symbolic() const { return body_ && !body_->buffer; }
DType Tensor::dtype() const { return existing(*this, "dtype").dtype; }
const Shape& Tensor::shape() const { return existing(*this, "shape").view.shape; }
std::int64_t Tensor::size(int axis) const {
  auto normal = normalise_axis(axis, rank());
  require(normal.has_value(), "[size] axis ", axis, " is outside a tensor of shape ", shape(),
          "; it must be in [", -rank(), ", ", rank(), ")");
  return shape()[*normal];
}
const Strides& Tensor::strides(source_location w) const {
  const TensorBody& body = graph::body_of(*this, "strides", w);
  if (Capture* capture = Capture::active()) capture->before_placing(body, "strides", w);
  if (!body.buffer) graph::require_usable(body, "strides", w);
  return body.view.strides;
}
// In a function that runs in segments what was recorded is run, so that there is a layout to ask
// for. Before, a value has every layout.
bool Tensor::is_contiguous(source_location w) const {
  Capture* capture = Capture::active();
  if (is_symbolic() && body_->base && capture && capture->is_broken())
    capture->before_placing(*body_, "is_contiguous", w);
  return is_symbolic() || is_row_major(shape(), strides(w));
}

void* Tensor::data(source_location w) const {
  const TensorBody& body = concrete(*this, "data", w);
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

// As concrete, for reading values.
const TensorBody& readable(const Tensor& tensor, std::string_view operation, source_location w) {
  return concrete(tensor, operation, w, &Capture::before_values);
}

}  // namespace

template <typename T>
std::vector<T> Tensor::to_vector(source_location w) const {
  const TensorBody& body = readable(*this, "to_vector", w);
  require(body.dtype == dtype_of<T>(), "[to_vector] the tensor is ", body.dtype, ", not ",
          dtype_of<T>(), " (at ", At{w}, "); read it as its own type or convert with to()");
  auto count = static_cast<std::size_t>(this->count());
  graph::StepAccess access(*this, "to_vector", w);
  bool is_readable = is_contiguous() && body.buffer->memory() == nullptr;
  const Tensor packed = is_readable ? *this : graph::copy_to(*this, Device::cpu());
  const T* first = static_cast<const T*>(graph::address_of(*packed.body()));
  return count == 0 ? std::vector<T>() : std::vector<T>(first, first + count);
}

template <typename T>
T Tensor::item(source_location w) const {
  const TensorBody& body = readable(*this, "item", w);
  require(count() == 1, "[item] the tensor has shape ", shape(), " (at ", At{w},
          "); item reads a tensor with one element");
  require(body.dtype == dtype_of<T>(), "[item] the tensor is ", body.dtype, ", not ", dtype_of<T>(),
          " (at ", At{w}, "); read it as its own type or convert with to()");
  if (body.buffer->memory() != nullptr) return to_vector<T>(w).front();
  graph::StepAccess access(*this, "item", w);
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
  access.add(*this);
  access.add(source);
  access.begin("copy_from", w);
  graph::copy_elements(*this, source);
}

Tensor Tensor::clone(source_location w) const {
  TensorBody& body = graph::body_of(*this, "clone", w);
  if (Capture* capture = Capture::active()) return capture->copy(*this, "clone", w);
  if (!body.buffer) graph::require_usable(body, "clone", w);
  graph::StepAccess access(*this, "clone", w);
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
