// Functions of several ops that have a rule for their derivative.
//
// Where a function is captured to be differentiated, a call of one is a single node with the rule.
// Everywhere else its ops are recorded, or run, one by one, so that a rule costs nothing where no
// derivative is taken.
#pragma once

#include <functional>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// The results of the function, which depends on the operands and the settings alone. Rules are
// found by this name (graph/functions/differentiating/ruled_function.h).
std::vector<Tensor> with_rule(
    std::string_view name, std::span<const Tensor> operands, const std::vector<Number>& settings,
    const std::function<std::vector<Tensor>(std::span<const Tensor>)>& function,
    std::source_location where);
// A function of one result.
inline Tensor with_rule(std::string_view name, std::initializer_list<Tensor> operands,
                        const std::vector<Number>& settings,
                        const std::function<Tensor(std::span<const Tensor>)>& function,
                        std::source_location where = std::source_location::current()) {
  return with_rule(
      name, std::span(operands.begin(), operands.size()), settings,
      [&](std::span<const Tensor> t) { return std::vector<Tensor>{function(t)}; }, where)[0];
}

}  // namespace tilewright::graph
