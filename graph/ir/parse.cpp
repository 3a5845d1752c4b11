#include <map>

#include "graph/ir/text.h"
#include "graph/ir/text_line.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

using Line = TextLine;
constexpr std::string_view form = "%id: dtype[shape] = op %operands {attributes}";

NodeId node_id(Line& line) {
  line.expect("%");
  return line.number<NodeId>();
}

void read(Line& line, std::vector<int>& axes) {
  axes.clear();
  for (std::int64_t axis : line.list()) axes.push_back(static_cast<int>(axis));
}
void read(Line& line, Shape& sizes) { sizes = Shape(line.list()); }
void read(Line& line, bool& flag) { flag = line.number<int>() != 0; }
void read(Line& line, std::int64_t& number) { number = line.number<std::int64_t>(); }
void read(Line& line, double& number) { number = line.number<double>(); }
void read(Line& line, ir::ReduceKind& kind) {
  auto named = ir::parse_reduce_kind(line.word());
  if (!named) line.fail("unknown reduction");
  kind = *named;
}

void read(Line& line, CustomReference& custom) {
  const std::string name(line.word());
  const std::string settings(line.starts_with("(") ? line.enclosed('(', ')') : "");
  custom = function_named(name, settings);
  if (!custom.is_defined() && settings.empty()) custom = custom_named(name);
  if (!custom.is_defined())
    line.fail(
        concat("no function of the library and no custom op of this program is called ", name));
}

void read(Line& line, Bodies& bodies) {
  std::vector<Graph> graphs;
  while (line.starts_with("<")) {
    std::string text(line.enclosed('<', '>'));
    int depth = 0;
    for (char& c : text) {
      depth += c == '<' ? 1 : c == '>' ? -1 : 0;
      if (c == ';' && depth == 0) c = '\n';
    }
    graphs.push_back(parse(text));
  }
  bodies = Bodies(std::move(graphs));
}

Attributes parse_attributes(Line& line, Strides& strides) {
  Attributes a;
  if (!line.accept("{")) return a;
  do {
    std::string_view name = line.word();
    line.expect("=");
    bool is_known = name == "strides";
    if (is_known) strides = Strides(line.list());
    if (!is_known && !read_attribute(line, name, a))
      line.fail(concat("there is no attribute ", name));
  } while (line.accept(","));
  line.expect("}");
  return a;
}

ValueType parse_type(Line& line) {
  auto dtype = parse_dtype(line.word());
  if (!dtype) line.fail("unknown dtype");
  line.expect("[");
  Shape shape(line.list());
  line.expect("]");
  return {*dtype, shape};
}

std::string text_of(const ValueType& type) {
  std::string text = concat(type.dtype, "[", type.shape, "]");
  for (const ValueType& other : type.others) text += ", " + text_of(other);
  return text;
}

void parse_node(Line& line, Graph& graph, std::map<NodeId, Strides>& strides) {
  NodeId id = node_id(line);
  if (id != graph.nodes.size()) line.fail(concat("node ", id, " is not the next"));
  line.expect(":");
  ValueType type = parse_type(line);
  while (line.accept(",")) type.others.push_back(parse_type(line));
  line.expect("=");
  auto op = parse_op(line.word());
  if (!op) line.fail("unknown op");
  std::vector<NodeId> operands;
  if (line.accept("%")) {
    operands.push_back(line.number<NodeId>());
    while (line.accept(",")) operands.push_back(node_id(line));
  }
  for (NodeId operand : operands)
    if (operand >= id) line.fail(concat("operand ", operand, " does not come before"));
  Attributes attributes = parse_attributes(line, strides[id]);
  Kind kind = info(*op).kind;
  if (*op == Op::full || kind == Kind::input) attributes.sizes = type.shape;
  GraphBuilder builder(graph);
  if (chooses_dtype(*op))
    builder.append(*op, operands, attributes, type.dtype);
  else
    builder.append(*op, operands, attributes);
  if (ValueType got = builder.node(id).type(); got != type)
    line.fail(concat(got.others.empty() ? "the result is " : "the results are ", text_of(got)));
}

void parse_line(Line& line, Graph& graph, std::map<NodeId, Strides>& strides) {
  auto ids = [&] {
    std::vector<NodeId> list;
    while (!line.done()) {
      list.push_back(node_id(line));
      if (list.back() >= graph.nodes.size()) line.fail("there is no such node");
    }
    return list;
  };
  if (line.accept("inputs")) {
    graph.inputs = ids();
  } else if (line.accept("return")) {
    graph.outputs = ids();
  } else if (line.accept("write")) {
    NodeId input = node_id(line);
    line.expect("=");
    graph.mutations.push_back({input, node_id(line)});
  } else {
    parse_node(line, graph, strides);
  }
  if (!line.done()) line.fail("the line goes on");
}

}  // namespace

bool read_attribute(TextLine& line, std::string_view name, Attributes& attributes) {
  bool is_known = false;
  for_each_attribute(attributes, [&](AttributeField, std::string_view field, auto& value) {
    if (field != name) return;
    is_known = true;
    read(line, value);
  });
  return is_known;
}

Graph parse(std::string_view text) {
  Graph graph;
  std::map<NodeId, Strides> strides;
  int number = 0;
  bool open = false, closed = false;
  for_each_line(text, form, number, [&](Line& line) {
    if (closed) line.fail("nothing may follow '}'");
    if (!open) {
      line.expect("graph {");
      open = true;
    } else if (line.accept("}")) {
      closed = true;
    } else {
      parse_line(line, graph, strides);
    }
  });
  require(closed, "[parse] line ", number, ": the graph does not end; it must end with '}'");
  for (NodeId id : graph.inputs) graph.input_strides.push_back(strides[id]);
  try {
    verify(graph);
  } catch (const InternalError& error) {
    raise_error(concat("[parse] the graph is not legal: ", error.what()));
  }
  return graph;
}

}  // namespace tilewright::graph
