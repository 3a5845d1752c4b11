#include <complex>

#include "models/exported/program/arguments.h"

namespace tilewright::exported {
namespace {

using json::excerpt;

constexpr std::int64_t strided = 7;  // of torch._export.serde.schema.Layout
constexpr std::size_t most_axes = 64;

using Reader = ArgumentValue (*)(const Fields& fields, const json::Node& value,
                                 std::string_view name, const ValueOf& value_of);

template <typename Element, typename Read>
std::vector<Element> elements(const Fields& fields, const json::Node& value, std::string_view name,
                              Read read) {
  std::vector<Element> result;
  for (const json::Node& item : fields.as_list(value, name)) result.push_back(read(item));
  return result;
}

ValueId tensor_id(const Fields& fields, const json::Node& value, const ValueOf& value_of) {
  return value_of(fields.text(value, "name"));
}

ArgumentValue none(const Fields&, const json::Node&, std::string_view, const ValueOf&) {
  return std::monostate{};
}
ArgumentValue tensor(const Fields& fields, const json::Node& value, std::string_view,
                     const ValueOf& value_of) {
  return TensorName{tensor_id(fields, value, value_of)};
}
ArgumentValue tensors(const Fields& fields, const json::Node& value, std::string_view name,
                      const ValueOf& value_of) {
  return TensorNames{elements<std::optional<ValueId>>(
      fields, value, name,
      [&](const json::Node& item) { return tensor_id(fields, item, value_of); })};
}
ArgumentValue optional_tensors(const Fields& fields, const json::Node& value, std::string_view name,
                               const ValueOf& value_of) {
  auto read = [&](const json::Node& item) -> std::optional<ValueId> {
    const auto& [kind, content] = fields.as_choice(item, name);
    if (kind == "as_none") return std::nullopt;
    fields.expect(kind == "as_tensor", "argument \"", excerpt(name), "\" holds ", excerpt(kind),
                  "; tensors and none are wanted");
    return tensor_id(fields, content, value_of);
  };
  return TensorNames{elements<std::optional<ValueId>>(fields, value, name, read)};
}
ArgumentValue integer(const Fields& fields, const json::Node& value, std::string_view name,
                      const ValueOf&) {
  return fields.as_integer(value, name);
}
ArgumentValue number(const Fields& fields, const json::Node& value, std::string_view name,
                     const ValueOf&) {
  return fields.as_number(value, name);
}
ArgumentValue complex_number(const Fields& fields, const json::Node& value, std::string_view,
                             const ValueOf&) {
  auto part = [&](std::string_view member) {
    return fields.as_number(fields.member(value, member), member);
  };
  return std::complex<double>(part("real"), part("imag"));
}
ArgumentValue flag(const Fields& fields, const json::Node& value, std::string_view name,
                   const ValueOf&) {
  return fields.as_flag(value, name);
}
ArgumentValue string(const Fields& fields, const json::Node& value, std::string_view name,
                     const ValueOf&) {
  return fields.as_text(value, name);
}
ArgumentValue integers(const Fields& fields, const json::Node& value, std::string_view name,
                       const ValueOf&) {
  return elements<Integer>(fields, value, name, [&](const json::Node& item) -> Integer {
    return fields.as_integer(item, name);
  });
}
ArgumentValue numbers(const Fields& fields, const json::Node& value, std::string_view name,
                      const ValueOf&) {
  return elements<double>(fields, value, name,
                          [&](const json::Node& item) { return fields.as_number(item, name); });
}
ArgumentValue flags(const Fields& fields, const json::Node& value, std::string_view name,
                    const ValueOf&) {
  return elements<bool>(fields, value, name,
                        [&](const json::Node& item) { return fields.as_flag(item, name); });
}
// A number that is known, or the name of one that is computed.
ArgumentValue symbolic(const Fields& fields, const json::Node& value, std::string_view name,
                       const ValueOf& value_of) {
  const auto& [kind, content] = fields.as_choice(value, name);
  if (kind == "as_name") return NumberName{value_of(fields.as_text(content, name))};
  if (kind == "as_int") return fields.as_integer(content, name);
  if (kind == "as_float") return fields.as_number(content, name);
  fields.expect(kind == "as_bool", "argument \"", excerpt(name), "\" is ", excerpt(kind),
                "; a name or a number is wanted");
  return fields.as_flag(content, name);
}
ArgumentValue symbolic_integers(const Fields& fields, const json::Node& value,
                                std::string_view name, const ValueOf& value_of) {
  return elements<Integer>(fields, value, name, [&](const json::Node& item) -> Integer {
    ArgumentValue one = symbolic(fields, item, name, value_of);
    if (auto* known = std::get_if<std::int64_t>(&one)) return *known;
    auto* named = std::get_if<NumberName>(&one);
    fields.expect(named != nullptr, "argument \"", excerpt(name),
                  "\" holds an element that is not an integer");
    return *named;
  });
}
ArgumentValue dtype(const Fields& fields, const json::Node& value, std::string_view name,
                    const ValueOf&) {
  const ElementType type = fields.as_element_type(value, name);
  if (type.is_complex) return ComplexType{type.dtype};
  return type.dtype;
}
ArgumentValue device(const Fields& fields, const json::Node& value, std::string_view,
                     const ValueOf&) {
  return DeviceName{fields.text(value, "type")};
}
ArgumentValue layout(const Fields& fields, const json::Node& value, std::string_view name,
                     const ValueOf&) {
  std::int64_t number = fields.as_integer(value, name);
  fields.expect(number == strided, "argument \"", excerpt(name), "\" is layout ", number,
                "; strided tensors (", strided, ") are known");
  return Layout{number};
}
ArgumentValue memory_format(const Fields& fields, const json::Node& value, std::string_view name,
                            const ValueOf&) {
  std::int64_t number = fields.as_integer(value, name);
  fields.expect(number >= 1 && number <= 4, "argument \"", excerpt(name), "\" is memory format ",
                number, "; 1 to 4 are known");
  return number == 1   ? MemoryFormat::contiguous
         : number == 4 ? MemoryFormat::preserve
                       : MemoryFormat::channels_last;
}

ArgumentValue graph(const Fields& fields, const json::Node& value, std::string_view,
                    const ValueOf&) {
  return read_subgraph(fields, value);
}

struct Kind {
  std::string_view name;
  Reader read;
};
constexpr Kind kinds[] = {
    {"as_none", none},
    {"as_tensor", tensor},
    {"as_tensors", tensors},
    {"as_optional_tensors", optional_tensors},
    {"as_int", integer},
    {"as_ints", integers},
    {"as_float", number},
    {"as_floats", numbers},
    {"as_complex", complex_number},
    {"as_bool", flag},
    {"as_bools", flags},
    {"as_string", string},
    {"as_operator", string},
    {"as_sym_int", symbolic},
    {"as_sym_float", symbolic},
    {"as_sym_bool", symbolic},
    {"as_sym_ints", symbolic_integers},
    {"as_scalar_type", dtype},
    {"as_device", device},
    {"as_layout", layout},
    {"as_graph", graph},
    {"as_memory_format", memory_format},
};

}  // namespace

ArgumentValue read_argument(const Fields& fields, const json::Node& argument, std::string_view name,
                            const ValueOf& value_of) {
  const auto& [kind, content] = fields.as_choice(argument, name);
  for (const Kind& known : kinds)
    if (known.name == kind) return known.read(fields, content, name, value_of);
  fields.expect(false, "argument \"", excerpt(name), "\" is ", excerpt(kind),
                ", which is not supported");
  return {};
}

std::vector<std::string> result_names(const Fields& fields, const json::Node& output) {
  const auto& [kind, content] = fields.as_choice(output, "output");
  if (kind == "as_tensor") return {fields.text(content, "name")};
  if (kind == "as_none") return {};
  std::vector<std::string> names;
  if (kind == "as_tensors") {
    for (const json::Node& item : fields.as_list(content, kind))
      names.push_back(fields.text(item, "name"));
    return names;
  }
  bool is_number = kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool";
  fields.expect(is_number, "a result is ", excerpt(kind), ", which is not supported");
  return {fields.text(content, "as_name")};
}

std::string target_of(const Fields& fields, const json::Node& from) {
  std::string target = fields.text(from, "target");
  constexpr std::string_view prefix = "torch.ops.";
  if (target.starts_with(prefix)) target.erase(0, prefix.size());
  return target;
}

void read_arguments(const Fields& fields, const json::Node& from, Node& node,
                    const ValueOf& value_of) {
  for (const json::Node& input : fields.list(from, "inputs")) {
    std::string argument = fields.text(input, "name");
    if (argument.empty()) argument = std::to_string(node.arguments.size());
    node.arguments.push_back(
        {argument, read_argument(fields, fields.member(input, "arg"), argument, value_of)});
  }
  for (const json::Node& output : fields.list(from, "outputs"))
    for (const std::string& result : result_names(fields, output))
      node.results.push_back(value_of(result));
}

// A text that cannot be read is added to `unread`, and gives a symbol of that name.
static SizeExpression size_of(const Fields& fields, const json::Node& size, std::string_view name,
                              std::string& unread) {
  const auto& [kind, content] = fields.as_choice(size, name);
  SizeExpression result;
  if (kind == "as_int") {
    result.integer = fields.as_integer(content, name);
    fields.expect(result.integer >= 0, "\"", name, "\" is ", result.integer);
    return result;
  }
  fields.expect(kind == "as_expr", "\"", name, "\" is ", excerpt(kind),
                "; a number or an expression is wanted");
  std::string text = fields.text(content, "expr_str");
  if (auto parsed = programs::parse_size_expression(text)) return std::move(*parsed);
  if (unread.empty()) unread = text;
  result.kind = SizeExpression::Kind::symbol;
  result.name = std::move(text);
  return result;
}

SizeExpression read_size(const Fields& fields, const json::Node& size, std::string_view name) {
  std::string unread;
  SizeExpression result = size_of(fields, size, name, unread);
  require_read(fields, unread);
  return result;
}
void require_read(const Fields& fields, const std::string& unread) {
  fields.expect(unread.empty(), "the size \"", excerpt(unread), "\" cannot be read");
}

std::optional<StorageLayout> read_storage_layout(const Fields& fields, const json::Node& tensor) {
  const json::Node *strides = fields.optional(tensor, "strides"),
                   *offset = fields.optional(tensor, "storage_offset");
  if (strides == nullptr || offset == nullptr) return std::nullopt;
  bool is_known = true;
  auto number = [&](const json::Node& size, std::string_view name) -> std::int64_t {
    const auto& [kind, content] = fields.as_choice(size, name);
    is_known = is_known && kind == "as_int";
    return kind == "as_int" ? fields.as_integer(content, name) : 0;
  };
  const DType dtype = fields.as_element_type(fields.member(tensor, "dtype"), "dtype").dtype;
  StorageLayout layout{dtype, {}, {}, number(*offset, "storage_offset")};
  for (const json::Node& size : fields.list(tensor, "sizes"))
    layout.sizes.push_back(number(size, "sizes"));
  for (const json::Node& stride : fields.as_list(*strides, "strides"))
    layout.strides.push_back(number(stride, "strides"));
  is_known = is_known && layout.strides.size() == layout.sizes.size();
  return is_known ? std::optional(std::move(layout)) : std::nullopt;
}

TensorDescription read_tensor(const Fields& fields, const json::Node& tensor) {
  const ElementType type = fields.as_element_type(fields.member(tensor, "dtype"), "dtype");
  TensorFacts facts{type.dtype, {}};
  const auto& sizes = fields.list(tensor, "sizes");
  fields.expect(sizes.size() <= most_axes, "it has ", sizes.size(), " axes; at most ", most_axes,
                " are allowed");
  std::string unread;
  for (const json::Node& size : sizes)
    facts.sizes.push_back(size_of(fields, size, "sizes", unread));
  std::int64_t number = fields.integer(tensor, "layout");
  fields.expect(number == strided, "it has layout ", number, "; strided tensors (", strided,
                ") are known");
  if (type.is_complex) facts.sizes.push_back({.integer = 2});
  return {std::move(facts), type.is_complex, std::move(unread)};
}

}  // namespace tilewright::exported
