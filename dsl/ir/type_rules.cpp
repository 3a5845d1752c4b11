#include "dsl/ir/type_rules.h"

#include <algorithm>
#include <numeric>

#include "dsl/assembly/assembly.h"
#include "dsl/ir/message.h"
#include "dsl/ir/rule_context.h"
#include "runtime/base/error.h"

namespace tilewright::ir {
namespace {

using Types = std::vector<Type>;

// No operand; a scalar of the type of its number.
Types constant(const RuleContext& site) { return {Type::scalar(site.get<Scalar>().dtype)}; }

// No operand; a tile of i32 of one axis, as long as the bounds are apart.
Types arange(const RuleContext& site) {
  auto [start, end] = site.get<Bounds>();
  site.expect(end > start, "the end ", end, " is not above the start ", start);
  site.expect(start >= INT32_MIN && end <= INT32_MAX, "the bounds ", start, " and ", end,
              " do not fit in i32");
  return {Type::tile(DType::i32, {end - start})};
}

// No operand; an i64 scalar of an axis 0, 1 or 2.
Types index(const RuleContext& site) {
  int axis = site.get<Axis>().axis;
  site.expect(axis >= 0 && axis < 3, "the axis is ", axis, "; a grid has the axes 0, 1 and 2");
  return {Type::scalar(DType::i64)};
}

// A scalar, which may be a pointer; a tile of it of the shape that is given.
Types splat(const RuleContext& site) {
  site.expect(site.operand(0).is_scalar() && !site.operand(0).is_descriptor(), "the operand is ",
              site.operand(0), "; it must be a scalar");
  expect_positive(site, site.get<Extent>().shape);
  return {site.operand(0).with_shape(site.get<Extent>().shape)};
}

// Values of one type; one of that type.
Types same(const RuleContext& site) {
  site.expect_value(0);
  expect_one_type(site, 0);
  expect_properties(site, site.operand(0).dtype);
  return {site.operand(0)};
}

// As same, of integers of 64 bits.
Types same_long(const RuleContext& site) {
  Types result = same(site);
  const DType dtype = site.operand(0).dtype;
  site.expect(bit_width(dtype) == 64, "operands are ", dtype, "; they must be i64 or u64");
  return result;
}

// A tile; one of its type.
Types convert_layout(const RuleContext& site) {
  site.expect(!site.operand(0).is_scalar() && !site.operand(0).is_descriptor(), "the operand is ",
              site.operand(0), "; it must be a tile");
  return {site.operand(0)};
}

// Values of one type; bools of their shape.
Types compare(const RuleContext& site) {
  site.expect_value(0);
  expect_one_type(site, 0);
  expect_arithmetic(site, site.operand(0).dtype);
  return {site.operand(0).with_dtype(DType::boolean)};
}

// A bool and two of one type, all of one shape; one of their type.
Types select(const RuleContext& site) {
  site.expect(site.operand(0).is_value() && is_boolean(site.operand(0).dtype), "the condition is ",
              site.operand(0), "; it must be bool");
  expect_one_type(site, 1);
  site.expect(site.operand(0).shape == site.operand(1).shape, "the condition has the shape ",
              site.operand(0).shape, ", the operands ", site.operand(1).shape);
  return {site.operand(1)};
}

// Values of one shape, in the types that the constraints of the code want; one of the first.
Types inline_asm(const RuleContext& site) {
  std::vector<DType> dtypes;
  for (std::size_t i = 0; i < site.operands.size(); ++i) {
    site.expect_value(i);
    site.expect(site.operand(i).shape == site.operand(0).shape, "operands have the shapes ",
                site.operand(0).shape, " and ", site.operand(i).shape, "; they have one");
    if (i > 0) dtypes.push_back(site.operand(i).dtype);
  }
  const std::string problem =
      problem_of(assembly_of(site.get<Text>().text), site.operand(0).dtype, dtypes);
  site.expect(problem.empty(), problem);
  return {site.operand(0)};
}

// A value; its shape in the type that is given.
Types cast(const RuleContext& site) {
  site.expect_value(0);
  return {site.operand(0).with_dtype(site.get<DType>())};
}

// A value, in a type of as many bits, neither of which is bool; or pointers, as i64: their
// addresses.
Types bitcast(const RuleContext& site) {
  if (site.operand(0).is_pointer()) {
    site.expect(site.get<DType>() == DType::i64, "a pointer cannot be reinterpreted as ",
                site.get<DType>(), "; it can as i64, its address in bytes");
    return {Type::tile(DType::i64, site.operand(0).shape)};
  }
  site.expect_value(0);
  DType from = site.operand(0).dtype, to = site.get<DType>();
  site.expect(bit_width(from) == bit_width(to) && !is_boolean(from) && !is_boolean(to), from,
              " cannot be reinterpreted as ", to, "; both must have one width and not be bool");
  return {site.operand(0).with_dtype(to)};
}

// Anything but a descriptor; with an axis of one element more.
Types expand_dims(const RuleContext& site) {
  const Type& x = site.operand(0);
  int axis = site.get<Axis>().axis;
  site.expect(!x.is_descriptor() && axis >= 0 && axis <= x.shape.rank(), "the axis ", axis,
              " is outside 0 to ", x.shape.rank(), " for ", x);
  Shape shape = x.shape;
  shape.insert(shape.begin() + axis, 1);
  return {x.with_shape(shape)};
}

// Anything but a descriptor; its axes of one element grow to those of the shape that is given.
Types broadcast(const RuleContext& site) {
  const Type& x = site.operand(0);
  const Shape& to = site.get<Extent>().shape;
  expect_positive(site, to);
  bool fits = !x.is_descriptor() && x.shape.rank() == to.rank();
  for (int i = 0; fits && i < to.rank(); ++i) fits = x.shape[i] == to[i] || x.shape[i] == 1;
  site.expect(fits, x, " does not broadcast to ", to,
              "; ranks must agree and sizes be equal or 1 in the operand");
  return {x.with_shape(to)};
}

// Anything but a descriptor; the shape that is given, of as many elements.
Types reshape(const RuleContext& site) {
  const Type& x = site.operand(0);
  const Shape& to = site.get<Extent>().shape;
  expect_positive(site, to);
  site.expect(!x.is_descriptor() && element_count(to) == element_count(x.shape), x, " has ",
              element_count(x.shape), " elements, the shape ", to, " ", element_count(to));
  return {x.with_shape(to)};
}

// A tile; its axes in the order that is given.
Types permute(const RuleContext& site) {
  const Type& x = site.operand(0);
  const std::vector<int>& dims = site.get<Permutation>().dims;
  std::vector<int> sorted = dims, all(x.shape.size());
  std::ranges::sort(sorted);
  std::iota(all.begin(), all.end(), 0);
  site.expect(sorted == all, "the axes are not a permutation of the ", x.shape.rank(), " axes of ",
              x);
  Shape shape;
  for (int dim : dims) shape.push_back(x.shape[dim]);
  return {x.with_shape(shape)};
}

// A value and an index, of i32 or i64, that agree in all axes but one; the value in the index's
// shape.
Types gather(const RuleContext& site) {
  const Type &source = site.operand(0), &index = site.operand(1);
  int axis = site.get<Axis>().axis;
  site.expect_value(0);
  site.expect(axis >= 0 && axis < source.shape.rank(), "the axis ", axis, " is outside the ",
              source.shape.rank(), " axes of ", source);
  site.expect(index.is_value() && (index.dtype == DType::i32 || index.dtype == DType::i64),
              "the index is ", index, "; it must be i32 or i64: cast it");
  bool fits = index.shape.rank() == source.shape.rank();
  for (int i = 0; fits && i < index.shape.rank(); ++i)
    fits = i == axis || index.shape[i] == source.shape[i];
  site.expect(fits, "the index has the shape ", index.shape, ", the source ", source.shape,
              "; they must agree but for axis ", axis);
  return {source.with_shape(index.shape)};
}

// Pointers and integers of one shape; pointers.
Types offset(const RuleContext& site) {
  site.expect(site.operand(0).is_pointer(), "operand 0 is ", site.operand(0),
              "; it must be a pointer");
  site.expect(site.operand(1).is_value() && is_integer(site.operand(1).dtype) &&
                  site.operand(0).shape == site.operand(1).shape,
              "the offset is ", site.operand(1), "; it must be integer, of the shape of ",
              site.operand(0));
  return {site.operand(0)};
}

// Pointer operand 0 and, from `mask` on, a mask and perhaps a replacement value.
void expect_access(const RuleContext& site, std::size_t mask) {
  const Type& ptr = site.operand(0);
  site.expect(ptr.is_pointer(), "operand 0 is ", ptr, "; it must be a pointer or a tile of them");
  if (site.operands.size() > mask)
    site.expect(site.operand(mask) == Type::tile(DType::boolean, ptr.shape), "the mask is ",
                site.operand(mask), "; it must be bool of the shape ", ptr.shape);
}

void expect_load_policy(const RuleContext& site, CachePolicy policy) {
  site.expect(fits_loads(policy), "the cache policy is ", name_of(policy),
              ", one of stores; a load takes evict_first, evict_last, no_allocate, ca, cg or cv");
}

void expect_store_policy(const RuleContext& site) {
  CachePolicy policy = site.get<Access>().cache;
  site.expect(
      fits_stores(policy), "the cache policy is ", name_of(policy),
      ", one of loads; a store takes evict_first, evict_last, no_allocate, wb, cg, cs or wt");
}

// Pointers, a mask of bools of their shape, and what stands in place of masked elements; what they
// point to.
Types load(const RuleContext& site) {
  expect_access(site, 1);
  expect_load_policy(site, site.get<Access>().cache);
  Type result = Type::tile(site.operand(0).dtype, site.operand(0).shape);
  if (site.operands.size() > 2)
    site.expect(site.operand(2) == result, "the replacement value is ", site.operand(2),
                "; it must be ", result);
  return {result};
}

void expect_written(const RuleContext& site) {
  expect_access(site, 2);
  Type wanted = Type::tile(site.operand(0).dtype, site.operand(0).shape);
  site.expect(site.operand(1) == wanted, "the value is ", site.operand(1), "; the pointer ",
              site.operand(0), " takes ", wanted);
}

// Pointers, values of what they point to, and a mask of bools of their shape; nothing.
Types store(const RuleContext& site) {
  expect_written(site);
  expect_store_policy(site);
  return {};
}

// Pointers, values of what they point to, and a mask; what was there. Only types that processors
// handle in one step, or in a loop of few iterations that retries.
Types atomic(const RuleContext& site) {
  expect_written(site);
  AtomicKind kind = site.get<Atomic>().kind;
  DType dtype = site.operand(0).dtype;
  bool compares = kind == AtomicKind::compare_exchange;
  bool computes = kind == AtomicKind::add || kind == AtomicKind::max || kind == AtomicKind::min;
  bool takes_floats = computes || compares || kind == AtomicKind::exchange;
  site.expect(compares == (site.operands.size() == 4), "there are ", site.operands.size(),
              " operands; compare_exchange takes 4, and ", name_of(kind), " is",
              compares ? "" : " not", " that");
  if (compares)
    site.expect(site.operand(3) == site.operand(1), "the expected value is ", site.operand(3),
                ", the value ", site.operand(1), "; they must be of one type");
  bool takes = is_floating(dtype) ? takes_floats && bit_width(dtype) >= (computes ? 16 : 32)
                                  : is_integer(dtype) && bit_width(dtype) >= 32;
  site.expect(takes, "the elements are ", dtype, "; ", name_of(kind), " takes integers",
              takes_floats && !computes ? " and floats" : "", " of 32 or 64 bits",
              computes ? ", and floats of 16, 32 or 64" : "");
  return {site.operand(1)};
}

// One pointer, then sizes, then as many strides, all integer scalars; a descriptor.
Types make_desc(const RuleContext& site) {
  std::size_t count = site.operands.size() - 1;
  site.expect(site.operand(0).is_pointer() && site.operand(0).is_scalar(), "the base is ",
              site.operand(0), "; it must be one pointer");
  site.expect(count % 2 == 0 && count > 0, "there are ", count,
              " sizes and strides; a size and a stride an axis are needed");
  for (std::size_t i = 1; i <= count; ++i) site.expect_integer_scalar(i, "a size or stride");
  return {Type::descriptor(site.operand(0).dtype, static_cast<int>(count / 2))};
}

void expect_block(const RuleContext& site, std::size_t first_offset, const Shape& block) {
  const Type& desc = site.operand(0);
  site.expect(desc.is_descriptor(), "operand 0 is ", desc, "; it must be a descriptor");
  std::size_t offsets = site.operands.size() - first_offset;
  site.expect(offsets == static_cast<std::size_t>(desc.desc_rank) && block.size() == offsets,
              "there are ", offsets, " offsets and a block of rank ", block.rank(), " for ", desc,
              "; each must have one entry an axis");
  expect_positive(site, block);
  for (std::size_t i = first_offset; i < site.operands.size(); ++i)
    site.expect_integer_scalar(i, "an offset");
}

// A descriptor and an integer scalar an axis; a tile of the block's shape.
Types load_desc(const RuleContext& site) {
  expect_block(site, 1, site.get<BlockAccess>().shape);
  expect_load_policy(site, site.get<BlockAccess>().cache);
  return {Type::tile(site.operand(0).dtype, site.get<BlockAccess>().shape)};
}

// A descriptor, a tile of its element type, and an integer scalar an axis; nothing.
Types store_desc(const RuleContext& site) {
  expect_block(site, 2, site.operand(1).shape);
  expect_store_policy(site);
  site.expect(site.operand(1).is_value() && site.operand(1).dtype == site.operand(0).dtype,
              "the value is ", site.operand(1), ", the array holds ", site.operand(0).dtype,
              "; cast the value");
  return {};
}

// A descriptor and an integer scalar an axis; nothing.
Types prefetch_desc(const RuleContext& site) {
  expect_block(site, 1, site.get<Extent>().shape);
  return {};
}

void expect_places(const RuleContext& site, std::size_t values) {
  auto count = static_cast<std::size_t>(placeholder_count(site.get<Text>().text));
  site.expect(count == values, "the text has ", count, " places for values, ", values,
              " are given; write {} for each");
}

// Scalars, one for each place in the text; nothing.
Types print_(const RuleContext& site) {
  for (std::size_t i = 0; i < site.operands.size(); ++i)
    site.expect(site.operand(i).is_value() && site.operand(i).is_scalar(), "operand ", i, " is ",
                site.operand(i), "; it must be a scalar; reduce a tile to one");
  expect_places(site, site.operands.size());
  return {};
}

// Bools, and scalars or tiles of their shape, one for each place in the text; nothing.
Types assert_(const RuleContext& site) {
  const Type& condition = site.operand(0);
  site.expect(condition.is_value() && is_boolean(condition.dtype), "the condition is ", condition,
              "; it must be bool");
  for (std::size_t i = 1; i < site.operands.size(); ++i) {
    const Type& value = site.operand(i);
    site.expect(value.is_value() && (value.is_scalar() || value.shape == condition.shape), "value ",
                i - 1, " is ", value, "; it must be a scalar, or have the shape of the condition, ",
                condition.shape);
  }
  expect_places(site, site.operands.size() - 1);
  return {};
}

// A tile, of bools for any and all and of numbers otherwise; without the axis, of i32 for argmax
// and argmin.
Types reduce(const RuleContext& site) {
  const Type& x = site.operand(0);
  auto [kind, axis] = site.get<Reduction>();
  site.expect_value(0);
  site.expect(axis >= 0 && axis < x.shape.rank(), "the axis ", axis, " is outside the ",
              x.shape.rank(), " axes of ", x);
  expect_arithmetic(site, x.dtype);
  const ReduceOperands wanted = info(kind).operands;
  const bool logical = wanted == ReduceOperands::booleans;
  site.expect(logical == is_boolean(x.dtype), name_of(kind), " of ", x,
              logical ? "; it needs bool" : "; it needs numbers");
  site.expect(wanted != ReduceOperands::integers || is_integer(x.dtype), name_of(kind), " of ", x,
              "; it needs integers");
  return {Type::tile(gives_index(kind) ? DType::i32 : x.dtype, without_axis(x.shape, axis))};
}

// A value of 32 bits or more, for sum, prod, max and min; one of its type.
Types cluster_reduce(const RuleContext& site) {
  const Type& x = site.operand(0);
  auto [kind, axis] = site.get<Reduction>();
  site.expect_value(0);
  site.expect(axis == 0, "clusters lie along axis 0 of the grid, not along ", axis);
  bool fits = info(kind).operands == ReduceOperands::numbers && !gives_index(kind);
  site.expect(fits, name_of(kind), " between programs; it can be sum, prod, max or min");
  site.expect(bit_width(x.dtype) >= 32, "the operand is ", x,
              "; programs exchange numbers of at least 32 bits");
  return {x};
}

// Two tiles of two axes, of one type and fitting sizes, and an accumulator (product_dtype); one of
// its type.
Types dot(const RuleContext& site) {
  const Type &a = site.operand(0), &b = site.operand(1), &acc = site.operand(2);
  for (std::size_t i = 0; i < 3; ++i) {
    site.expect_value(i);
    site.expect(site.operand(i).shape.rank() == 2, "operand ", i, " is ", site.operand(i),
                "; it must have two axes");
  }
  site.expect(a.dtype == b.dtype && !is_boolean(a.dtype), "the operands are ", a.dtype, " and ",
              b.dtype, "; they must be of one type that is not bool");
  site.expect(a.shape[1] == b.shape[0], "inner sizes differ: a is ", a.shape, ", b is ", b.shape,
              "; a's columns must equal b's rows");
  site.expect(site.get<Precision>().input == InputPrecision::ieee || a.dtype == DType::f32,
              "the operands are ", a.dtype, "; only f32 is multiplied as ",
              name_of(site.get<Precision>().input));
  Type result = Type::tile(product_dtype(a.dtype), {a.shape[0], b.shape[1]});
  site.expect(acc == result, "the accumulator is ", acc, "; for these operands it must be ",
              result);
  return {result};
}

// Three integer scalars of one type, and what is carried; what is carried. For a while the first is
// a bool.
Types loop(const RuleContext& site) {
  for (std::size_t i = 0; i < 3; ++i) site.expect_integer_scalar(i, "a bound");
  site.expect(site.operand(0) == site.operand(1) && site.operand(0) == site.operand(2),
              "the bounds differ in type: ", site.operand(0), ", ", site.operand(1), ", ",
              site.operand(2));
  Types carried(site.operands.begin() + 3, site.operands.end());
  site.expect(site.yielded.size() == 1 && site.yielded[0] == carried,
              "the body yields other types than the carried values have");
  if (site.get<LoopEnd>().by_condition)
    site.expect(!carried.empty() && carried[0] == Type::scalar(DType::boolean),
                "it ends by a condition, and the first carried value is ",
                carried.empty() ? std::string("missing") : to_string(carried[0]),
                "; it must be a bool scalar");
  return carried;
}

// A bool scalar; what both bodies yield.
Types if_(const RuleContext& site) {
  site.expect(site.operand(0) == Type::scalar(DType::boolean), "the condition is ", site.operand(0),
              "; it must be a bool scalar");
  site.expect(site.yielded.size() == 2 && site.yielded[0] == site.yielded[1],
              "the two bodies yield different types");
  return site.yielded[0];
}

// Anything; nothing.
Types yield(const RuleContext&) { return {}; }

}  // namespace

DType product_dtype(DType operand) {
  if (is_integer(operand)) return bit_width(operand) < 32 ? DType::i32 : operand;
  return accumulator(operand);
}

Shape without_axis(const Shape& shape, int axis) {
  Shape result = shape;
  result.erase(result.begin() + axis);
  return result;
}

std::vector<Type> result_types(Op op, std::span<const Type> operands, const Immediate& immediate,
                               std::span<const std::vector<Type>> yielded) {
  const OpInfo& row = info(op);
  RuleContext site{op, operands, immediate, yielded};
  int count = static_cast<int>(operands.size());
  site.expect(count >= row.min_operands && (row.max_operands < 0 || count <= row.max_operands),
              "there are ", count, " operands; it takes ", row.min_operands,
              row.max_operands < 0                   ? std::string(" or more")
              : row.max_operands == row.min_operands ? std::string()
                                                     : " to " + std::to_string(row.max_operands));
  site.expect(immediate.index() == static_cast<std::size_t>(row.immediate),
              "the immediate is of the wrong kind");
  switch (op) {
#define TILEWRIGHT_TILE_OP(name, lo, hi, bodies, rule, effect, immediate, cls, cost, props) \
  case Op::name##_:                                                                         \
    return rule(site);
#include "dsl/ir/ops.def"
#undef TILEWRIGHT_TILE_OP
  }
  __builtin_unreachable();
}

}  // namespace tilewright::ir
