// Rules of functions of a complex number that have one slope in all directions. Operands and
// results are real and imaginary parts.
#include <numbers>

#include "graph/functions/complex/arithmetic.h"
#include "graph/functions/complex/elementary.h"
#include "graph/functions/derivatives/rule_tables.h"

namespace tilewright::graph::rules {

namespace {

using C = const RuleCall&;
using Z = const ComplexTensor&;
using Tensors = std::vector<Tensor>;

// For the slope a + b i: du = a dx - b dy and dv = b dx + a dy.
template <typename Slope>
Tensors by(C call, const Slope& slope) {
  const ComplexTensor z = {call[0], call[1]}, w = {call.results[0], call.results[1]};
  const ComplexTensor of = slope(z, w);
  const Tensor a = of.real(), b = of.imag(), &u = call.cotangents[0], &v = call.cotangents[1];
  auto times = [](const Tensor& g, const Tensor& x) { return g.defined() ? scaled(g, x) : g; };
  auto total = [](const Tensor& x, const Tensor& y) {
    return !x.defined() ? y : y.defined() ? x + y : x;
  };
  return {total(times(u, a), times(v, b)), total(times(u, -b), times(v, a))};
}

// sqrt(1 - z^2) with the branch cuts of asin.
ComplexTensor root_of_less_square(Z z) { return sqrt(-z + 1.0) * sqrt(z + 1.0); }

ComplexTensor slope_of_complex_sinc(Z z, Z w) {
  const Tensor is_zero = logical_not(z);
  const ComplexTensor divisor = {where(is_zero, 1.0, z.real()), z.imag()};
  const ComplexTensor slope = (cos(z * std::numbers::pi) - w) / divisor;
  return {where(is_zero, 0.0, slope.real()), where(is_zero, 0.0, slope.imag())};
}

constexpr Rule complex_rules[] = {
    {.name = "complex exp", .cotangents = [](C c) { return by(c, [](Z, Z w) { return w; }); }},
    {.name = "complex expm1",
     .cotangents = [](C c) { return by(c, [](Z, Z w) { return w + 1.0; }); }},
    {.name = "complex log",
     .cotangents = [](C c) { return by(c, [](Z z, Z) { return reciprocal(z); }); }},
    {.name = "complex log1p",
     .cotangents = [](C c) { return by(c, [](Z z, Z) { return reciprocal(z + 1.0); }); }},
    {.name = "complex sqrt",
     .cotangents = [](C c) { return by(c, [](Z, Z w) { return reciprocal(w * 2.0); }); }},
    {.name = "complex sinh",
     .cotangents = [](C c) { return by(c, [](Z z, Z) { return cosh(z); }); }},
    {.name = "complex cosh",
     .cotangents = [](C c) { return by(c, [](Z z, Z) { return sinh(z); }); }},
    {.name = "complex tanh",
     .cotangents = [](C c) { return by(c, [](Z, Z w) { return -w * w + 1.0; }); }},
    {.name = "complex sinc", .cotangents = [](C c) { return by(c, slope_of_complex_sinc); }},
    {.name = "complex asin",
     .cotangents =
         [](C c) { return by(c, [](Z z, Z) { return reciprocal(root_of_less_square(z)); }); }},
    {.name = "complex acos",
     .cotangents =
         [](C c) { return by(c, [](Z z, Z) { return -reciprocal(root_of_less_square(z)); }); }},
    {.name = "complex acosh",
     .cotangents =
         [](C c) {
           return by(c, [](Z z, Z) { return reciprocal(sqrt(z - 1.0) * sqrt(z + 1.0)); });
         }},
    {.name = "complex atanh",
     .cotangents =
         [](C c) { return by(c, [](Z z, Z) { return reciprocal((-z + 1.0) * (z + 1.0)); }); }},
};

}  // namespace

std::span<const Rule> of_complex_numbers() { return complex_rules; }

}  // namespace tilewright::graph::rules
