// Parts of formulas that have a rule for their derivative (graph/tensor/ruled_functions.h), because
// the derivative of the formula would be wrong at single points.
#pragma once

#include <optional>

#include "graph/functions/pointwise/constants.h"
#include "graph/functions/pointwise/formula.h"
#include "graph/tensor/ruled_functions.h"

namespace tilewright::graph {

template <typename F>
Formula with_rule(std::string_view name, const Formula& x, const std::vector<Number>& settings,
                  const F& formula) {
  const std::source_location w = x.where();
  return {with_rule(
              name, {x.tensor()}, settings,
              [&](std::span<const Tensor> t) { return formula(Formula(t[0], w)).tensor(); }, w),
          w};
}
template <typename F>
Formula with_rule(std::string_view name, const Formula& a, const Formula& b, const F& formula) {
  const std::source_location w = a.where();
  auto function = [&](std::span<const Tensor> t) {
    return formula(Formula(t[0], w), Formula(t[1], w)).tensor();
  };
  return {with_rule(name, {a.tensor(), b.tensor()}, {}, function, w), w};
}

// Clamped to bounds, either of which may be absent. The derivative is 0 at a bound and beyond.
inline Formula clamped(const Formula& x, std::optional<double> least, std::optional<double> most) {
  const double low = least.value_or(-infinity), high = most.value_or(infinity);
  return with_rule("clamp", x, {low, high}, [&](const Formula& t) {
    const Formula above = least ? greater(t, t.number(low)) : t;
    return most ? lesser(above, above.number(high)) : above;
  });
}
// log(sigmoid(x)), without infinities on the way.
inline Formula log_of_sigmoid(const Formula& x) {
  return with_rule("logsigmoid", x, {},
                   [](const Formula& t) { return lesser(t, t.number(0)) - log1p(exp(-abs(t))); });
}

}  // namespace tilewright::graph
