// The user's tensor, and the operations on it under PyTorch's names.
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
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dsl/launch/device.h"
#include "graph/tensor/number.h"
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

class Tensor {
 public:
  Tensor() = default;  // undefined
  explicit Tensor(std::shared_ptr<TensorBody> body) : body_(std::move(body)) {}
  // Functions that were compiled while they read a handle learn when it stands for another tensor
  // (graph/tensor/handle_changes.h).
  Tensor(const Tensor& other) : body_(other.body_) { other.note_read(); }
  Tensor(Tensor&& other) noexcept : body_(std::move(other.body_)) {
    if (other.is_watched() && body_ != nullptr) [[unlikely]]
      other.tell_change(body_);
  }
  Tensor& operator=(const Tensor& other) {
    other.note_read();
    if (is_watched() && body_ != other.body_) [[unlikely]]
      tell_change(body_);
    body_ = other.body_;
    return *this;
  }
  Tensor& operator=(Tensor&& other) noexcept {
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
                      const Device& device = Device::cpu());
  // A copy of the elements, row-major.
  template <typename T>
  static Tensor from(std::span<const T> elements, const Shape& shape) {
    return from_bytes(elements.data(), static_cast<std::int64_t>(elements.size_bytes()), shape,
                      dtype_of<T>());
  }
  template <typename T>
  static Tensor from(const std::vector<T>& elements, const Shape& shape) {
    return from(std::span<const T>(elements), shape);
  }
  template <typename T>
  static Tensor scalar(T value) {
    return from(std::span<const T>(&value, 1), {});
  }
  static Tensor from_bytes(const void* data, std::int64_t size_bytes, const Shape& shape,
                           DType dtype);
  // Sees memory of the user's, no copy; `data` must be aligned to 64 bytes and outlive the tensor
  // or be kept alive by `owner`.
  static Tensor from_blob(void* data, const Shape& shape, DType dtype,
                          std::shared_ptr<void> owner = {});

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
  // The value of a tensor with one element.
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
  // i32 or i64 [n]; rows outside are an Error, inside a compiled function as far as
  // Options::index_checks says; unchecked, they are ignored there. If several rows go to the same
  // row, it is undefined which one stays, as in PyTorch.
  Tensor& index_copy_(int axis, const Tensor& index, const Tensor& source,
                      std::source_location w = std::source_location::current());

  const std::shared_ptr<TensorBody>& body() const { return body_; }
  // A capture on this thread, if there is one, depends on the value of this handle.
  void note_read() const {
    if (detail::captures.load(std::memory_order_relaxed) != 0) [[unlikely]]
      mark();
  }

 private:
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

// Constants. Inside capture they are nodes of the graph; outside they lie on the host, and
// operations bring them to where their other operands lie. `full` raises `Error` for a value that
// the dtype does not hold; its dtype is f32 unless one is given, whatever the value (PyTorch's is
// that of the value).
Tensor full(const Shape& shape, const Number& value, DType dtype = DType::f32,
            std::source_location w = std::source_location::current());
Tensor zeros(const Shape& shape, DType dtype = DType::f32,
             std::source_location w = std::source_location::current());
Tensor ones(const Shape& shape, DType dtype = DType::f32,
            std::source_location w = std::source_location::current());
// start, start + step, ... before end; empty if end is before start (PyTorch raises).
Tensor arange(std::int64_t start, std::int64_t end, std::int64_t step = 1, DType dtype = DType::i64,
              std::source_location w = std::source_location::current());

// Pointwise. Sums and products of bool are `or` and `and`; bool has no difference.
Tensor operator+(const TensorOperand& a, const TensorOperand& b);
Tensor operator-(const TensorOperand& a, const TensorOperand& b);
Tensor operator*(const TensorOperand& a, const TensorOperand& b);
Tensor operator/(const TensorOperand& a, const TensorOperand& b);  // of integers: gives f32
Tensor operator-(const TensorOperand& a);
Tensor operator==(const TensorOperand& a, const TensorOperand& b);
Tensor operator!=(const TensorOperand& a, const TensorOperand& b);
Tensor operator<(const TensorOperand& a, const TensorOperand& b);
Tensor operator<=(const TensorOperand& a, const TensorOperand& b);
Tensor operator>(const TensorOperand& a, const TensorOperand& b);
Tensor operator>=(const TensorOperand& a, const TensorOperand& b);
Tensor maximum(const TensorOperand& a, const TensorOperand& b);
Tensor minimum(const TensorOperand& a, const TensorOperand& b);
// min(max(x, least), most), in the dtype that they promote to; NaN wins. Where `least` is above
// `most` the result is `most`, as in PyTorch. Raises `Error` if neither bound is given.
Tensor clamp(const TensorOperand& x, const std::optional<TensorOperand>& least,
             const std::optional<TensorOperand>& most = {});
// Quotients are floating; those of integers are f32. Rounded ones have the operands' dtype;
// `floor_divide` is div with RoundingMode::floor. Dividing integers by the number 0 is an Error;
// where elements of a tensor are 0, quotient and remainder are 0, on all devices (PyTorch raises on
// the host).
enum class RoundingMode : std::uint8_t { none, trunc, floor };
Tensor div(const TensorOperand& a, const TensorOperand& b, RoundingMode mode = RoundingMode::none);
Tensor floor_divide(const TensorOperand& a, const TensorOperand& b);
Tensor remainder(const TensorOperand& a, const TensorOperand& b);  // of the divisor's sign
Tensor fmod(const TensorOperand& a, const TensorOperand& b);       // of the dividend's sign
// For integers, and for bool except shifts. A shift by the width or more gives 0, or -1 for a right
// shift of a negative number.
Tensor bitwise_and(const TensorOperand& a, const TensorOperand& b);
Tensor bitwise_or(const TensorOperand& a, const TensorOperand& b);
Tensor bitwise_xor(const TensorOperand& a, const TensorOperand& b);
Tensor shift_left(const TensorOperand& a, const TensorOperand& b);
Tensor shift_right(const TensorOperand& a, const TensorOperand& b);
Tensor logical_and(const TensorOperand& a, const TensorOperand& b);
Tensor logical_or(const TensorOperand& a, const TensorOperand& b);
Tensor where(const TensorOperand& condition, const TensorOperand& a, const TensorOperand& b);
// Functions of one operand whose row of ops.def says all of them: exp, log, sin, tanh, relu and so
// on. Integers are taken as f32 where the result is floating.
#define TILEWRIGHT_FUNCTION_unary(name) Tensor name(const TensorOperand& x);
#define TILEWRIGHT_FUNCTION_own(name)
#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes, function) \
  TILEWRIGHT_FUNCTION_##function(name)
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP
#undef TILEWRIGHT_FUNCTION_own
#undef TILEWRIGHT_FUNCTION_unary
Tensor floor(const TensorOperand& x);
Tensor ceil(const TensorOperand& x);
Tensor round(const TensorOperand& x);
Tensor logical_not(const TensorOperand& x);
Tensor square(const TensorOperand& x);
// log(1 + exp(beta x)) / beta, and x where beta x is above the threshold.
Tensor softplus(const TensorOperand& x, double beta = 1, double threshold = 20);
enum class GeluForm : std::uint8_t { erf, tanh };
Tensor gelu(const TensorOperand& x, GeluForm form = GeluForm::erf);

// Reductions over the given axes (all if empty). Sums and products of integers and of bool are i64.
// Over no elements a sum is 0, a product 1, a mean or variance NaN, `any` false, `all` true, and
// the others raise `Error`. A NaN is both the greatest and the least.
Tensor sum(const TensorOperand& x, std::vector<int> axes = {}, bool keep_dims = false);
Tensor prod(const TensorOperand& x, std::vector<int> axes = {}, bool keep_dims = false);
Tensor mean(const TensorOperand& x, std::vector<int> axes = {}, bool keep_dims = false);
Tensor amax(const TensorOperand& x, std::vector<int> axes = {}, bool keep_dims = false);
Tensor amin(const TensorOperand& x, std::vector<int> axes = {}, bool keep_dims = false);
// bool, of u8 too, where PyTorch gives uint8.
Tensor any(const TensorOperand& x, std::vector<int> axes = {}, bool keep_dims = false);
Tensor all(const TensorOperand& x, std::vector<int> axes = {}, bool keep_dims = false);
// Sums of squares of deviations from the mean over n - correction, where there are n elements;
// correction 0 gives the biased variance. `stddev` is its root, PyTorch's `std`.
Tensor var(const TensorOperand& x, std::vector<int> axes = {}, std::int64_t correction = 1,
           bool keep_dims = false);
Tensor stddev(const TensorOperand& x, std::vector<int> axes = {}, std::int64_t correction = 1,
              bool keep_dims = false);
template <std::same_as<bool> Flag>  // which flag it would be is not to be guessed
Tensor var(const TensorOperand& x, std::vector<int> axes, Flag) = delete;
template <std::same_as<bool> Flag>
Tensor stddev(const TensorOperand& x, std::vector<int> axes, Flag) = delete;
// The place of the first of equals, i64; without an axis among all elements in row-major order.
Tensor argmax(const TensorOperand& x, std::optional<int> axis = {}, bool keep_dims = false);
Tensor argmin(const TensorOperand& x, std::optional<int> axis = {}, bool keep_dims = false);
// Two results that are found together, in one kernel; fields of the pair in PyTorch's order.
// {values, indices} over one axis: the greatest, or the least, of bool too, and the place of the
// first of equals, i64. A NaN wins.
std::pair<Tensor, Tensor> max(const TensorOperand& x, int axis, bool keep_dims = false);
std::pair<Tensor, Tensor> min(const TensorOperand& x, int axis, bool keep_dims = false);
// {amin, amax}, over one axis or all.
std::pair<Tensor, Tensor> aminmax(const TensorOperand& x, std::optional<int> axis = {},
                                  bool keep_dims = false);
// {var, mean}. (PyTorch's mean is NaN here where an element is infinite; this one is as mean's.)
std::pair<Tensor, Tensor> var_mean(const TensorOperand& x, std::vector<int> axes = {},
                                   std::int64_t correction = 1, bool keep_dims = false);
template <std::same_as<bool> Flag>
std::pair<Tensor, Tensor> var_mean(const TensorOperand& x, std::vector<int> axes, Flag) = delete;
// Integers are taken as f32 by these two, as by exp and the like.
Tensor softmax(const TensorOperand& x, int axis);
Tensor log_softmax(const TensorOperand& x, int axis);
// Over the last axis. (PyTorch's rms_norm has the least step of the dtype above 1 as its eps.)
Tensor layer_norm(const TensorOperand& x, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);
Tensor rms_norm(const TensorOperand& x, const Tensor& weight = {}, double eps = 1e-5);

// [.., M, K] x [.., K, N]; leading axes broadcast. An operand [K] stands for [1, K] or [K, 1], and
// the result has no axis for it. Operands must have one dtype and give that, or `dtype`, that of
// the sums: i32 of integers of 8 and 16 bits, f32 of floats of 16 and 8, for which it is the only
// one.
Tensor matmul(const TensorOperand& a, const TensorOperand& b, std::optional<DType> dtype = {});
Tensor linear(const TensorOperand& x, const Tensor& weight, const Tensor& bias = {});

// Rows of table [V, C] for ids of i32 or i64. An id outside is an Error, inside a compiled function
// as far as Options::index_checks says; unchecked, it gives a row of zeros.
Tensor embedding(const TensorOperand& ids, const Tensor& table);
Tensor cat(const std::vector<Tensor>& parts, int axis,
           std::source_location w = std::source_location::current());

// Where the T rows of q stand among S keys: row i at key i, as with PyTorch's is_causal, or the
// last row at the last key, row i at i + S - T.
enum class CausalAlignment : std::uint8_t { top_left, bottom_right };
struct AttentionOptions {
  bool causal = false;               // a row sees the key where it stands and those before
  std::optional<double> scale = {};  // 1 / sqrt(D) if absent
  // i32 or i64 [1], not negative: row i of q stands at position + i, as rows do that are new to a
  // cache of keys. Causal only, instead of an alignment.
  Tensor position = {};
  // A row sees its own key and those before it, this many in all; 0: all of them. Causal only.
  std::int64_t window = 0;
  CausalAlignment alignment = CausalAlignment::top_left;
  // Broadcast to [B, H, T, S]. With bool, a row sees the keys where it is true; floats are added to
  // the scores. Where causal too, a row sees the keys that both allow.
  Tensor mask = {};
  // A score x is cap * tanh(x / cap) before masks are added, as Gemma 2 has it; 0: as it is.
  double cap = 0;
};
// q [B, H, T, D], k and v [B, G, S, D] with H a multiple of G (grouped queries). A row that sees no
// key is 0.
Tensor scaled_dot_product_attention(const TensorOperand& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options = {});

enum class LossReduction : std::uint8_t { mean, sum, none };
struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;  // rows with this target count nothing
  LossReduction reduction = LossReduction::mean;
  double label_smoothing = 0;  // the share of the target that is spread over all classes
};
// The cross entropy of logits [rows, classes] and targets [rows] (i32 or i64), as in PyTorch. A
// target outside the classes is an Error eagerly and gives some number inside a compiled function.
Tensor cross_entropy(const TensorOperand& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

// Lets kernels written by hand be launched on tensors (dsl/language/kernel.h): memory with a dtype,
// a size and a device. Raises `Error` for tensors that are not contiguous, as strides are not
// passed on.
dsl::LaunchArgument launch_argument(const Tensor& tensor);

// Prints dtype, shape and, of concrete tensors, the first elements.
std::string to_string(const Tensor& tensor);

}  // namespace tilewright
