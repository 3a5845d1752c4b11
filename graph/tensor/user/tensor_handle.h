// The class of the user's tensor; graph/tensor/tensor.h includes it with all that belongs to it.
// The operations on tensors, under PyTorch's names, are members or functions (functions.h).
//
// A Tensor is a handle. Outside capture it is concrete: bytes in a Buffer, seen through a dtype, a
// shape, strides and an offset; copies of the handle share the bytes. They lie in the host's memory
// or in a GPU's (`to(Device::cuda())`), and operations run at once where their operands lie, each
// as one compiled kernel; a GPU is not waited for until the host reads. Inside a function that
// `compile` captures (graph/compile/compile.h) a Tensor may be symbolic: operations on it only
// record a node, and an operation that needs its data (`item`, `to_vector`) ends the graph: the
// recorded part runs, and the tensor becomes concrete.
//
// Operands broadcast by NumPy's rule. Dtypes promote by PyTorch's, in three ranks: tensors with
// axes, tensors without, C++ numbers. A lower rank decides only where its kind is higher (floating
// over integer over bool), so that f32 tensors times a 0-d f64 one stay f32 and integers plus 0.5
// become f32. Unlike PyTorch, u16, u32 and u64 take part too. A number beyond an integer dtype
// wraps, as in PyTorch, where it meets tensors in arithmetic. Misuse raises `Error` that begins
// with the operation. A Tensor may be used from several threads at once as long as none writes to
// its bytes; one capture belongs to one thread.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dsl/launch/device.h"
#include "graph/tensor/user/axes.h"
#include "graph/tensor/user/nested_list.h"
#include "graph/tensor/user/number.h"
#include "graph/tensor/user/sizes.h"
#include "graph/tensor/user/tensor_index.h"
#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/buffer.h"

namespace tilewright {

struct TensorBody;  // graph/tensor/tensor_body.h
namespace dsl {
class LaunchArgument;  // dsl/language/kernel.h
}

namespace graph {
class HandleAssignments;  // graph/tensor/handle_assignments.h
}
namespace detail {
extern std::atomic<int> captures;  // under way in this process
}

class Generator;  // graph/functions/random/generator.h
class TensorOperand;
class IndexedTensor;
enum class RoundingMode : std::uint8_t;  // functions.h

class Tensor {
 public:
  using Line = std::source_location;
  Tensor() = default;  // undefined
  explicit Tensor(std::shared_ptr<TensorBody> body) : body_(std::move(body)) {}
  // Functions that were compiled while they read a handle learn when it stands for another tensor
  // (graph/tensor/handle_changes.h).
  Tensor(const Tensor& other) : body_(other.body_) { other.note_read(); }
  Tensor(Tensor&& other) noexcept : body_(std::move(other.body_)) {
    if (other.is_watched() && body_ != nullptr) [[unlikely]]
      other.tell_change(body_);
  }
  // The handle stands for the other tensor from now on. (An assignment to a part, as x[i], writes
  // its elements; see below.)
  Tensor& operator=(const Tensor& other) & {
    other.note_read();
    if (is_watched() && body_ != other.body_) [[unlikely]]
      tell_change(body_);
    body_ = other.body_;
    return *this;
  }
  Tensor& operator=(Tensor&& other) & noexcept {
    if (is_watched() && body_ != other.body_) [[unlikely]]
      tell_change(body_);
    if (other.is_watched() && this != &other) [[unlikely]]
      other.tell_change(other.body_);
    body_ = std::move(other.body_);
    return *this;
  }
  ~Tensor() {
    if (is_marked()) [[unlikely]]
      tell_end();
  }

  // Uninitialised; raises `Error` on negative or overflowing sizes.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32,
                      const Device& device = Device::cpu(), Line w = Line::current());
  // A copy of the elements, row-major, on the host; the dtype is that of their C++ type: f32 of
  // {1.f, 2.f}, f64 of {1.0, 2.0}, i32 of {1, 2}. Without a shape the result has one axis, or that
  // of a nested list: Tensor::from({{1.f, 2.f}, {3.f, 4.f}}) is 2x2.
  template <typename T, std::size_t N>
  static Tensor from(std::span<T, N> elements, const Shape& shape, Line w = Line::current()) {
    return from_bytes(elements.data(), static_cast<std::int64_t>(elements.size_bytes()), shape,
                      dtype_of<std::remove_cv_t<T>>(), w);
  }
  template <typename T, std::size_t N>
  static Tensor from(std::span<T, N> elements) {
    return from(elements, {static_cast<std::int64_t>(elements.size())});
  }
  template <typename T>
  static Tensor from(const std::vector<T>& elements, const Shape& shape, Line w = Line::current()) {
    if constexpr (std::same_as<T, bool>)
      return from_list<bool>({{elements.begin(), elements.end()}, shape}, w);
    else
      return from(std::span<const T>(elements), shape, w);
  }
  template <typename T>
  static Tensor from(const std::vector<T>& elements) {
    return from(elements, {static_cast<std::int64_t>(elements.size())});
  }
  template <typename T>
  static Tensor from(std::initializer_list<T> elements, const Shape& shape,
                     Line w = Line::current()) {
    return from(std::span(elements.begin(), elements.size()), shape, w);
  }
  template <typename T>
  static Tensor from(std::initializer_list<T> elements) {
    return from(std::span(elements.begin(), elements.size()));
  }
  template <typename T>
  static Tensor from(std::initializer_list<std::initializer_list<T>> rows) {
    return from_list<T>(detail::NestedList<T>::of(rows));
  }
  template <typename T>
  static Tensor from(std::initializer_list<std::initializer_list<std::initializer_list<T>>> rows) {
    return from_list<T>(detail::NestedList<T>::of(rows));
  }
  template <typename T>
  static Tensor scalar(T value) {
    return from(std::span<const T>(&value, 1), {});
  }
  static Tensor from_bytes(const void* data, std::int64_t size_bytes, const Shape& shape,
                           DType dtype, Line w = Line::current());
  // Sees memory of the user's, no copy, wherever the address is a multiple of the element's size;
  // `data` must outlive the tensor or be kept alive by `owner`. Memory of the host that lies
  // otherwise, such as numbers in the middle of a packet, is copied: the tensor has the values of
  // now, and writes to it do not reach the memory. On a GPU it is an Error. At a multiple of 64
  // bytes kernels for GPUs are faster. `device` is the one whose address it is.
  static Tensor from_blob(void* data, const Shape& shape, DType dtype,
                          std::shared_ptr<void> owner = {}, const Device& device = Device::cpu());

  bool defined() const {
    note_read();
    return body_ != nullptr;
  }
  bool is_symbolic() const;
  DType dtype() const;
  const Shape& shape() const;
  std::int64_t size(int axis) const;  // raises `Error` for an axis outside the rank
  int rank() const { return shape().rank(); }
  std::int64_t count() const { return element_count(shape()); }

  // Concrete tensors only.
  // Where the bytes lie: the host or a GPU.
  Device device(std::source_location w = std::source_location::current()) const;
  // In elements.
  const Strides& strides(std::source_location w = std::source_location::current()) const;
  // True for a symbolic tensor, which is a value.
  bool is_contiguous(std::source_location w = std::source_location::current()) const;
  // The address of the first element in the memory of the tensor's device, to read and to write.
  // Raises `Error` for a tensor that is frozen (`Options::freezing`), since copies of it would not
  // follow; a pointer from before that must not be written through any more either. If the tensor
  // is a result that its function's next call overwrites (reduce-overhead), the pointer is valid
  // until then.
  void* data(std::source_location w = std::source_location::current()) const;
  // The same to read only, of frozen tensors too.
  const void* const_data(std::source_location w = std::source_location::current()) const;
  // Row-major copy; T must be the dtype's host type.
  template <typename T>
  std::vector<T> to_vector(std::source_location w = std::source_location::current()) const;
  // The value of a tensor with one element, converted to T. An Error where an integer T does not
  // hold it.
  template <typename T>
  T item(std::source_location w = std::source_location::current()) const;

  // Same shape and dtype, any devices; writes this tensor's bytes. Like index_copy_, an Error where
  // two elements of this tensor share a place in memory, as those of an expanded one do.
  void copy_from(const Tensor& source, std::source_location w = std::source_location::current());
  Tensor clone(std::source_location w = std::source_location::current()) const;  // row-major

  // Views: no data moves. Negative axes count from the end; one size of reshape may be -1. To
  // squeeze an axis of another size than 1 is an Error (PyTorch leaves it).
  Tensor reshape(const Shape& shape,
                 std::source_location w = std::source_location::current()) const;
  Tensor view(const Shape& shape, std::source_location w = std::source_location::current()) const;
  template <std::integral T>  // of one axis: x.view(-1)
  Tensor reshape(T size, Line w = Line::current()) const {
    return reshape(Shape{size}, w);
  }
  template <std::integral T>
  Tensor view(T size, Line w = Line::current()) const {
    return view(Shape{size}, w);
  }
  Tensor permute(const std::vector<int>& axes,
                 std::source_location w = std::source_location::current()) const;
  Tensor transpose(int a, int b, std::source_location w = std::source_location::current()) const;
  Tensor unsqueeze(int axis, std::source_location w = std::source_location::current()) const;
  Tensor squeeze(int axis, std::source_location w = std::source_location::current()) const;
  Tensor expand(const Shape& shape, std::source_location w = std::source_location::current()) const;
  // Axis `axis` from start to end by step, which must be positive. Negative bounds count from the
  // end; those outside the axis are moved to its ends, and nothing lies between crossed ones.
  Tensor slice(int axis, std::int64_t start, std::int64_t end, std::int64_t step = 1,
               std::source_location w = std::source_location::current()) const;
  Tensor select(int axis, std::int64_t index,
                std::source_location w = std::source_location::current()) const;
  Tensor contiguous(std::source_location w = std::source_location::current()) const;
  // Floats to integers saturate, and NaN gives 0; PyTorch's wrap.
  Tensor to(DType dtype, std::source_location w = std::source_location::current()) const;
  // On that device, row-major; this tensor itself if it lies there. Not inside captured functions.
  Tensor to(const Device& device, std::source_location w = std::source_location::current()) const;
  // Moves the elements there, for all handles on this tensor, row-major; views of it that were
  // taken before keep the former memory. Code compiled with this tensor is compiled again. Not
  // thread safe with uses of the tensor.
  void move_to(const Device& device, std::source_location w = std::source_location::current());

  // Copies row i of `source` (along `axis`) to row index[i] of this tensor, in place. `index` is
  // i32 or i64 [n], or [B, n] with rows for each of the B elements of axis 0; rows outside are an
  // Error, inside a compiled function as far as Options::index_checks says; unchecked, they are
  // ignored there. If several rows go to the same row, it is undefined which one stays, as in
  // PyTorch.
  Tensor& index_copy_(int axis, const Tensor& index, const Tensor& source,
                      std::source_location w = std::source_location::current());

  // Parts (tensor_index.h). A number, a Slice, None or Ellipsis in brackets, or a list of them,
  // gives a view: x[0] is a row, x[{Slice(), 0}] a column. Where one of the indices is a tensor the
  // part is read as a copy, and can be written: x[mask] = 0, x[{Slice(), rows}] += y.
  Tensor operator[](const ViewIndex& index) const;
  Tensor operator[](std::initializer_list<ViewIndex> indices) const;
  IndexedTensor operator[](const ElementIndex& index) const;
  template <typename = void>  // a template, so that a list which is both is of views
  IndexedTensor operator[](std::initializer_list<TensorIndex> indices) const;
  Tensor index(const std::vector<TensorIndex>& indices) const;
  // Writes the elements that `index` gives, in place; `value` broadcasts to them and is converted
  // to this tensor's dtype. Which of several for one element stays is undefined; with `accumulate`
  // they are added. A mask with a value of one element is not read, so that no graph breaks there.
  Tensor& index_put_(const std::vector<TensorIndex>& indices, const TensorOperand& value,
                     bool accumulate = false);

  // In place, as in PyTorch: all views of the elements see the write, inside compiled functions too
  // (`copy_from`). The result must have this tensor's shape and no higher kind than its dtype
  // (floating over integer over bool), to which it is converted. An assignment to a temporary, as
  // to x[i], writes its elements; `value` broadcasts, and is converted to any dtype. It is an Error
  // where nothing else sees these elements, as in (x + y) = z.
  Tensor& operator+=(const TensorOperand& value);
  Tensor& operator-=(const TensorOperand& value);
  Tensor& operator*=(const TensorOperand& value);
  Tensor& operator/=(const TensorOperand& value);
  Tensor& operator&=(const TensorOperand& value);
  Tensor& operator|=(const TensorOperand& value);
  Tensor& operator^=(const TensorOperand& value);
  void operator=(const TensorOperand& value) &&;
  Tensor& copy_(const TensorOperand& value);
  Tensor& fill_(const Number& value, Line w = Line::current());
  Tensor& zero_(Line w = Line::current());
  Tensor& masked_fill_(const Tensor& mask, const TensorOperand& value);
  // The results of the functions of these names, without the underscore, written to this tensor by
  // the same rule; more are in members.def.
  Tensor& add_(const TensorOperand& value, const Number& alpha = 1);
  Tensor& sub_(const TensorOperand& value, const Number& alpha = 1);
  Tensor& clamp_(const TensorOperand& least);
  Tensor& clamp_(const TensorOperand& least, const TensorOperand& most);
  Tensor& lerp_(const TensorOperand& end, const TensorOperand& weight);
  Tensor& addcmul_(const TensorOperand& a, const TensorOperand& b, const Number& value = 1);
  Tensor& addcdiv_(const TensorOperand& a, const TensorOperand& b, const Number& value = 1);
  Tensor& scatter_(int axis, const Tensor& index, const TensorOperand& source);
  Tensor& scatter_add_(int axis, const Tensor& index, const Tensor& source,
                       Line w = Line::current());
  Tensor& index_add_(int axis, const Tensor& index, const Tensor& source, const Number& alpha = 1,
                     Line w = Line::current());
  Tensor& index_fill_(int axis, const Tensor& index, const TensorOperand& value);
  Tensor& masked_scatter_(const Tensor& mask, const Tensor& source, Line w = Line::current());
  Tensor& normal_(double mean = 0, double deviation = 1, Line w = Line::current());
  Tensor& normal_(double mean, double deviation, const Generator& generator,
                  Line w = Line::current());
  Tensor& uniform_(double low = 0, double high = 1, Line w = Line::current());
  Tensor& uniform_(double low, double high, const Generator& generator, Line w = Line::current());

  // The functions of these names, whose headers document them, with this tensor as their first
  // operand; more are in members.def.
#define TILEWRIGHT_MEMBER_UNARY(name) Tensor name(Line w = Line::current()) const;
#define TILEWRIGHT_MEMBER_BINARY(name) Tensor name(const TensorOperand& other) const;
#define TILEWRIGHT_MEMBER_AXIS(name) Tensor name(int axis, Line w = Line::current()) const;
#define TILEWRIGHT_MEMBER_AXES(name) \
  Tensor name(const Axes& axes = {}, bool keep_dims = false, Line w = Line::current()) const;
#define TILEWRIGHT_MEMBER_PLACE(name) \
  Tensor name(std::optional<int> axis = {}, bool keep_dims = false, Line w = Line::current()) const;
#define TILEWRIGHT_MEMBER_CHANGE(name) Tensor& name##_(Line w = Line::current());
#define TILEWRIGHT_MEMBER_CHANGE_BY(name) Tensor& name##_(const TensorOperand& other);
#include "graph/tensor/user/members.def"
  Tensor add(const TensorOperand& other, const Number& alpha) const;
  Tensor sub(const TensorOperand& other, const Number& alpha) const;
  Tensor div(const TensorOperand& other, RoundingMode mode) const;
  Tensor var(const Axes& axes = {}, std::int64_t correction = 1, bool keep_dims = false,
             Line w = Line::current()) const;
  Tensor stddev(const Axes& axes = {}, std::int64_t correction = 1, bool keep_dims = false,
                Line w = Line::current()) const;
  std::pair<Tensor, Tensor> max(int axis, bool keep_dims = false, Line w = Line::current()) const;
  std::pair<Tensor, Tensor> min(int axis, bool keep_dims = false, Line w = Line::current()) const;
  std::pair<Tensor, Tensor> sort(int axis = -1, bool descending = false,
                                 Line w = Line::current()) const;
  Tensor argsort(int axis = -1, bool descending = false, Line w = Line::current()) const;
  std::pair<Tensor, Tensor> topk(std::int64_t k, int axis = -1, bool largest = true,
                                 bool sorted = true, Line w = Line::current()) const;
  std::pair<Tensor, Tensor> kthvalue(std::int64_t k, int axis = -1, bool keep_dims = false,
                                     Line w = Line::current()) const;
  std::pair<Tensor, Tensor> median(int axis, bool keep_dims = false,
                                   Line w = Line::current()) const;
  std::pair<Tensor, Tensor> cummax(int axis, Line w = Line::current()) const;
  std::pair<Tensor, Tensor> cummin(int axis, Line w = Line::current()) const;
  Tensor quantile(const TensorOperand& q, std::optional<int> axis = {},
                  bool keep_dims = false) const;
  Tensor norm(double order = 2, const Axes& axes = {}, bool keep_dims = false,
              Line w = Line::current()) const;
  Tensor unique(Line w = Line::current()) const;  // the values alone
  Tensor nan_to_num(double nan = 0, std::optional<double> posinf = {},
                    std::optional<double> neginf = {}, Line w = Line::current()) const;
  Tensor clamp(const TensorOperand& least) const;
  Tensor clamp(const TensorOperand& least, const TensorOperand& most) const;
  Tensor masked_fill(const Tensor& mask, const TensorOperand& value) const;
  Tensor masked_select(const Tensor& mask, Line w = Line::current()) const;
  Tensor gather(int axis, const Tensor& index, Line w = Line::current()) const;
  Tensor index_select(int axis, const Tensor& index, Line w = Line::current()) const;
  Tensor take_along_dim(const Tensor& index, std::optional<int> axis = {},
                        Line w = Line::current()) const;
  Tensor scatter(int axis, const Tensor& index, const TensorOperand& source) const;
  Tensor scatter_add(int axis, const Tensor& index, const Tensor& source,
                     Line w = Line::current()) const;
  Tensor index_add(int axis, const Tensor& index, const Tensor& source, const Number& alpha = 1,
                   Line w = Line::current()) const;
  Tensor index_fill(int axis, const Tensor& index, const TensorOperand& value) const;
  Tensor masked_scatter(const Tensor& mask, const Tensor& source, Line w = Line::current()) const;
  Tensor mm(const Tensor& other, Line w = Line::current()) const;
  Tensor bmm(const Tensor& other, Line w = Line::current()) const;
  Tensor roll(const Sizes& shifts, const Axes& axes = {}, Line w = Line::current()) const;
  Tensor unfold(int axis, std::int64_t size, std::int64_t step, Line w = Line::current()) const;
  Tensor diagonal(std::int64_t offset = 0, int a = 0, int b = 1, Line w = Line::current()) const;
  Tensor movedim(int from, int to, Line w = Line::current()) const;
  Tensor swapaxes(int a, int b, Line w = Line::current()) const;
  Tensor flip(const Axes& axes, Line w = Line::current()) const;
  Tensor tril(std::int64_t diagonal = 0, Line w = Line::current()) const;
  Tensor triu(std::int64_t diagonal = 0, Line w = Line::current()) const;
  Tensor flatten(int first = 0, int last = -1, Line w = Line::current()) const;
  Tensor unflatten(int axis, const Shape& sizes, Line w = Line::current()) const;
  Tensor t(Line w = Line::current()) const;        // of two axes at most
  Tensor squeeze(Line w = Line::current()) const;  // without all axes of size 1
  Tensor expand_as(const Tensor& other, Line w = Line::current()) const;
  Tensor view_as(const Tensor& other, Line w = Line::current()) const;
  Tensor reshape_as(const Tensor& other, Line w = Line::current()) const;
  Tensor broadcast_to(const Shape& shape, Line w = Line::current()) const;
  Tensor repeat(const Sizes& times, Line w = Line::current()) const;
  Tensor repeat_interleave(std::int64_t times, std::optional<int> axis = {},
                           Line w = Line::current()) const;
  Tensor repeat_interleave(const Tensor& times, std::optional<int> axis = {},
                           Line w = Line::current()) const;
  Tensor narrow(int axis, std::int64_t start, std::int64_t length, Line w = Line::current()) const;
  std::vector<Tensor> split(std::int64_t size, int axis = 0, Line w = Line::current()) const;
  std::vector<Tensor> chunk(std::int64_t chunks, int axis = 0, Line w = Line::current()) const;
  std::vector<Tensor> unbind(int axis = 0, Line w = Line::current()) const;

  const std::shared_ptr<TensorBody>& body() const { return body_; }
  // A capture on this thread, if there is one, depends on the value of this handle.
  void note_read() const {
    if (detail::captures.load(std::memory_order_relaxed) != 0) [[unlikely]]
      mark();
  }

 private:
  template <typename T>
  static Tensor from_list(const detail::NestedList<T>& list, Line w = Line::current()) {
    return from_bytes(list.elements.data(),
                      static_cast<std::int64_t>(list.elements.size() * sizeof(T)), list.shape,
                      dtype_of<T>(), w);
  }
  bool is_marked() const { return read_by_.load(std::memory_order_relaxed) != 0; }
  void mark() const;
  // True if a change must be reported: to functions that have read the handle, or to a capture
  // under way.
  bool is_watched() const {
    return is_marked() || detail::captures.load(std::memory_order_relaxed) != 0;
  }
  void tell_change(const std::shared_ptr<TensorBody>& former) noexcept;
  void tell_end() noexcept;
  friend class graph::HandleAssignments;
  std::shared_ptr<TensorBody> body_;
  mutable std::atomic<std::uint64_t> read_by_ = 0;  // serial of a capture; 0: none
};

// A tensor or a number, with the line of the call.
class TensorOperand {
 public:
  TensorOperand(const Tensor& tensor, std::source_location where = std::source_location::current())
      : tensor(tensor), is_number(false), where(where) {}
  TensorOperand(IndexedTensor&& part, std::source_location where = std::source_location::current());
  TensorOperand(double number, std::source_location where = std::source_location::current())
      : number(number), where(where) {}
  template <std::integral T>
  TensorOperand(T value, std::source_location where = std::source_location::current())
      : number(value), where(where) {}
  Tensor tensor;
  bool is_number = true;
  Number number = 0;
  std::source_location where;
};

}  // namespace tilewright
