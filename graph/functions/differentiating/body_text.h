// The text of a graph in one line, for the settings of a node that has it as its body.
#pragma once

#include <string>
#include <string_view>

#include "graph/ir/ir.h"

namespace tilewright::graph {

// `<nodes; ..>`.
std::string body_text(const Graph& body);
// Raises `Error`, which begins with [operation], if the text does not parse.
Graph body_from_text(std::string_view text, std::string_view operation);
// The part of `text` between `begin` and `end`. `text` begins with `end` afterwards.
std::string_view taken_between(std::string_view& text, std::string_view begin, std::string_view end,
                               std::string_view operation);

}  // namespace tilewright::graph
