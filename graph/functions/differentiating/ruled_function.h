// The rules of functions with a rule for their derivative (graph/tensor/ruled_functions.h), and the
// node that a call of one becomes:
//
//     %2: f32[8] = custom_formula %0, %1 {custom=with_rule(rule=atan2, numbers=9, body=<graph ..>)}
//
// The body is the function as it was recorded. Operands are those of the function, then constants
// that it uses. The tables of rules are in graph/functions/derivatives.
#pragma once

#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "graph/ir/custom_reference.h"
#include "graph/ir/ir.h"
#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// A call that is differentiated. Floats of 16 bits are f32 here; the cotangents that a rule gives
// are converted to the dtypes of their operands.
struct RuleCall {
  std::span<const Tensor> operands, results;
  std::span<const Tensor> cotangents;  // undefined where none flows
  std::span<const double> numbers;     // the settings

  const Tensor& operator[](std::size_t i) const { return operands[i]; }
};

// A rule is one of these functions.
struct Rule {
  // The slope of y = NAME(x) at each element.
  using Slope = Tensor (*)(const Tensor& x, const Tensor& y);
  // The slopes by all operands, undefined where no cotangent flows.
  using Slopes = std::vector<Tensor> (*)(const RuleCall& call);
  // The cotangents of the operands, undefined where none flows.
  using Cotangents = std::vector<Tensor> (*)(const RuleCall& call);

  std::string_view name;
  Slope slope = nullptr;
  Slopes slopes = nullptr;
  Cotangents cotangents = nullptr;
};
// Null where there is none. Defined in graph/functions/derivatives.
const Rule* rule_named(std::string_view name);
// gradient * slope, but 0 where the gradient is 0 and the slope infinite or NaN, as `scaled` in
// graph/ops/derivatives/differential.h.
Tensor scaled(const Tensor& gradient, const Tensor& slope);

inline constexpr std::string_view with_rule_name = "with_rule";
CustomReference function_with_rule(const Rule& rule, std::vector<double> numbers, Graph body);
// From the text of such a definition's settings. Raises `Error` if it does not parse.
CustomReference function_with_rule_from_text(std::string_view text);

}  // namespace tilewright::graph
