// The textual form of a graph, one line a node, for tests, dumps and bug reports.
//
//   graph {
//     %0: f32[4x8] = input
//     %1: f32[8x3] = input {strides=1x8}
//     %2: f32[4x3] = matmul %0, %1
//     %3: f32[4x1] = sum %2 {axes=1}
//     %4: f32[4x1], i64[4x1] = max %2 {axes=1}
//     inputs %0 %1
//     return %3
//     write %0 = %2
//   }
//
// parse(print(g)) means the same as g, and print(parse(text)) == text for text that print made.
// Source lines are not part of it.
#pragma once

#include <string>
#include <string_view>

#include "graph/ir/ir.h"

namespace tilewright::graph {

class TextLine;

std::string print(const Graph& graph);
// Raises `Error` naming the line. The result is verified.
Graph parse(std::string_view text);
// Attributes that differ from their default, as `name=value, name=value`, and one of them read
// back, behind its name; false where there is no attribute of that name.
std::string attribute_text(const Attributes& attributes);
bool read_attribute(TextLine& line, std::string_view name, Attributes& attributes);
// For the eye, in the language of Graphviz: edges go from operands to users, several operands by
// their places; inputs are boxes, outputs have two lines around, and the value written to an
// input's memory points to it with a dashed one.
std::string dot(const Graph& graph);

}  // namespace tilewright::graph
