// Quantiles: what is between two elements in order.
#include "graph/functions/ordering/quantiles.h"

#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace quantile_rows {
namespace {

QuantileInterpolation interpolation_of(const Call& call) {
  using enum QuantileInterpolation;
  const std::string way = call.text("interpolation", "linear");
  for (const auto& [name, interpolation] : {std::pair{"linear", linear},
                                            {"lower", lower},
                                            {"higher", higher},
                                            {"nearest", nearest},
                                            {"midpoint", midpoint}})
    if (way == name) return interpolation;
  call.refuse("interpolation", "is none of linear, lower, higher, nearest and midpoint");
}
using Quantile = Tensor (*)(const TensorOperand&, const TensorOperand&, const QuantileOptions&);
template <Quantile function>
constexpr auto with_options = [](const Call& c) {
  QuantileOptions options{.keep_dims = c.flag("keepdim", false),
                          .interpolation = interpolation_of(c)};
  if (c.has("dim")) options.axis = c.axis("dim");
  return function(c.tensor("self"), c.operand("q"), options);
};

constexpr Operator rows[] = {
    {"aten.quantile.scalar", with_options<quantile>},
    {"aten.quantile.default", with_options<quantile>},
    {"aten.nanquantile.scalar", with_options<nanquantile>},
    {"aten.nanquantile.default", with_options<nanquantile>},
};

}  // namespace
}  // namespace quantile_rows

std::span<const Operator> quantile_operators() { return quantile_rows::rows; }

}  // namespace tilewright::exported
