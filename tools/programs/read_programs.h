// The tile programs, or the graph, of a file that a command was given, or of standard input.
#pragma once

#include <string>
#include <vector>

#include "dsl/ir/function.h"
#include "graph/ir/ir.h"

namespace tilewright::tools {

// "-" is standard input. Raises `Misuse` "[COMMAND] FILE: ..." where the file does not exist, where
// its text is not tile IR, or where no program is in it.
// `keep_names` as ir::parse_all.
std::vector<ir::Function> read_programs(const std::string& command, const std::string& path,
                                        bool keep_names = false);

// The same in two steps, for a command that takes graphs too.
std::string read_text(const std::string& command, const std::string& path);
bool is_graph(const std::string& text);
std::vector<ir::Function> programs_of(const std::string& command, const std::string& path,
                                      const std::string& text, bool keep_names = false);
graph::Graph graph_of(const std::string& command, const std::string& path, const std::string& text);

}  // namespace tilewright::tools
