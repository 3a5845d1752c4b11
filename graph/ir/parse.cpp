#include <charconv>
#include <map>

#include "graph/ir/text.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// One line of text, consumed from the left.
class Line {
 public:
  Line(std::string_view text, int number) : rest_(text), number_(number) { skip_spaces(); }

  bool done() const { return rest_.empty(); }
  bool accept(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    skip_spaces();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(concat("expected '", token, "'"));
  }
  std::string_view word() {
    std::size_t length = 0;
    while (length < rest_.size() && is_word(rest_[length])) ++length;
    if (length == 0) fail("expected a name or a number");
    std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    skip_spaces();
    return found;
  }
  template <typename T>
  T number_in(std::string_view text) const {
    T value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      fail(concat("'", text, "' is not a number"));
    return value;
  }
  NodeId node() {
    expect("%");
    return number_in<NodeId>(word());
  }
  // "4x8", or "scalar" for none.
  std::vector<std::int64_t> list() {
    std::string_view text = word();
    std::vector<std::int64_t> items;
    if (text == "scalar") return items;
    while (true) {
      std::size_t cut = text.find('x');
      items.push_back(number_in<std::int64_t>(text.substr(0, cut)));
      if (cut == text.npos) return items;
      text.remove_prefix(cut + 1);
    }
  }
  [[noreturn]] void fail(const std::string& what) const {
    raise_error(concat("[parse] line ", number_, ": ", what, " before '", rest_.substr(0, 20),
                       "'; the form is %id: dtype[shape] = op %operands {attributes}"));
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ||
           c == '+';
  }
  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\r'))
      rest_.remove_prefix(1);
  }
  std::string_view rest_;
  int number_;
};

void read(Line& line, std::vector<int>& axes) {
  axes.clear();
  for (std::int64_t axis : line.list()) axes.push_back(static_cast<int>(axis));
}
void read(Line& line, Shape& sizes) { sizes = Shape(line.list()); }
void read(Line& line, bool& flag) { flag = line.number_in<int>(line.word()) != 0; }
void read(Line& line, std::int64_t& number) { number = line.number_in<std::int64_t>(line.word()); }
void read(Line& line, double& number) { number = line.number_in<double>(line.word()); }

Attributes parse_attributes(Line& line, Strides& strides) {
  Attributes a;
  if (!line.accept("{")) return a;
  do {
    std::string_view name = line.word();
    line.expect("=");
    bool is_known = name == "strides";
    if (is_known) strides = Strides(line.list());
    for_each_attribute(a, [&](AttributeField, std::string_view field, auto& value) {
      if (field != name) return;
      is_known = true;
      read(line, value);
    });
    if (!is_known) line.fail(concat("there is no attribute ", name));
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
  NodeId id = line.node();
  if (id != graph.nodes.size()) line.fail(concat("node ", id, " is not the next"));
  line.expect(":");
  ValueType type = parse_type(line);
  while (line.accept(",")) type.others.push_back(parse_type(line));
  line.expect("=");
  auto op = parse_op(line.word());
  if (!op) line.fail("unknown op");
  std::vector<NodeId> operands;
  if (line.accept("%")) {
    operands.push_back(line.number_in<NodeId>(line.word()));
    while (line.accept(",")) operands.push_back(line.node());
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
      list.push_back(line.node());
      if (list.back() >= graph.nodes.size()) line.fail("there is no such node");
    }
    return list;
  };
  if (line.accept("inputs")) {
    graph.inputs = ids();
  } else if (line.accept("return")) {
    graph.outputs = ids();
  } else if (line.accept("write")) {
    NodeId input = line.node();
    line.expect("=");
    graph.mutations.push_back({input, line.node()});
  } else {
    parse_node(line, graph, strides);
  }
  if (!line.done()) line.fail("the line goes on");
}

}  // namespace

Graph parse(std::string_view text) {
  Graph graph;
  std::map<NodeId, Strides> strides;
  int number = 0;
  bool open = false, closed = false;
  while (!text.empty()) {
    std::size_t length = std::min(text.find('\n'), text.size());
    Line line(text.substr(0, length), ++number);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (line.done()) continue;
    if (closed) line.fail("nothing may follow '}'");
    if (!open) {
      line.expect("graph {");
      open = true;
    } else if (line.accept("}")) {
      closed = true;
    } else {
      parse_line(line, graph, strides);
    }
  }
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
