#include "graph/functions/indexing/scatters.h"

#include <string_view>

#include "dsl/ir/immediates.h"
#include "graph/functions/indexing/numbered.h"
#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/index_ranges.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Attributes;
using graph::Op;
using std::source_location;

namespace {

// One call: which function, and what it depends on besides its tensors.
struct Joining {
  std::string_view name;
  int axis;
  ScatterReduction reduction = ScatterReduction::sum;
  bool includes_self = true;
  bool goes_by_slices = false;   // the index has one axis, and names slices
  bool counts_from_end = false;  // where it is negative
  source_location where;
};

// Tensors without axes as those of one element.
Tensor with_axis(const Tensor& x, source_location w) {
  return x.rank() == 0 ? graph::reshape_operand(x, {1}, w) : x;
}
Shape with_axis(const Shape& shape) { return shape.empty() ? Shape{1} : shape; }

ir::ReduceKind kind_of(ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::sum:
    case ScatterReduction::mean: return ir::ReduceKind::sum;
    case ScatterReduction::prod: return ir::ReduceKind::prod;
    case ScatterReduction::amax: return ir::ReduceKind::max;
    case ScatterReduction::amin: return ir::ReduceKind::min;
  }
  __builtin_unreachable();
}

// The neutral element of a joining.
Number neutral(ir::ReduceKind kind, DType dtype) {
  if (is_boolean(dtype)) return kind == ir::ReduceKind::prod || kind == ir::ReduceKind::min;
  const ir::Scalar identity = ir::identity(kind, dtype);
  return is_floating(dtype) ? Number(identity.floating) : Number(identity.integer);
}

// The recorded ops of one call, of operands that fit.
class JoiningOps {
 public:
  // `of_slices`: the index with one element along all other axes, where slices join.
  JoiningOps(const Joining& joining, const Tensor& index, const Tensor& of_slices)
      : joining_(joining), index_(index), of_slices_(of_slices), w_(joining.where) {}

  Tensor result(const Tensor& x, const Tensor& source) const {
    const ir::ReduceKind kind = kind_of(joining_.reduction);
    const DType dtype = x.dtype();
    const bool widens = is_floating(dtype) && !joining_.goes_by_slices;
    const DType carried = widens ? accumulator(dtype) : dtype;
    Tensor base = x;
    if (!joining_.includes_self) {
      Tensor is_joined = number_of_joined(x.shape(), DType::boolean, 0);
      base = choice(is_joined, constant(dtype, x.shape(), neutral(kind, dtype)), x);
    }
    Tensor all = joined(base.to(carried, w_), source.to(carried, w_), kind).to(dtype, w_);
    return joining_.reduction == ScatterReduction::mean ? divided(all) : all;
  }

 private:
  Tensor constant(DType dtype, const Shape& shape, const Number& number) const {
    return graph::constant(dtype, shape, number, w_);
  }
  Tensor choice(const Tensor& condition, const Tensor& a, const Tensor& b) const {
    return graph::apply(Op::where, {condition, a, b}, {}, w_);
  }
  Tensor joined(const Tensor& x, const Tensor& source, ir::ReduceKind kind) const {
    return joined_at(index_, x, source, kind);
  }
  Tensor joined_at(const Tensor& index, const Tensor& x, const Tensor& source,
                   ir::ReduceKind kind) const {
    Attributes attributes;
    attributes.axes = {joining_.axis};
    attributes.reduction = kind;
    return graph::apply(Op::scatter_reduce, {x, index, source}, attributes, w_);
  }
  // How many join each element, and `before` them; of bool whether some do. Elements of a slice
  // have as many.
  Tensor number_of_joined(const Shape& shape, DType dtype, int before) const {
    const Tensor& index = of_slices_.defined() ? of_slices_ : index_;
    Shape counted = shape;
    for (int axis = 0; of_slices_.defined() && axis < shape.rank(); ++axis)
      if (axis != joining_.axis) counted[axis] = 1;
    Tensor counts = joined_at(index, constant(dtype, counted, before),
                              constant(dtype, index.shape(), 1), ir::ReduceKind::sum);
    return graph::broadcast_to(counts, shape, joining_.name, w_);
  }
  // By how many have joined, counted as PyTorch does: in the sums' dtype.
  Tensor divided(const Tensor& sums) const {
    const DType dtype = sums.dtype();
    const int before = joining_.includes_self ? 1 : 0;
    Tensor counts = number_of_joined(sums.shape(), accumulator(dtype), before).to(dtype, w_);
    Tensor zero = constant(dtype, sums.shape(), 0), one = constant(dtype, sums.shape(), 1);
    counts = choice(graph::apply(Op::eq, {counts, zero}, {}, w_), one, counts);
    return graph::apply(is_floating(dtype) ? Op::div : Op::floor_divide, {sums, counts}, {}, w_);
  }

  const Joining& joining_;
  const Tensor &index_, &of_slices_;
  source_location w_;
};

void require_fitting(const Joining& joining, const Tensor& x, const Tensor& index,
                     const Tensor& source) {
  const At at{joining.where};
  require(index.dtype() == DType::i32 || index.dtype() == DType::i64, "[", joining.name,
          "] the index is ", index.dtype(), " (at ", at, "); it must be i32 or i64");
  require(x.dtype() == source.dtype(), "[", joining.name, "] the tensor is ", x.dtype(),
          ", the source ", source.dtype(), " (at ", at, "); they must have one dtype");
  require(joining.reduction != ScatterReduction::mean || !is_boolean(x.dtype()), "[", joining.name,
          "] the mean of bool (at ", at, "); convert with to(f32)");
  if (joining.goes_by_slices) {
    Shape wanted = with_axis(x.shape());
    wanted[joining.axis] = index.count();
    require(index.rank() <= 1 && with_axis(source.shape()) == wanted, "[", joining.name,
            "] the tensor is ", x.shape(), ", the index ", index.shape(), ", the source ",
            source.shape(), " (at ", at, "); the index must have one axis, the source be ", wanted);
    return;
  }
  const Shape to = with_axis(x.shape()), from = with_axis(source.shape()),
              named = with_axis(index.shape());
  bool fits = named.rank() == to.rank() && named.rank() == from.rank();
  for (int i = 0; fits && i < named.rank(); ++i)
    fits = named[i] <= from[i] && (i == joining.axis || named[i] <= to[i]);
  require(fits, "[", joining.name, "] the tensor is ", x.shape(), ", the index ", index.shape(),
          ", the source ", source.shape(), " (at ", at,
          "); the index must have as many axes as both, each at most as long as the source's and, "
          "but for axis ",
          joining.axis, ", the tensor's");
}

Tensor call(Joining joining, const TensorOperand& operand, const Tensor& index,
            const Tensor& source) {
  const source_location w = joining.where;
  const Tensor& x = graph::tensor_of(operand, joining.name);
  for (const Tensor* tensor : {&index, &source}) graph::tensor_of({*tensor, w}, joining.name);
  joining.axis = graph::axis_of(joining.axis, with_axis(x.shape()), joining.name, w);
  if (index.count() == 0) return x.clone(w);
  require_fitting(joining, x, index, source);
  const std::int64_t size = with_axis(x.shape())[joining.axis];
  using Noun = graph::IndexRange::Noun;
  graph::require_inside(
      index, {std::string(joining.name), joining.counts_from_end ? Noun::index : Noun::row,
              joining.counts_from_end ? -size : 0, size, w});
  auto function = [joining, size, w](std::span<const Tensor> tensors) {
    Tensor to = with_axis(tensors[0], w), named = with_axis(tensors[1], w),
           from = with_axis(tensors[2], w);
    if (joining.counts_from_end)
      named = graph::from_end({named.to(DType::i64, w), w}, size).tensor();
    Tensor of_slices;
    if (joining.goes_by_slices) {
      Shape along(from.shape().size(), 1);
      along[joining.axis] = named.count();
      of_slices = graph::reshape_operand(named, along, w);
      named = graph::broadcast_to(of_slices, from.shape(), joining.name, w);
    }
    for (int i = 0; i < named.rank(); ++i)
      if (named.shape()[i] < from.shape()[i]) from = from.slice(i, 0, named.shape()[i], 1, w);
    Tensor result = JoiningOps(joining, named, of_slices).result(to, from);
    return std::vector{graph::reshape_operand(result, tensors[0].shape(), w)};
  };
  const std::vector<Number> settings = {joining.axis, static_cast<int>(joining.reduction),
                                        joining.includes_self};
  return graph::apply_function(joining.name, std::vector{x, index, source}, settings, function,
                               w)[0];
}

}  // namespace

Tensor scatter_reduce(const TensorOperand& x, int axis, const Tensor& index, const Tensor& source,
                      ScatterReduction reduction, bool include_self) {
  return call({.name = "scatter_reduce",
               .axis = axis,
               .reduction = reduction,
               .includes_self = include_self,
               .where = x.where},
              x, index, source);
}

Tensor scatter_elements(const TensorOperand& x, int axis, const Tensor& index, const Tensor& source,
                        ScatterReduction reduction) {
  return call({.name = "scatter_elements",
               .axis = axis,
               .reduction = reduction,
               .counts_from_end = true,
               .where = x.where},
              x, index, source);
}

Tensor scatter_add(const TensorOperand& x, int axis, const Tensor& index, const Tensor& source) {
  if (const graph::AutocastCall cast("scatter_add", x.where, {x.tensor, source}); cast.is_listed())
    return scatter_add(cast(x), axis, index, cast(source));
  return call({.name = "scatter_add", .axis = axis, .where = x.where}, x, index, source);
}

Tensor scatter(const TensorOperand& x, int axis, const Tensor& index, const TensorOperand& source,
               ScatterReduction reduction) {
  require(reduction == ScatterReduction::sum || reduction == ScatterReduction::prod,
          "[scatter] the reduction is neither sum nor prod (at ", At{x.where},
          "); scatter_reduce has others");
  const Tensor& to = graph::tensor_of(x, "scatter");
  graph::tensor_of({index, x.where}, "scatter");
  Tensor from = source.tensor;
  if (source.is_number) {
    graph::require_fits(source.number, to.dtype(), "scatter", x.where);
    from = graph::constant(to.dtype(), index.shape(), source.number, x.where);
  }
  return call({.name = "scatter", .axis = axis, .reduction = reduction, .where = x.where}, x, index,
              from);
}

Tensor index_reduce(const TensorOperand& x, int axis, const Tensor& index, const Tensor& source,
                    ScatterReduction reduction, bool include_self) {
  return call({.name = "index_reduce",
               .axis = axis,
               .reduction = reduction,
               .includes_self = include_self,
               .goes_by_slices = true,
               .where = x.where},
              x, index, source);
}

Tensor index_add(const TensorOperand& x, int axis, const Tensor& index, const Tensor& source,
                 const Number& alpha) {
  const Tensor& to = graph::tensor_of(x, "index_add");
  Tensor from = graph::tensor_of({source, x.where}, "index_add");
  if (alpha.as_double() != 1) {
    graph::require_fits(alpha, to.dtype(), "index_add", x.where);
    Tensor factor = graph::constant(from.dtype(), from.shape(), alpha, x.where);
    from = graph::apply(Op::mul, {from, factor}, {}, x.where);
  }
  return call({.name = "index_add", .axis = axis, .goes_by_slices = true, .where = x.where}, x,
              index, from);
}

Tensor put(const TensorOperand& x, const Tensor& index, const Tensor& source, bool accumulate) {
  const source_location w = x.where;
  const Tensor& to = graph::tensor_of(x, "put");
  for (const Tensor* tensor : {&index, &source}) graph::tensor_of({*tensor, w}, "put");
  require(index.count() == source.count(), "[put] ", index.count(), " indices of ", source.count(),
          " sources (at ", At{w}, "); there must be equally many");
  if (index.count() == 0) return to.clone(w);
  require(to.count() > 0, "[put] the tensor has no elements (at ", At{w},
          "); the index must be empty");
  graph::require_inside(index, -to.count(), to.count(), "put", w);
  const Shape all = {to.count()}, named = {index.count()};
  Tensor flat = graph::reshape_operand(to, all, w), from = graph::reshape_operand(source, named, w);
  Tensor numbers = graph::reshape_operand(index, named, w).to(DType::i64, w);
  Tensor wrapped =
      graph::apply(Op::add, {numbers, graph::constant(DType::i64, named, to.count(), w)}, {}, w);
  Tensor is_negative =
      graph::apply(Op::lt, {numbers, graph::constant(DType::i64, named, 0, w)}, {}, w);
  numbers = graph::apply(Op::where, {is_negative, wrapped, numbers}, {}, w);
  Tensor result;
  if (accumulate) {
    result = call({.name = "put", .axis = 0, .goes_by_slices = true, .where = w}, {flat, w},
                  numbers, from);
  } else {
    Attributes attributes;
    attributes.axes = {0};
    result = graph::apply(Op::index_copy, {flat, numbers, from}, attributes, w);
  }
  return graph::reshape_operand(result, to.shape(), w);
}

}  // namespace tilewright
