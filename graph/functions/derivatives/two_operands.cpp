// Rules of elementwise functions of two operands, and of powers, after PyTorch's derivatives.yaml.
#include <numbers>

#include "graph/functions/derivatives/rule_tables.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/pointwise/elementary.h"
#include "graph/functions/pointwise/gamma.h"

namespace tilewright::graph::rules {

namespace {

using C = const RuleCall&;
using Slopes = std::vector<Tensor>;

Tensor zero_where(const Tensor& condition, const Tensor& x) { return where(condition, 0.0, x); }
// A quotient, 0 where the divisor is 0.
Tensor over_positive(const Tensor& x, const Tensor& divisor) {
  const Tensor is_zero = divisor == 0.0;
  return zero_where(is_zero, x / where(is_zero, 1.0, divisor));
}

// The exponent is a number, or a second operand. An exponent of 0 gives the base a slope of 0, even
// if the base is 0 or not finite.
Slopes of_power(C c) {
  const Tensor& base = c[0];
  if (c.operands.size() == 1) {
    const double exponent = c.numbers[0];
    return {exponent == 0 ? Tensor() : pow(base, exponent - 1) * exponent};
  }
  const Tensor &exponent = c[1], by_base = exponent * pow(base, exponent - 1.0);
  return {zero_where(logical_and(exponent == 0.0, by_base != by_base), by_base),
          zero_where(logical_and(base == 0.0, exponent >= 0.0), c.results[0] * log(base))};
}

// 0 at the origin.
Slopes of_angle(C c) {
  const Tensor &rise = c[0], &run = c[1], square = rise * rise + run * run;
  return {over_positive(run, square), over_positive(-rise, square)};
}
Slopes of_length(C c) {
  return {over_positive(c[0], c.results[0]), over_positive(c[1], c.results[0])};
}

// The share of each operand in the sum of exponentials.
Slopes of_sum_of_exponentials(C c, double log_of_base) {
  const Tensor apart = (c[0] - c[1]) * log_of_base;
  return {sigmoid(apart), sigmoid(-apart)};
}

// Slopes of x log(y + moved). That by x is 0 where x is 0 and the logarithm has no finite value.
Slopes of_product_with_log(C c, double moved) {
  const Tensor &x = c[0], &y = c[1], of = moved == 0 ? y : y + moved;
  const Tensor logarithm = moved == 0 ? log(y) : log1p(y);
  return {zero_where(logical_and(x == 0.0, of <= 0.0), logarithm), x / of};
}

constexpr Rule two_operands_rules[] = {
    {.name = "pow", .slopes = of_power},
    {.name = "atan2", .slopes = of_angle},
    {.name = "hypot", .slopes = of_length},
    {.name = "logaddexp", .slopes = [](C c) { return of_sum_of_exponentials(c, 1); }},
    {.name = "logaddexp2",
     .slopes = [](C c) { return of_sum_of_exponentials(c, std::numbers::ln2); }},
    {.name = "xlogy", .slopes = [](C c) { return of_product_with_log(c, 0); }},
    {.name = "xlog1py", .slopes = [](C c) { return of_product_with_log(c, 1); }},
    {.name = "polygamma",
     .slopes = [](C c) -> Slopes {
       return {polygamma(static_cast<std::int64_t>(c.numbers[0]) + 1, c[0])};
     }},
};

}  // namespace

std::span<const Rule> of_two_operands() { return two_operands_rules; }

}  // namespace tilewright::graph::rules
