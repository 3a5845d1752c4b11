// The common operations on tensors under PyTorch's names, and C++'s operators.
//
// Apart from the class, so that each can be read by itself; graph/tensor/tensor.h includes both.
// The rules of broadcasting and of dtypes are documented with the class.
#pragma once

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "graph/tensor/user/sizes.h"
#include "graph/tensor/user/tensor_handle.h"

namespace tilewright {

// Constants. Inside capture they are nodes of the graph; outside they lie on the host, and
// operations bring them to where their other operands lie. `full` raises `Error` for a value that
// the dtype does not hold; its dtype is f32 unless one is given, whatever the value (PyTorch's is
// that of the value).
Tensor full(const Sizes& shape, const Number& value, DType dtype = DType::f32,
            std::source_location w = std::source_location::current());
Tensor zeros(const Sizes& shape, DType dtype = DType::f32,
             std::source_location w = std::source_location::current());
Tensor ones(const Sizes& shape, DType dtype = DType::f32,
            std::source_location w = std::source_location::current());
// start, start + step, ... before end; empty if end is before start (PyTorch raises). Without a
// dtype: i64 of integers, f32 where one of the numbers is floating. With one number: from 0.
Tensor arange(const Number& start, const Number& end, const Number& step = 1,
              std::optional<DType> dtype = {},
              std::source_location w = std::source_location::current());
Tensor arange(const Number& end, std::optional<DType> dtype = {},
              std::source_location w = std::source_location::current());

// Pointwise. Sums and products of bool are `or` and `and`; bool has no difference.
Tensor operator+(const TensorOperand& a, const TensorOperand& b);
Tensor operator-(const TensorOperand& a, const TensorOperand& b);
Tensor operator*(const TensorOperand& a, const TensorOperand& b);
Tensor operator/(const TensorOperand& a, const TensorOperand& b);  // of integers: gives f32
Tensor operator%(const TensorOperand& a, const TensorOperand& b);  // remainder
Tensor operator-(const TensorOperand& a);
Tensor operator==(const TensorOperand& a, const TensorOperand& b);
Tensor operator!=(const TensorOperand& a, const TensorOperand& b);
Tensor operator<(const TensorOperand& a, const TensorOperand& b);
Tensor operator<=(const TensorOperand& a, const TensorOperand& b);
Tensor operator>(const TensorOperand& a, const TensorOperand& b);
Tensor operator>=(const TensorOperand& a, const TensorOperand& b);
// The bitwise ones of integers, and the logical ones of bool. Shifts are of integers.
Tensor operator&(const TensorOperand& a, const TensorOperand& b);
Tensor operator|(const TensorOperand& a, const TensorOperand& b);
Tensor operator^(const TensorOperand& a, const TensorOperand& b);
Tensor operator<<(const TensorOperand& a, const TensorOperand& b);
Tensor operator>>(const TensorOperand& a, const TensorOperand& b);
Tensor operator~(const TensorOperand& x);
Tensor operator!(const TensorOperand& x);  // logical_not, of any dtype
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
Tensor sum(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor prod(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor mean(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor amax(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor amin(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
// bool, of u8 too, where PyTorch gives uint8.
Tensor any(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor all(const TensorOperand& x, const Axes& axes = {}, bool keep_dims = false);
// Sums of squares of deviations from the mean over n - correction, where there are n elements;
// correction 0 gives the biased variance. `stddev` is its root, PyTorch's `std`.
Tensor var(const TensorOperand& x, const Axes& axes = {}, std::int64_t correction = 1,
           bool keep_dims = false);
Tensor stddev(const TensorOperand& x, const Axes& axes = {}, std::int64_t correction = 1,
              bool keep_dims = false);
template <std::same_as<bool> Flag>  // which flag it would be is not to be guessed
Tensor var(const TensorOperand& x, const Axes& axes, Flag) = delete;
template <std::same_as<bool> Flag>
Tensor stddev(const TensorOperand& x, const Axes& axes, Flag) = delete;
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
std::pair<Tensor, Tensor> var_mean(const TensorOperand& x, const Axes& axes = {},
                                   std::int64_t correction = 1, bool keep_dims = false);
template <std::same_as<bool> Flag>
std::pair<Tensor, Tensor> var_mean(const TensorOperand& x, const Axes& axes, Flag) = delete;
// Integers are taken as f32 by these two, as by exp and the like.
Tensor softmax(const TensorOperand& x, int axis);
Tensor log_softmax(const TensorOperand& x, int axis);
// Over the last axis. The default eps of rms_norm is PyTorch's: the machine epsilon of the dtype
// that the mean is computed in, 2^-52 for f64 and 2^-23 for all others.
Tensor layer_norm(const TensorOperand& x, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);
Tensor rms_norm(const TensorOperand& x, const Tensor& weight = {}, std::optional<double> eps = {});

// [.., M, K] x [.., K, N]; leading axes broadcast. An operand [K] stands for [1, K] or [K, 1], and
// the result has no axis for it. Operands must have one dtype and give that, or `dtype`, that of
// the sums: i32 of integers of 8 and 16 bits, f32 of floats of 16 and 8, for which it is the only
// one.
Tensor matmul(const TensorOperand& a, const TensorOperand& b, std::optional<DType> dtype = {});
Tensor linear(const TensorOperand& x, const Tensor& weight, const Tensor& bias = {});

// Rows of table [V, C] for ids of i32 or i64. An id outside is an Error, inside a compiled function
// as far as Options::index_checks says; unchecked, it gives a row of zeros.
Tensor embedding(const TensorOperand& ids, const Tensor& table);
Tensor cat(const std::vector<Tensor>& parts, int axis = 0,
           std::source_location w = std::source_location::current());
Tensor concat(const std::vector<Tensor>& parts, int axis = 0,
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
// Logits are [rows, classes], targets [rows] (i32, i64 or u8). A target outside the classes is an
// Error, in a compiled function as far as Options::index_checks says; see class_losses.h for more.
Tensor cross_entropy(const TensorOperand& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

// Lets kernels written by hand be launched on tensors (dsl/language/kernel.h): memory with a dtype,
// a size and a device. Raises `Error` for tensors that are not contiguous, as strides are not
// passed on.
dsl::LaunchArgument launch_argument(const Tensor& tensor);

// As NumPy and PyTorch print: the elements in brackets, all in one format, then dtype and shape:
//
//   tensor([[0.5000, 0.0000],
//           [3.0000, 1.2500]], f32 2x2)
//
// With more than 1000 elements, three at each end of an axis are shown. (`print` in
// graph/functions/log.h prints the values of a compiled function's tensors at each call. There `<<`
// prints a symbolic tensor as "tensor(symbolic, f32 2x2)"; `to_string` wants its elements, which
// ends the graph.)
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Device& device);  // Device::text
std::string to_string(const Tensor& tensor,
                      std::source_location w = std::source_location::current());

}  // namespace tilewright
