#include "graph/ir/shape_rules.h"

#include <algorithm>

#include "dsl/ir/type_rules.h"
#include "graph/ir/location.h"
#include "graph/ir/weight_packing.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// What a rule sees, and how it complains.
struct Application {
  Op op;
  std::span<const ValueType> operands;
  const Attributes& attributes;
  std::optional<DType> dtype;
  std::source_location where;

  const Shape& shape(std::size_t i) const { return operands[i].shape; }
  DType dtype_of(std::size_t i) const { return operands[i].dtype; }
  std::size_t count() const { return operands.size(); }
  template <typename... Parts>
  void need(bool condition, const Parts&... parts) const {
    if (!condition) [[unlikely]]
      raise_error(concat("[", info(op).name, "] ", concat(parts...), " (at ", At{where}, ")"));
  }
  void need_equal_dtypes() const {
    for (std::size_t i = 1; i < count(); ++i)
      need(dtype_of(i) == dtype_of(0), "operand ", i, " is ", dtype_of(i), ", operand 0 is ",
           dtype_of(0), "; the operands must have one dtype: convert with to()");
  }
  void need_arithmetic(std::size_t i) const {
    need(!is_float8(dtype_of(i)), "operand ", i, " is ", dtype_of(i),
         "; floats of 8 bits are only stored and multiplied as matrices: convert with to(f32)");
  }
  void need_floating(std::size_t i) const {
    need_arithmetic(i);
    need(is_floating(dtype_of(i)), "operand ", i, " is ", dtype_of(i),
         "; it must be floating: convert with to(f32)");
  }
  void need_index(std::size_t i) const {
    need(dtype_of(i) == DType::i32 || dtype_of(i) == DType::i64, "the indices are ", dtype_of(i),
         "; they must be i32 or i64");
  }
};

void need_axis(const Application& a, int axis, int rank) {
  a.need(axis >= 0 && axis < rank, "axis ", axis, " is outside a tensor of rank ", rank,
         "; it must be in [0, ", rank, ")");
}
// The one axis of an op that works along one.
int single_axis(const Application& a) {
  a.need(a.attributes.axes.size() == 1, "has ", a.attributes.axes.size(),
         " axes; it works along exactly one");
  need_axis(a, a.attributes.axes[0], a.shape(0).rank());
  return a.attributes.axes[0];
}
void need_sizes(const Application& a, const Shape& sizes) {
  std::int64_t count = 1;
  for (std::int64_t size : sizes) {
    a.need(size >= 0, "size ", size, " in ", sizes, "; sizes must not be negative");
    a.need(!__builtin_mul_overflow(count, size, &count), "the shape ", sizes,
           " has too many elements; their number must fit 63 bits");
  }
}

ValueType given(const Application& a) {
  a.need(a.dtype.has_value(), "has no dtype; one must be given");
  need_sizes(a, a.attributes.sizes);
  return {*a.dtype, a.attributes.sizes};
}
ValueType arange(const Application& a) {
  const Attributes& at = a.attributes;
  DType dtype = a.dtype.value_or(DType::i64);
  a.need(at.step != 0, "step is 0; it must not be");
  a.need(!is_boolean(dtype), "dtype is bool; it must be a number's");
  return {dtype, {count_of_range(at.start, at.end, at.step)}};
}

void need_equal_types(const Application& a) {
  a.need_equal_dtypes();
  for (std::size_t i = 1; i < a.count(); ++i)
    a.need(a.shape(i) == a.shape(0), "shapes differ: operand 0 is ", a.shape(0), ", operand ", i,
           " is ", a.shape(i), "; they must be equal or broadcast to one shape");
}
ValueType same(const Application& a) {
  need_equal_types(a);
  a.need(!is_boolean(a.dtype_of(0)),
         "the operand is bool; arithmetic needs numbers: convert with to(i32)");
  a.need_arithmetic(0);
  return a.operands[0];
}
ValueType same_or_boolean(const Application& a) {
  need_equal_types(a);
  a.need_arithmetic(0);
  return a.operands[0];
}
ValueType same_floating(const Application& a) {
  need_equal_types(a);
  a.need_floating(0);
  return a.operands[0];
}
ValueType along_axis(const Application& a) {
  single_axis(a);
  return same_floating(a);
}
ValueType same_boolean(const Application& a) {
  need_equal_types(a);
  a.need(is_boolean(a.dtype_of(0)), "the operands are ", a.dtype_of(0),
         "; they must be bool: compare them with 0 first");
  return a.operands[0];
}
ValueType same_integer(const Application& a) {
  need_equal_types(a);
  a.need(is_integer(a.dtype_of(0)), "the operands are ", a.dtype_of(0),
         "; they must be of an integer type");
  return a.operands[0];
}
ValueType same_bits(const Application& a) {
  need_equal_types(a);
  a.need(!is_floating(a.dtype_of(0)), "the operands are ", a.dtype_of(0),
         "; they must be of an integer type or bool");
  return a.operands[0];
}
ValueType cast(const Application& a) {
  a.need(a.dtype.has_value(), "has no dtype; one must be given");
  return {*a.dtype, a.shape(0)};
}
ValueType compare(const Application& a) {
  need_equal_types(a);
  a.need_arithmetic(0);
  return {DType::boolean, a.shape(0)};
}
ValueType where(const Application& a) {
  a.need(is_boolean(a.dtype_of(0)), "the condition is ", a.dtype_of(0), "; it must be bool");
  a.need(a.dtype_of(1) == a.dtype_of(2), "the choices are ", a.dtype_of(1), " and ", a.dtype_of(2),
         "; they must have one dtype");
  a.need(a.shape(0) == a.shape(1) && a.shape(1) == a.shape(2), "shapes differ: ", a.shape(0), ", ",
         a.shape(1), " and ", a.shape(2), "; they must be equal or broadcast to one shape");
  return a.operands[1];
}

ValueType reshape(const Application& a) {
  const Shape& sizes = a.attributes.sizes;
  need_sizes(a, sizes);
  a.need(element_count(sizes) == element_count(a.shape(0)), "a tensor of shape ", a.shape(0),
         " has ", element_count(a.shape(0)), " elements, the shape ", sizes, " has ",
         element_count(sizes), "; the numbers must be equal");
  return {a.dtype_of(0), sizes};
}
ValueType permute(const Application& a) {
  const auto& axes = a.attributes.axes;
  int rank = a.shape(0).rank();
  a.need(static_cast<int>(axes.size()) == rank, axes.size(), " axes for a tensor of rank ", rank,
         "; each axis must be named once");
  std::vector<bool> seen(axes.size());
  Shape sizes;
  for (int axis : axes) {
    need_axis(a, axis, rank);
    a.need(!seen[static_cast<std::size_t>(axis)], "axis ", axis,
           " is named twice; each axis must be named once");
    seen[static_cast<std::size_t>(axis)] = true;
    sizes.push_back(a.shape(0)[axis]);
  }
  return {a.dtype_of(0), sizes};
}
ValueType expand(const Application& a) {
  const Shape &from = a.shape(0), &to = a.attributes.sizes;
  bool fits = from.rank() == to.rank();
  for (int i = 0; fits && i < from.rank(); ++i) fits = from[i] == to[i] || from[i] == 1;
  a.need(fits, "a tensor of shape ", from, " does not expand to ", to,
         "; the ranks must be equal and only axes of size 1 grow");
  need_sizes(a, to);
  return {a.dtype_of(0), to};
}
ValueType slice(const Application& a) {
  int axis = single_axis(a);
  const Attributes& at = a.attributes;
  std::int64_t size = a.shape(0)[axis];
  a.need(at.step > 0, "step is ", at.step, "; it must be positive");
  a.need(0 <= at.start && at.start <= at.end && at.end <= size, "range ", at.start, " to ", at.end,
         " does not lie in axis ", axis, " of size ", size,
         "; it must satisfy 0 <= start <= end <= size");
  ValueType result = a.operands[0];
  result.shape[axis] = count_of_range(at.start, at.end, at.step);
  return result;
}

ValueType reduce_any_type(const Application& a) {
  ValueType result = a.operands[0];
  const auto& axes = a.attributes.axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    need_axis(a, axes[i], a.shape(0).rank());
    a.need(i == 0 || axes[i - 1] < axes[i], "axes must be named once and in ascending order; axis ",
           axes[i], " is not");
    result.shape[axes[i]] = 1;
  }
  return result;
}
ValueType reduce(const Application& a) {
  a.need(!is_boolean(a.dtype_of(0)), "the operand is bool; convert with to(i64)");
  a.need_arithmetic(0);
  return reduce_any_type(a);
}
// Of no elements there is no result.
ValueType reduce_some(const Application& a) {
  for (int axis : a.attributes.axes)
    a.need(axis < 0 || axis >= a.shape(0).rank() || a.shape(0)[axis] > 0, "axis ", axis,
           " of shape ", a.shape(0), " is empty; this reduction needs an element");
  return reduce(a);
}
ValueType reduce_boolean(const Application& a) {
  a.need(is_boolean(a.dtype_of(0)), "the operand is ", a.dtype_of(0),
         "; it must be bool: compare with 0 first");
  return reduce_any_type(a);
}
ValueType reduce_floating(const Application& a) {
  a.need_floating(0);
  return reduce(a);
}
ValueType reduce_to_index(const Application& a) {
  single_axis(a);
  return {DType::i64, reduce_some(a).shape};
}

bool equal_but_last_two(const Shape& a, const Shape& b) {
  return a.rank() == b.rank() && std::equal(a.begin(), a.end() - 2, b.begin());
}
ValueType matmul(const Application& a) {
  const Shape &x = a.shape(0), &y = a.shape(1);
  a.need_equal_dtypes();
  a.need(!is_boolean(a.dtype_of(0)), "the operands are bool; they must be numbers");
  a.need(x.rank() >= 2 && y.rank() >= 2, "a is ", x, ", b is ", y,
         "; both must have at least 2 axes");
  a.need(x[-1] == y[-2], "inner sizes differ: a is ", x, ", b is ", y,
         "; a's last axis must equal b's last but one");
  a.need(equal_but_last_two(x, y), "leading axes differ: a is ", x, ", b is ", y,
         "; they must be equal or broadcast");
  Shape result = x;
  result[-1] = y[-1];
  DType operands = a.dtype_of(0), sums = ir::product_dtype(operands);
  DType dtype = a.dtype.value_or(is_float8(operands) ? sums : operands);
  a.need(dtype == sums || (dtype == operands && !is_float8(operands)), "the result is to be ",
         dtype, ", the operands are ", operands, "; it can be ", sums,
         is_float8(operands) || sums == operands ? "" : " or as they are");
  return {dtype, result};
}
ValueType linear(const Application& a) {
  const Shape &x = a.shape(0), &w = a.shape(1);
  a.need_equal_dtypes();
  a.need_floating(0);
  a.need(x.rank() >= 1 && w.rank() == 2 && x[-1] == w[1], "x is ", x, ", the weight is ", w,
         "; the weight must be [out, in] with in = x's last size");
  a.need(a.count() < 3 || a.shape(2) == Shape{w[0]}, "the bias is ", a.count() < 3 ? x : a.shape(2),
         ", the weight is ", w, "; the bias must have ", w[0], " elements");
  Shape result = x;
  result[-1] = w[0];
  return {a.dtype_of(0), result};
}
constexpr std::int64_t most_exact_depth = 1 << 17;  // of products of 8 bits in i32

ValueType quantized_linear(const Application& a) {
  const Shape &x = a.shape(0), &w = a.shape(1), &scales = a.shape(2);
  bool packed = a.dtype_of(1) == DType::u8;
  a.need_floating(0);
  a.need_floating(2);
  a.need(packed || a.dtype_of(1) == DType::i8, "the weight is ", a.dtype_of(1),
         "; it must be i8, or u8 with two weights of 4 bits each");
  std::int64_t depth = x.rank() >= 1 ? x[-1] : 0;
  a.need(x.rank() >= 1 && w.rank() == 2 && w[1] * (packed ? 2 : 1) == depth && depth > 0, "x is ",
         x, ", the weight is ", w, " of ", a.dtype_of(1), "; it must be [out, ",
         packed ? "in / 2" : "in", "] with in = x's last size");
  a.need(!packed || depth % packed_block == 0, "x has ", depth,
         " columns; weights of 4 bits come in blocks of ", packed_block);
  a.need(scales.rank() == 2 && scales[0] == w[0] && scales[1] > 0 && depth % scales[1] == 0,
         "the scales are ", scales, ", the weight is ", w, "; they must be [", w[0],
         ", groups] with groups of equally many of the ", depth, " columns");
  a.need(!packed || scales[1] == 1 || depth / scales[1] % packed_block == 0, "a group has ",
         depth / scales[1], " weights of 4 bits; groups must be whole blocks of ", packed_block);
  a.need(!a.attributes.int8_activations || depth <= most_exact_depth, "x has ", depth,
         " columns; rounded to 8 bits, at most ", most_exact_depth, " add up exactly");
  a.need(a.count() < 4 || (a.shape(3) == scales && a.dtype_of(3) == a.dtype_of(2)),
         "the zeros are ", a.dtype_of(a.count() - 1), " ", a.shape(a.count() - 1),
         "; they must be ", a.dtype_of(2), " ", scales, ", as the scales");
  Shape result = x;
  result[-1] = w[0];
  return {a.dtype_of(0), result};
}
ValueType norm(const Application& a) {
  a.need_floating(0);
  a.need_equal_dtypes();
  const Shape& x = a.shape(0);
  a.need(x.rank() >= 1 && x[-1] > 0, "x is ", x, "; it needs a last axis that is not empty");
  for (std::size_t i = 1; i < a.count(); ++i)
    a.need(a.shape(i) == Shape{x[-1]}, "operand ", i, " is ", a.shape(i), ", x is ", x,
           "; weight and bias must have ", x[-1], " elements");
  return a.operands[0];
}

ValueType embedding(const Application& a) {
  const Shape& table = a.shape(0);
  a.need_index(1);
  a.need(table.rank() == 2, "the table is ", table, "; it must be [rows, columns]");
  Shape result = a.shape(1);
  result.push_back(table[1]);
  return {a.dtype_of(0), result};
}
ValueType index_copy(const Application& a) {
  a.need_index(1);
  int axis = single_axis(a);
  const Shape &self = a.shape(0), &index = a.shape(1), &source = a.shape(2);
  a.need(a.dtype_of(0) == a.dtype_of(2), "self is ", a.dtype_of(0), ", the source is ",
         a.dtype_of(2), "; they must have one dtype");
  a.need(index.rank() == 1, "the index is ", index, "; it must have one axis");
  Shape wanted = self;
  wanted[axis] = index[0];
  a.need(source == wanted, "self is ", self, ", the index has ", index[0],
         " elements, the source is ", source, "; the source must be ", wanted);
  return a.operands[0];
}
ValueType cat(const Application& a) {
  a.need_equal_dtypes();
  int axis = single_axis(a);
  ValueType result = a.operands[0];
  for (std::size_t i = 1; i < a.count(); ++i) {
    Shape wanted = a.shape(0);
    bool fits = a.shape(i).rank() == wanted.rank();
    if (fits) wanted[axis] = a.shape(i)[axis];
    a.need(fits && a.shape(i) == wanted, "part 0 is ", a.shape(0), ", part ", i, " is ", a.shape(i),
           "; parts may differ only in axis ", axis);
    result.shape[axis] += a.shape(i)[axis];
  }
  return result;
}

ValueType attention(const Application& a) {
  const Shape &q = a.shape(0), &k = a.shape(1), &v = a.shape(2);
  for (std::size_t i = 1; i < 3; ++i)
    a.need(a.dtype_of(i) == a.dtype_of(0), "q is ", a.dtype_of(0), ", k is ", a.dtype_of(1),
           ", v is ", a.dtype_of(2), "; they must have one dtype");
  a.need_floating(0);
  a.need(q.rank() == 4 && k.rank() == 4 && v.rank() == 4, "q is ", q, ", k is ", k, ", v is ", v,
         "; each must be [batch, heads, rows, columns]");
  a.need(k == v, "k is ", k, ", v is ", v, "; they must have one shape");
  a.need(q[0] == k[0] && q[3] == k[3], "q is ", q, ", k is ", k,
         "; batch and head size must be equal");
  a.need(k[1] > 0 && q[1] % k[1] == 0, "q has ", q[1], " heads, k has ", k[1],
         "; q's heads must be a multiple of k's");
  a.need(a.attributes.window >= 0, "the window is ", a.attributes.window,
         "; it must be the number of keys that a row sees, or 0 for all");
  a.need(a.attributes.window == 0 || a.attributes.causal,
         "a window was given without causal; it needs causal");
  if (a.count() == 4) {
    a.need(a.dtype_of(3) == DType::i32 || a.dtype_of(3) == DType::i64, "position is ",
           a.dtype_of(3), "; it must be i32 or i64");
    a.need(a.shape(3) == Shape{1}, "position is ", a.shape(3), "; it must have one element");
    a.need(a.attributes.causal, "a position was given without causal; it needs causal");
  }
  return a.operands[0];
}

}  // namespace

std::int64_t count_of_range(std::int64_t start, std::int64_t end, std::int64_t step) {
  std::int64_t span = step > 0 ? end - start : start - end, pace = step > 0 ? step : -step;
  return span <= 0 ? 0 : (span + pace - 1) / pace;
}

ValueType infer(Op op, std::span<const ValueType> operands, const Attributes& attributes,
                std::optional<DType> dtype, std::source_location location) {
  Application a{op, operands, attributes, dtype, location};
  int count = static_cast<int>(operands.size());
  const OpInfo& row = info(op);
  a.need(count >= row.min_operands && (row.max_operands < 0 || count <= row.max_operands), "has ",
         count, " operands; it takes ", row.min_operands, " to ", row.max_operands);
  std::string_view unread = unread_attribute(attributes, row.reads);
  a.need(unread.empty(), "the attribute ", unread,
         " is set; it must keep its default, since the op does not read it");
  switch (op) {
#define TILEWRIGHT_GRAPH_OP(name, lo, hi, kind, rule, tile_op, attributes) \
  case Op::name:                                                           \
    return rule(a);
#include "graph/ir/ops.def"
#undef TILEWRIGHT_GRAPH_OP
  }
  __builtin_unreachable();
}

}  // namespace tilewright::graph
