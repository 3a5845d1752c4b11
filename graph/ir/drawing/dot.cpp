#include <boost/graph/graphviz.hpp>
#include <locale>
#include <sstream>

#include "graph/ir/bgl.h"
#include "graph/ir/text.h"

namespace tilewright::graph {
namespace {

// The lines of the textual form that say what each node is.
std::vector<std::string> lines_of_nodes(const Graph& graph) {
  std::istringstream text(print(graph));
  std::vector<std::string> lines(graph.nodes.size());
  std::string line;
  std::getline(text, line);  // graph {
  for (std::string& each : lines) {
    std::getline(text, line);
    each = line.substr(line.find('%'));
  }
  return lines;
}

}  // namespace

std::string dot(const Graph& graph) {
  const std::vector<std::string> lines = lines_of_nodes(graph);
  std::vector<bool> is_output(graph.nodes.size());
  for (NodeId id : graph.outputs) is_output[id] = true;
  auto node = [&](std::ostream& out, NodeId id) {
    out << "[label=" << boost::escape_dot_string(lines[id]);
    if (graph.node(id).op == Op::input) out << ", shape=box";
    if (is_output[id]) out << ", peripheries=2";
    out << "]";
  };
  auto edge = [&](std::ostream& out, const Edge& e) {
    if (graph.node(e.to).operands.size() > 1) out << "[label=" << e.place << "]";
  };
  auto whole = [&](std::ostream& out) {
    for (const Mutation& m : graph.mutations)
      out << m.value << "->" << m.input << " [label=write, style=dashed, constraint=false];\n";
  };
  std::ostringstream out;
  out.exceptions(std::ios_base::badbit);  // no memory is an error
  out.imbue(std::locale::classic());
  boost::write_graphviz(out, Edges(graph), node, edge, whole);
  return out.str();
}

}  // namespace tilewright::graph
