// Operators of real operands that give complex values.
#include "graph/functions/complex/arithmetic.h"
#include "models/exported/aten/operators.h"

namespace tilewright::exported {
namespace complex_creation_rows {
namespace {

Value of_parts(const Call& call) { return ComplexTensor(call.tensor("real"), call.tensor("imag")); }
Value of_magnitude_and_angle(const Call& call) {
  return polar(call.tensor("abs"), call.tensor("angle"));
}
Value of_pairs(const Call& call) { return view_as_complex(call.tensor("self")); }

constexpr Operator rows[] = {
    {"aten._neg_view.default", [](const Call& c) { return -c.tensor("self"); }},
    {"aten.complex.default", by<of_parts>},
    {"aten.polar.default", by<of_magnitude_and_angle>},
    {"aten.view_as_complex.default", by<of_pairs>},
};

}  // namespace
}  // namespace complex_creation_rows

std::span<const Operator> complex_creation_operators() { return complex_creation_rows::rows; }

}  // namespace tilewright::exported
