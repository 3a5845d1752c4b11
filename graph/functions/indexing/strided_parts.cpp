#include "graph/functions/indexing/strided_parts.h"

#include <algorithm>

#include "graph/functions/indexing/numbered.h"
#include "graph/functions/indexing/replacement.h"
#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using std::source_location;

namespace {

// Elements of x by a rule for their numbers.
struct Rule {
  Shape sizes;
  Strides strides;
  std::int64_t offset;

  std::vector<Number> settings() const {
    std::vector<Number> all = {offset};
    graph::add_settings(all, sizes);
    graph::add_settings(all, strides);
    return all;
  }
  Tensor numbers(source_location w) const {
    return graph::strided_numbers(sizes, strides, offset, w).tensor();
  }
};

Tensor picked(std::string_view name, const Tensor& x, const Rule& rule, source_location w) {
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    return {graph::elements_at(t[0], rule.numbers(w), w)};
  };
  return graph::apply_function(name, {&x, 1}, rule.settings(), function, w)[0];
}

void require_source(std::string_view name, const Tensor& x, const Tensor& source,
                    const Shape& sizes, source_location w) {
  graph::require_dtype_of(x, graph::tensor_of({source, w}, name), name, w);
  require(source.shape() == sizes, "[", name, "] the source is ", source.shape(), " (at ", At{w},
          "); it must be ", sizes);
}

Tensor replaced(std::string_view name, const Tensor& x, const Tensor& source, const Rule& rule,
                source_location w) {
  require_source(name, x, source, rule.sizes, w);
  const Tensor operands[] = {x, source};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    return {graph::with_elements_at(t[0], rule.numbers(w), t[1], w)};
  };
  return graph::apply_function(name, operands, rule.settings(), function, w)[0];
}

Rule diagonal_rule(std::string_view name, const Shape& x, std::int64_t offset, int a, int b,
                   source_location w) {
  require(x.rank() >= 2, "[", name, "] x is ", x, " (at ", At{w},
          "); it must have two axes at least");
  a = graph::axis_of(a, x, name, w);
  b = graph::axis_of(b, x, name, w);
  require(a != b, "[", name, "] both axes are ", a, " (at ", At{w}, "); they must be two");
  offset = std::clamp<std::int64_t>(offset, -INT32_MAX, INT32_MAX);
  const std::int64_t down = std::max<std::int64_t>(-offset, 0),
                     right = std::max<std::int64_t>(offset, 0);
  const Strides all = row_major_strides(x);
  Rule rule{{}, {}, down * all[a] + right * all[b]};
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis != a && axis != b) {
      rule.sizes.push_back(x[axis]);
      rule.strides.push_back(all[axis]);
    }
  rule.sizes.push_back(std::max<std::int64_t>(std::min(x[a] - down, x[b] - right), 0));
  rule.strides.push_back(all[a] + all[b]);
  if (element_count(rule.sizes) == 0) rule.offset = 0;
  return rule;
}

Rule strided_rule(std::string_view name, const Tensor& x, const Shape& sizes,
                  const Strides& strides, std::int64_t offset, source_location w) {
  require(sizes.rank() == strides.rank(), "[", name, "] there are ", sizes.rank(), " sizes and ",
          strides.rank(), " strides (at ", At{w}, "); there must be as many");
  std::int64_t last = offset;
  for (int i = 0; i < sizes.rank(); ++i) {
    require(sizes[i] >= 0 && strides[i] >= 0 && sizes[i] <= INT32_MAX && strides[i] <= INT32_MAX,
            "[", name, "] axis ", i, " has the size ", sizes[i], " and the stride ", strides[i],
            " (at ", At{w}, "); neither may be negative, or 2^31 and more");
    last += std::max<std::int64_t>(sizes[i] - 1, 0) * strides[i];
  }
  const bool is_inside = offset >= 0 && last < x.count();
  require(is_inside || element_count(sizes) == 0, "[", name, "] the elements ", offset, " to ",
          last, " of a tensor of ", x.count(), " are wanted (at ", At{w}, "); they must be inside");
  return {sizes, strides, offset};
}

// x with the parts at start, start + step, .. of the axis replaced.
Tensor parts_replaced(std::string_view name, const Tensor& x, const Tensor& source, int axis,
                      std::int64_t start, std::int64_t step, source_location w) {
  const Tensor operands[] = {x, source};
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    const Shape places = {t[1].shape()[axis]};
    return {graph::with_parts_at(
        t[0], axis, graph::strided_numbers(places, {step}, start, w).tensor(), t[1], w)};
  };
  return graph::apply_function(name, operands, {axis, start, step}, function, w)[0];
}

}  // namespace

Tensor diagonal(const TensorOperand& x, std::int64_t offset, int a, int b) {
  const Tensor given = graph::tensor_of(x, "diagonal");
  return picked("diagonal", given, diagonal_rule("diagonal", given.shape(), offset, a, b, x.where),
                x.where);
}
Tensor diagonal_scatter(const TensorOperand& x, const Tensor& source, std::int64_t offset, int a,
                        int b) {
  const Tensor given = graph::tensor_of(x, "diagonal_scatter");
  Rule rule = diagonal_rule("diagonal_scatter", given.shape(), offset, a, b, x.where);
  return replaced("diagonal_scatter", given, source, rule, x.where);
}

Tensor as_strided(const TensorOperand& x, const Shape& sizes, const Strides& strides,
                  std::int64_t offset) {
  const Tensor given = graph::tensor_of(x, "as_strided");
  return picked("as_strided", given,
                strided_rule("as_strided", given, sizes, strides, offset, x.where), x.where);
}
Tensor as_strided_scatter(const TensorOperand& x, const Tensor& source, const Shape& sizes,
                          const Strides& strides, std::int64_t offset) {
  const Tensor given = graph::tensor_of(x, "as_strided_scatter");
  Rule rule = strided_rule("as_strided_scatter", given, sizes, strides, offset, x.where);
  return replaced("as_strided_scatter", given, source, rule, x.where);
}

Tensor unfold(const TensorOperand& x, int axis, std::int64_t size, std::int64_t step) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "unfold");
  const int along = graph::axis_or_only(axis, given.shape(), "unfold", w);
  const std::int64_t all = given.rank() == 0 ? 1 : given.shape()[along];
  require(size >= 0 && size <= all && step > 0, "[unfold] windows of ", size, " elements every ",
          step, " do not fit axis ", along, " of ", given.shape(), " (at ", At{w},
          "); they must be in the axis, and a step on");
  auto function = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
    const Shape windows = {(all - size) / step + 1, size};
    Tensor parts = graph::parts_at(graph::with_axis(t[0], w), along,
                                   graph::strided_numbers(windows, {step, 1}, 0, w).tensor(), w);
    std::vector<int> order;
    for (int i = 0; i < parts.rank(); ++i)
      if (i != along + 1) order.push_back(i);
    order.push_back(along + 1);
    parts = parts.permute(order, w);
    return {t[0].rank() == 0 ? parts.reshape({size}, w) : parts};
  };
  return graph::apply_function("unfold", {&given, 1}, {along, size, step}, function, w)[0];
}

Tensor slice_scatter(const TensorOperand& x, const Tensor& source, int axis,
                     std::optional<std::int64_t> start, std::optional<std::int64_t> end,
                     std::int64_t step) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "slice_scatter");
  const int along = graph::axis_of(axis, given.shape(), "slice_scatter", w);
  require(step > 0, "[slice_scatter] the step is ", step, " (at ", At{w}, "); it must be positive");
  const std::int64_t size = given.shape()[along];
  auto inside = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t from = inside(start.value_or(0)),
                     to = std::max(inside(end.value_or(size)), from);
  Shape wanted = given.shape();
  wanted[along] = (to - from) / step + ((to - from) % step != 0);
  require_source("slice_scatter", given, source, wanted, w);
  return parts_replaced("slice_scatter", given, source, along, from, step, w);
}

Tensor select_scatter(const TensorOperand& x, const Tensor& source, int axis, std::int64_t index) {
  auto w = x.where;
  const Tensor given = graph::tensor_of(x, "select_scatter");
  const int along = graph::axis_of(axis, given.shape(), "select_scatter", w);
  const std::int64_t size = given.shape()[along], at = index < 0 ? index + size : index;
  require(at >= 0 && at < size, "[select_scatter] index ", index, " is outside axis ", along,
          " of ", given.shape(), " (at ", At{w}, "); it must be in [", -size, ", ", size, ")");
  Shape wanted = given.shape();
  wanted.erase(wanted.begin() + along);
  require_source("select_scatter", given, source, wanted, w);
  wanted.insert(wanted.begin() + along, 1);
  return parts_replaced("select_scatter", given, graph::reshape_operand(source, wanted, w), along,
                        at, 1, w);
}

}  // namespace tilewright
