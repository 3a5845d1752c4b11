// Functions as formulas of graph nodes: one over tiles that looks at single elements, and one over
// tensors. Apart from the ops that are made of them, because this is translation: from a program of
// the tile language, and from a graph that was captured.
#pragma once

#include <span>
#include <string>

#include "dsl/ir/function.h"
#include "graph/custom/definition.h"
#include "graph/functions/custom/custom_functions.h"

namespace tilewright::graph {

// Operands are broadcast. Each operation of the function becomes the graph's of the same meaning;
// `fma` becomes two. When used, raises `Error` for one that graphs do not have, naming its line.
CustomDefinition::Formula formula_of(const std::string& name, ElementwiseFunction function);
// When used, raises `Error` where results differ from the rule's types, or where the function uses
// tensors besides its operands, or writes. A formula for derivatives keeps composites.
enum class Composites : std::uint8_t { decomposed, kept };
CustomDefinition::Formula formula_of(const std::string& name, ShapeRule rule,
                                     GraphFunction function, Composites composites);

}  // namespace tilewright::graph
