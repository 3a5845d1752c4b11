#include "graph/functions/ordering/sort.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "graph/functions/pointwise/formula.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/ruled_functions.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::choice;
using graph::Formula;
using graph::is_nan;
using std::source_location;

namespace {

// A tensor as rows along one of its axes, which is the last of them. A tensor without axes has an
// axis of one element.
class Rows {
 public:
  Rows(const Tensor& x, int axis, source_location where)
      : axis_(axis), rank_(x.rank()), where_(where) {
    Tensor with_axis = rank_ == 0 ? x.reshape({1}, where) : x;
    rows_ = moved(with_axis, axis_, with_axis.rank() - 1);
  }

  const Tensor& tensor() const { return rows_; }
  std::int64_t size() const { return rows_.shape()[-1]; }
  source_location where() const { return where_; }

  // The first `count` places of each row in order, [.., count].
  Tensor places(std::int64_t count, bool descending) const {
    graph::Attributes attributes;
    attributes.end = count;
    attributes.descending = descending;
    return graph::apply(graph::Op::argsort, {rows_}, attributes, where_);
  }
  // The elements of `of`, which has as many rows, at these places of it, [.., count].
  Tensor elements(const Tensor& of, const Tensor& places) const {
    const std::int64_t size = of.shape()[-1], count = places.shape()[-1];
    if (places.count() == 0) return zeros(places.shape(), of.dtype(), where_);
    const std::int64_t rows = places.count() / count;
    Tensor numbers = places;
    if (rows > 1) {
      Tensor firsts = arange(0, rows * size, size, DType::i64, where_).reshape({rows, 1}, where_);
      Formula flat(places.reshape({rows, count}, where_), where_);
      firsts = graph::broadcast_to(firsts, flat.tensor().shape(), "sort", where_);
      numbers = (flat + Formula(firsts, where_)).tensor();
    }
    Tensor table = of.reshape({of.count(), 1}, where_);
    return graph::apply(graph::Op::embedding, {table, numbers}, {}, where_)
        .reshape(places.shape(), where_);
  }
  Tensor elements(const Tensor& places) const { return elements(rows_, places); }

  // A tensor with rows as these, with the axis where the tensor had it; or, of one element, without
  // it.
  Tensor back(const Tensor& rows) const {
    if (rank_ == 0) return rows.reshape({}, where_);
    return moved(rows, rank_ - 1, axis_);
  }
  Tensor back(const Tensor& rows, bool keep_dims) const {
    Tensor result = back(rows);
    return keep_dims || rank_ == 0 ? result : result.squeeze(axis_, where_);
  }

 private:
  Tensor moved(const Tensor& x, int from, int to) const {
    if (from == to) return x;
    std::vector<int> axes(static_cast<std::size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    axes.erase(axes.begin() + from);
    axes.insert(axes.begin() + to, from);
    return x.permute(axes, where_);
  }

  int axis_, rank_;
  source_location where_;
  Tensor rows_;
};

// The axis, and how many elements it has.
struct Along {
  int axis;
  std::int64_t size;
};
Along along(const TensorOperand& x, int axis, std::string_view name) {
  const Shape& shape = graph::tensor_of(x, name).shape();
  if (shape.rank() > 0) {
    axis = graph::axis_of(axis, shape, name, x.where);
    return {axis, shape[axis]};
  }
  graph::axis_of(axis, Shape{1}, name, x.where);
  return {0, 1};
}

// As one operation, of the rows along the axis and the settings alone.
template <typename F>
std::vector<Tensor> of_rows(std::string_view name, const TensorOperand& x, int axis,
                            std::vector<Number> settings, const F& function) {
  settings.emplace_back(axis);
  return graph::apply_function(
      name, std::span(&x.tensor, 1), settings,
      [&](std::span<const Tensor> operands) { return function(Rows(operands[0], axis, x.where)); },
      x.where);
}
std::pair<Tensor, Tensor> pair_of(const std::vector<Tensor>& both) { return {both[0], both[1]}; }

}  // namespace

std::pair<Tensor, Tensor> sort(const TensorOperand& x, int axis, bool descending, bool) {
  axis = along(x, axis, "sort").axis;
  return pair_of(of_rows("sort", x, axis, {descending}, [&](const Rows& rows) {
    Tensor places = rows.places(rows.size(), descending);
    return std::vector{rows.back(rows.elements(places)), rows.back(places)};
  }));
}

Tensor argsort(const TensorOperand& x, int axis, bool descending, bool) {
  axis = along(x, axis, "argsort").axis;
  return of_rows("argsort", x, axis, {descending}, [&](const Rows& rows) {
    return std::vector{rows.back(rows.places(rows.size(), descending))};
  })[0];
}

Tensor msort(const TensorOperand& x) {
  along(x, 0, "msort");
  return of_rows("msort", x, 0, {}, [&](const Rows& rows) {
    return std::vector{rows.back(rows.elements(rows.places(rows.size(), false)))};
  })[0];
}

std::pair<Tensor, Tensor> topk(const TensorOperand& x, std::int64_t k, int axis, bool largest,
                               bool) {
  const Along row = along(x, axis, "topk");
  const std::int64_t least = x.tensor.rank() == 0 ? 1 : 0;
  require(k >= least && k <= row.size, "[topk] k is ", k, ", the axis has ", row.size,
          " elements (at ", At{x.where}, "); k must be from ", least, " to as many");
  return pair_of(of_rows("topk", x, row.axis, {k, largest}, [&](const Rows& rows) {
    Tensor places = rows.places(k, largest);
    return std::vector{rows.back(rows.elements(places)), rows.back(places)};
  }));
}

std::pair<Tensor, Tensor> kthvalue(const TensorOperand& x, std::int64_t k, int axis,
                                   bool keep_dims) {
  const Along row = along(x, axis, "kthvalue");
  require(k >= 1 && k <= row.size, "[kthvalue] k is ", k, ", the axis has ", row.size,
          " elements (at ", At{x.where}, "); k must be from 1 to as many");
  return pair_of(of_rows("kthvalue", x, row.axis, {k, keep_dims}, [&](const Rows& rows) {
    Tensor places = rows.places(k, false).slice(-1, k - 1, k, 1, x.where);
    return std::vector{rows.back(rows.elements(places), keep_dims), rows.back(places, keep_dims)};
  }));
}

namespace {

// The place of the lower middle one: of all elements, or of those that are numbers.
Tensor middle_place(const Rows& rows, bool leaves_out) {
  const source_location where = rows.where();
  const int last = rows.tensor().rank() - 1;
  const std::int64_t middle = (rows.size() - 1) / 2;
  Tensor ordered = rows.places(middle + 1, false);
  Tensor place = ordered.slice(-1, middle, middle + 1, 1, where);
  if (!is_floating(rows.tensor().dtype())) return place;
  Formula unknown = is_nan(Formula(rows.tensor(), where));
  if (!leaves_out) {  // of NaN it is the first that argmax finds
    Formula some(any({unknown.tensor(), where}, {last}, true), where);
    Formula first(argmax({rows.tensor(), where}, last, true), where);
    return choice(some, first, Formula(place, where)).tensor();
  }
  // NaN come last. Among n numbers, (n - 1) / 2 come before the middle one.
  Formula numbers(sum({(!unknown).tensor(), where}, {last}, true), where);
  Formula before = graph::greater(numbers - 1, numbers.number(0));
  Formula half = before.make(graph::Op::shift_right, before.number(1));
  return rows.elements(ordered, half.tensor());
}

std::pair<Tensor, Tensor> middle_along(std::string_view name, const TensorOperand& x, int axis,
                                       bool keep_dims, bool leaves_out) {
  const Along row = along(x, axis, name);
  require(row.size > 0, "[", name, "] the axis ", axis, " of shape ", x.tensor.shape(),
          " is empty (at ", At{x.where}, "); a median needs an element");
  return pair_of(of_rows(name, x, row.axis, {keep_dims}, [&](const Rows& rows) {
    Tensor place = middle_place(rows, leaves_out);
    return std::vector{rows.back(rows.elements(place), keep_dims), rows.back(place, keep_dims)};
  }));
}

Tensor middle_of_all(std::string_view name, const TensorOperand& x, bool leaves_out) {
  const Tensor& operand = graph::tensor_of(x, name);
  if (operand.count() == 0) {
    require(is_floating(operand.dtype()), "[", name, "] the operand is ", operand.dtype(), " ",
            operand.shape(), " (at ", At{x.where},
            "); the median of an empty integer tensor is undefined");
    return full({}, std::numeric_limits<double>::quiet_NaN(), operand.dtype(), x.where);
  }
  return graph::apply_function(
      name, std::span(&x.tensor, 1), {},
      [&](std::span<const Tensor> operands) {
        auto middle = [&](std::span<const Tensor> t) {
          Rows rows(t[0].reshape({t[0].count()}, x.where), 0, x.where);
          return rows.elements(middle_place(rows, leaves_out)).reshape({}, x.where);
        };
        return std::vector{graph::with_rule("median of all", {operands[0]}, {}, middle, x.where)};
      },
      x.where)[0];
}

}  // namespace

std::pair<Tensor, Tensor> median(const TensorOperand& x, int axis, bool keep_dims) {
  return middle_along("median", x, axis, keep_dims, false);
}
std::pair<Tensor, Tensor> nanmedian(const TensorOperand& x, int axis, bool keep_dims) {
  return middle_along("nanmedian", x, axis, keep_dims, true);
}
Tensor median(const TensorOperand& x) { return middle_of_all("median", x, false); }
Tensor nanmedian(const TensorOperand& x) { return middle_of_all("nanmedian", x, true); }

}  // namespace tilewright
