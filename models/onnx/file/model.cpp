// The model of a file: the graph's values numbered, its nodes in order.
#include "models/onnx/file/model.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "models/files/reader.h"
#include "models/onnx/file/tensors.h"
#include "models/onnx/file/wire.h"
#include "models/onnx/program/dtype_numbers.h"

namespace tilewright::onnx {
namespace {

using json::excerpt;
using programs::SignatureInput;
using programs::SizeExpression;

// Each entry takes more memory than bytes of the file, so that their number is bounded.
constexpr std::size_t most_nodes = 1 << 20;
constexpr std::size_t most_names = 1 << 16;    // that a graph takes or gives, or a node
constexpr std::size_t most_numbers = 1 << 20;  // of an attribute
constexpr std::size_t most_graphs_deep = 32;
constexpr std::int64_t oldest_opset = 1, newest_opset = 24;

template <typename T>
void require_few(const std::vector<T>& list, std::size_t most, const Place& place) {
  place.expect(list.size() <= most, "it has a list of more than ", most, " entries");
}
template <typename T>
void add(const T& entry, std::vector<T>& to, const Place& place) {
  to.push_back(entry);
  require_few(to, most_names, place);
}

template <typename T>
void append(const Fields& field, std::vector<T>& to) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    std::string_view rest = field.payload();
    while (!rest.empty()) {
      auto number = take_varint(rest);
      field.place().expect(number.has_value(), "it is damaged: a list of integers is cut off");
      to.push_back(static_cast<std::int64_t>(*number));
    }
  } else {
    std::string_view rest = field.payload();
    field.place().expect(rest.size() % 4 == 0, "it is damaged: a list of floats is cut off");
    for (std::size_t at = 0; at < rest.size(); at += 4) {
      float value;
      std::memcpy(&value, rest.data() + at, 4);
      to.push_back(static_cast<double>(value));
    }
  }
  require_few(to, most_numbers, field.place());
}

class ModelReader {
 public:
  ModelReader(const Place& place, TensorFiles& tensors) : place_(place), tensors_(tensors) {}

  Program read(std::string_view bytes) {
    program_.file = place_.file;
    program_.signature.operation = "onnx";
    Fields model(bytes, place_);
    std::optional<Fields> graph;
    std::string producer, version;
    while (model.next()) switch (model.number()) {
        case 2: producer = model.text(); break;
        case 3: version = model.text(); break;
        case 7:
          place_.expect(!graph, "it has two graphs");
          graph = model.message();
          break;
        case 8: read_opset(model.message()); break;
        case 25:
          place_.refuse(
              "it has functions of its own, which are not supported; onnx.inliner of "
              "the Python package puts them in");
        default: break;
      }
    place_.expect(graph.has_value(), "it is not an ONNX model: it has no graph");
    place_.expect(has_opset_, "it does not say of which operator set it is");
    program_.producer = version.empty() ? producer : concat(producer, " ", version);
    if (program_.opset == 0) program_.opset = oldest_opset;  // of other domains alone
    program_.graph = read_graph(*graph, {});
    program_.values = static_cast<std::size_t>(next_id_);
    return std::move(program_);
  }

 private:
  void read_opset(Fields fields) {
    std::string_view domain;
    std::int64_t version = 0;
    while (fields.next()) {
      if (fields.number() == 1) domain = fields.text();
      if (fields.number() == 2) version = fields.integer();
    }
    has_opset_ = true;
    if (!domain.empty() && domain != "ai.onnx") return;
    place_.expect(version >= oldest_opset && version <= newest_opset, "it is of operator set ",
                  version, "; ", oldest_opset, " to ", newest_opset,
                  " are supported; export it with opset_version=", newest_opset);
    program_.opset = version;
  }

  ValueId define(std::string_view name) {
    place_.expect(scopes_.back().emplace(name, next_id_).second, "two values have the name \"",
                  excerpt(name), '"');
    return next_id_++;
  }

  // The graph of the program, or the body of the node of that name, which reads values of the
  // graphs around it.
  Graph read_graph(Fields graph, const std::string& owner) {
    place_.expect(scopes_.size() < most_graphs_deep, "it has graphs within graphs, more than ",
                  most_graphs_deep, " deep");
    const bool is_body = !scopes_.empty();
    scopes_.emplace_back();
    Graph result;
    Fields again = graph;
    std::vector<Fields> nodes, inputs, outputs;
    while (graph.next()) switch (graph.number()) {
        case 1:
          place_.expect(++nodes_ <= most_nodes, "it has more than ", most_nodes, " nodes");
          nodes.push_back(graph.message());
          break;
        case 2: result.name = graph.text(); break;
        case 5: {
          NamedTensor named = tensors_.read(graph.message());
          ValueId id = define(named.name);
          if (is_body) named.name = concat(owner, "/", named.name);
          program_.initializers.push_back({named.name, id, named.tensor});
          break;
        }
        case 11: add(graph.message(), inputs, place_); break;
        case 12: add(graph.message(), outputs, place_); break;
        case 15: place_.refuse("it has sparse tensors, which are not supported");
        default: break;
      }
    for (const Fields& input : inputs)
      if (is_body)
        result.inputs.push_back(define(value_name(input)));
      else
        read_input(input, result);
    for (const Fields& node : nodes) result.nodes.push_back(read_node(node));
    const std::string reader =
        is_body ? concat("the outputs of a body of node \"", owner, '"') : "the graph's outputs";
    for (const Fields& output : outputs) {
      std::string name(value_name(output));
      result.outputs.push_back({name, id_of(name, reader)});
    }
    if (is_body)
      for (const Fields& each : inputs) declare(each);
    for (const Fields& each : outputs) declare(each);
    while (again.next())
      if (again.number() == 13) declare(again.message());
    scopes_.pop_back();
    return result;
  }

  std::string_view value_name(Fields value) const {
    std::string_view name;
    while (value.next())
      if (value.number() == 1) name = value.text();
    return name;
  }

  void read_input(Fields value, Graph& graph) {
    std::string name(value_name(value));
    if (scopes_.back().contains(name)) return;  // a default, which stays
    graph.inputs.push_back(define(name));
    SignatureInput input{name, {f32, {}}, false};
    bool has_type = false;
    while (value.next())
      if (value.number() == 2) {
        Fields type = value.message();
        while (type.next()) {
          place_.expect(type.number() == 1 || type.number() == 6, "input \"", excerpt(name),
                        "\" is no tensor, but a sequence, a map or the like, which is not "
                        "supported");
          if (type.number() == 1) read_type(type.message(), input);
          has_type = has_type || type.number() == 1;
        }
      }
    place_.expect(has_type, "input \"", excerpt(name), "\" has no type");
    program_.signature.inputs.push_back(std::move(input));
  }

  // The first declaration of a value that this graph gives. Types that are no tensors, and elements
  // that this library has no type for, say nothing here.
  void declare(Fields value) {
    Declared declared;
    while (value.next()) {
      if (value.number() == 1) declared.name = value.text();
      if (value.number() != 2) continue;
      Fields type = value.message();
      while (type.next())
        if (type.number() == 1) read_declared(type.message(), declared);
    }
    auto found = scopes_.back().find(declared.name);
    if (found != scopes_.back().end() && declared.says_something())
      program_.declared.try_emplace(found->second, std::move(declared));
  }

  void read_declared(Fields type, Declared& declared) const {
    while (type.next()) {
      if (type.number() == 1) declared.dtype = dtype_of_number(type.integer());
      if (type.number() != 2) continue;
      auto& sizes = declared.sizes.emplace();
      Fields shape = type.message();
      while (shape.next()) {
        if (shape.number() != 1) continue;
        place_.expect(sizes.size() < 32, "value \"", excerpt(declared.name),
                      "\" has more than 32 axes");
        sizes.push_back(Declared::any_size);
        Fields size = shape.message();
        while (size.next())
          if (size.number() == 1) sizes.back() = std::max(size.integer(), Declared::any_size);
      }
    }
  }

  void read_type(Fields type, SignatureInput& input) const {
    std::int64_t number = 0;
    while (type.next()) {
      if (type.number() == 1) number = type.integer();
      if (type.number() != 2) continue;
      input.has_rank = true;
      Fields shape = type.message();
      while (shape.next())
        if (shape.number() == 1) {
          place_.expect(input.facts.sizes.size() < 32, "input \"", excerpt(input.name),
                        "\" has more than 32 axes");
          input.facts.sizes.push_back(read_size(shape.message(), input));
        }
    }
    input.facts.dtype = dtype_of(number, place_);
  }

  // An axis without a size or a name has a symbol of its own.
  SizeExpression read_size(Fields size, const SignatureInput& input) const {
    SizeExpression result;
    result.kind = SizeExpression::Kind::symbol;
    result.name = concat(input.name, ".", input.facts.sizes.size());
    while (size.next()) {
      if (size.number() == 1) {
        std::int64_t number = size.integer();
        if (number < 0) continue;
        result.kind = SizeExpression::Kind::integer;
        result.integer = number;
      }
      if (size.number() == 2 && !size.text().empty()) result.name = size.text();
    }
    return result;
  }

  ValueId id_of(const std::string& name, std::string_view reader) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto found = scope->find(name); found != scope->end()) return found->second;
    place_.refuse(excerpt(reader), " read \"", excerpt(name),
                  "\", which nothing before gives; nodes are in an order in which each comes after "
                  "those that it reads, without cycles");
  }

  Node read_node(Fields fields) {
    Node node;
    std::vector<std::string_view> inputs, outputs;
    std::vector<Fields> attributes;
    std::string_view domain;
    while (fields.next()) switch (fields.number()) {
        case 1: add(fields.text(), inputs, place_); break;
        case 2: add(fields.text(), outputs, place_); break;
        case 3: node.name = fields.text(); break;
        case 4: node.op = fields.text(); break;
        case 5: add(fields.message(), attributes, place_); break;
        case 7: domain = fields.text(); break;
        default: break;
      }
    if (!domain.empty() && domain != "ai.onnx") node.op = concat(domain, ".", node.op);
    if (node.name.empty() && !outputs.empty()) node.name = outputs[0];
    place_.expect(!node.op.empty(), "a node has no operator");
    std::string reader = concat("node \"", node.name, "\" (", node.op, ")");
    for (std::string_view name : inputs)
      node.inputs.push_back(name.empty() ? no_value : id_of(std::string(name), reader));
    for (const Fields& attribute : attributes)
      node.attributes.push_back(read_attribute(attribute, node.name));
    for (std::string_view name : outputs)
      node.outputs.push_back(name.empty() ? no_value : define(name));
    return node;
  }

  // All that an attribute may hold, of which its kind says what counts.
  struct Contents {
    std::int64_t kind = 0, integer = 0;
    double real = 0;
    std::string text;
    Value tensor;
    std::vector<double> reals;
    std::vector<std::int64_t> integers;
    std::vector<std::string> texts;
    Subgraph graph;
  };

  Attribute read_attribute(Fields fields, const std::string& node) {
    Attribute attribute;
    Contents contents;
    while (fields.next()) switch (fields.number()) {
        case 1: attribute.name = fields.text(); break;
        case 2: contents.real = static_cast<double>(fields.real()); break;
        case 3: contents.integer = fields.integer(); break;
        case 4: contents.text = fields.text(); break;
        case 5: contents.tensor = with_known(tensors_.read(fields.message()).tensor); break;
        case 6:
          contents.graph = std::make_shared<const Graph>(read_graph(fields.message(), node));
          break;
        case 7: append(fields, contents.reals); break;
        case 8: append(fields, contents.integers); break;
        case 9:
          contents.texts.emplace_back(fields.text());
          require_few(contents.texts, most_numbers, place_);
          break;
        case 20: contents.kind = fields.integer(); break;
        case 21:
          place_.refuse("attribute \"", excerpt(attribute.name),
                        "\" refers to one of a function, outside of one");
        default: break;
      }
    attribute.value = value_of(attribute.name, std::move(contents));
    return attribute;
  }

  AttributeValue value_of(const std::string& name, Contents contents) const {
    switch (contents.kind) {
      case 1: return contents.real;
      case 2: return contents.integer;
      case 3: return std::move(contents.text);
      case 4:
        place_.expect(contents.tensor.defined(), "attribute \"", excerpt(name), "\" has no tensor");
        return contents.tensor;
      case 5:
        place_.expect(contents.graph != nullptr, "attribute \"", excerpt(name), "\" has no graph");
        return std::move(contents.graph);
      case 6: return std::move(contents.reals);
      case 7: return std::move(contents.integers);
      case 8: return std::move(contents.texts);
      case 13: return std::monostate();  // a type, which values have themselves
      default:
        place_.refuse("attribute \"", excerpt(name), "\" is of kind ", contents.kind,
                      ", which is not supported");
    }
  }

  static Value with_known(const Tensor& tensor) {
    if (tensor.count() > most_known || !can_be_known(tensor.dtype())) return tensor;
    return {tensor, std::make_shared<const Known>(known_of(tensor))};
  }

  const Place& place_;
  TensorFiles& tensors_;
  Program program_;
  // The names of the graph that is read and of those around it.
  std::vector<std::unordered_map<std::string, ValueId>> scopes_;
  ValueId next_id_ = 0;
  std::size_t nodes_ = 0;
  bool has_opset_ = false;
};

std::string_view text_of(const ForeignFile& file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

}  // namespace

Program read_program(const std::filesystem::path& path, Reading reading) {
  auto file = ForeignFile::open(path, "load_onnx");
  Place place{file->name()};
  file->hold(reading == Reading::mapped ? reading : Reading::copied, "load_onnx");
  std::filesystem::path folder = path.parent_path();
  TensorFiles tensors(file, folder.empty() ? "." : folder, reading, place);
  return ModelReader(place, tensors).read(text_of(*file));
}

Tensor read_tensor(std::string_view bytes, const std::string& name) {
  Place place{name};
  TensorFiles tensors(nullptr, {}, Reading::copied, place);
  return tensors.read(Fields(bytes, place)).tensor;
}

}  // namespace tilewright::onnx
