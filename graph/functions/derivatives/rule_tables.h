// The tables of rules in which `rule_named` looks names up, one for each kind of function.
#pragma once

#include <span>

#include "graph/functions/differentiating/ruled_function.h"

namespace tilewright::graph::rules {

std::span<const Rule> of_one_operand();   // elementwise
std::span<const Rule> of_two_operands();  // elementwise
std::span<const Rule> within_bounds();    // nothing flows beyond a bound
std::span<const Rule> of_reductions();    // over axes
std::span<const Rule> of_complex_numbers();
std::span<const Rule> of_windows();
std::span<const Rule> of_losses();
std::span<const Rule> of_spectra();  // of matrices that are not symmetric

}  // namespace tilewright::graph::rules
