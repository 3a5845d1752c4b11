// The model of a file: the graph's values numbered, its nodes in order.
#include "models/onnx/file/model.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "models/files/reader.h"
#include "models/onnx/file/node_order.h"
#include "models/onnx/file/own_functions.h"
#include "models/onnx/file/tensors.h"
#include "models/onnx/file/types.h"
#include "models/onnx/file/wire.h"

namespace tilewright::onnx {
namespace {

using json::excerpt;
using programs::SignatureInput;

// Each entry takes more memory than bytes of the file, so that their number is bounded.
constexpr std::size_t most_nodes = 1 << 20, most_called_nodes = 1 << 17;
constexpr std::size_t most_names = 1 << 16;    // that a graph takes or gives, or a node
constexpr std::size_t most_numbers = 1 << 20;  // of an attribute
constexpr std::size_t most_graphs_deep = 32;

// Before the names of a body's weights. A file of one long name and many weights would else become
// as many long names.
std::string prefix_of(const std::string& node) {
  constexpr std::size_t most_bytes = 256;
  return node.size() <= most_bytes ? node + "/" : node.substr(0, most_bytes) + "../";
}
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
    program_.signature.names_bind = false;  // writers name axes "?", "N" or "unk__3"
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
        case 8:
          has_opset_ = true;
          if (auto version = opset_of(model.message())) program_.opset = *version;
          break;
        case 25: functions_.add(model.message()); break;
        default: break;
      }
    place_.expect(graph.has_value(), "it is not an ONNX model: it has no graph");
    place_.expect(has_opset_, "it does not say of which operator set it is");
    program_.producer = version.empty() ? producer : concat(producer, " ", version);
    if (program_.opset == 0) program_.opset = oldest_opset;  // of other domains alone
    context_.opset = program_.opset;
    program_.graph = read_graph(*graph, {});
    program_.values = static_cast<std::size_t>(next_id_);
    return std::move(program_);
  }

 private:
  // The version of the domain ai.onnx; nothing for another domain.
  std::optional<std::int64_t> opset_of(Fields fields) const {
    std::string_view domain;
    std::int64_t version = 0;
    while (fields.next()) {
      if (fields.number() == 1) domain = fields.text();
      if (fields.number() == 2) version = fields.integer();
    }
    if (!domain.empty() && domain != "ai.onnx") return std::nullopt;
    place_.expect(version >= oldest_opset && version <= newest_opset, "it is of operator set ",
                  version, "; ", oldest_opset, " to ", newest_opset,
                  " are supported; export it with opset_version=", newest_opset);
    return version;
  }

  void define(std::string_view name, ValueId id) {
    place_.expect(context_.scopes.back().emplace(name, id).second, "two values have the name \"",
                  excerpt(name), '"');
  }
  ValueId define(std::string_view name) {
    define(name, next_id_);
    return next_id_++;
  }

  // The graph of the program, or the body of the node of that name, which reads values of the
  // graphs around it.
  Graph read_graph(Fields graph, const std::string& owner) {
    const Deeper deeper(*this);
    const bool is_body = !context_.scopes.empty();
    context_.scopes.emplace_back();
    Graph result;
    Fields again = graph;
    std::vector<Fields> nodes, inputs, outputs;
    while (graph.next()) switch (graph.number()) {
        case 1:
          place_.expect(++nodes_ <= most_nodes, "it has more than ", most_nodes, " nodes");
          nodes.push_back(graph.message());
          break;
        case 2: result.name = graph.text(); break;
        case 5: read_initializer(graph.message(), is_body ? prefix_of(owner) : ""); break;
        case 11: add(graph.message(), inputs, place_); break;
        case 12: add(graph.message(), outputs, place_); break;
        case 15: place_.refuse("it has sparse tensors, which are not supported");
        default: break;
      }
    for (const Fields& input : inputs)
      if (is_body)
        result.inputs.push_back(define(value_name(input)));
      else
        add_input(read_input(input, place_), result);
    for (const Fields& node : in_order(nodes, most_graphs_deep, place_))
      read_node(node, result.nodes);
    const std::string reader =
        is_body ? concat("the outputs of a body of node \"", owner, '"') : "the graph's outputs";
    for (const Fields& output : outputs) {
      std::string name(value_name(output));
      result.outputs.push_back({name, given_id(name, reader)});
    }
    for (const Fields& each : outputs) declare(each);
    if (is_body)
      for (const Fields& each : inputs) declare(each);
    while (again.next())
      if (again.number() == 13) declare(again.message());
    context_.scopes.pop_back();
    return result;
  }

  void read_initializer(Fields message, const std::string& prefix) {
    NamedTensor named = tensors_.read(message);
    const ValueId id = define(named.name);
    std::string name = prefix + named.name;
    if (!initializer_names_.insert(name).second) {  // of another body of the same node
      name += concat('#', id);
      initializer_names_.insert(name);
    }
    program_.initializers.push_back({name, id, named.tensor});
  }

  void add_input(SignatureInput input, Graph& graph) {
    place_.expect(input_names_.insert(input.name).second, "two inputs have the name \"",
                  excerpt(input.name), '"');
    auto& scope = context_.scopes.back();
    if (auto found = scope.find(input.name); found != scope.end()) {
      program_.defaults.push_back({std::move(input), found->second});
      return;
    }
    graph.inputs.push_back(define(input.name));
    program_.signature.inputs.push_back(std::move(input));
  }

  // The first declaration of a value that this graph gives.
  void declare(Fields value) {
    Declared declared = read_declared(value, place_);
    const auto& scope = context_.scopes.back();
    auto found = scope.find(declared.name);
    if (found != scope.end() && declared.says_something())
      program_.declared.try_emplace(found->second, std::move(declared));
  }

  ValueId id_of(const std::string& name, std::string_view reader) const {
    const auto& scopes = context_.scopes;
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
      if (auto found = scope->find(name); found != scope->end()) return found->second;
    place_.refuse(excerpt(reader), " read \"", excerpt(name),
                  "\", which nothing gives; it must be an input, an initializer or the result of "
                  "a node");
  }
  // Likewise, of a value that must not be an operand that a call of a function leaves out.
  ValueId given_id(const std::string& name, std::string_view reader) const {
    const ValueId id = id_of(name, reader);
    place_.expect(id != no_value, excerpt(reader), " read \"", excerpt(name),
                  "\", an input of a function that its caller leaves out");
    return id;
  }

  struct NodeFields {
    std::string_view op, domain, overload;
    std::vector<std::string_view> inputs, outputs;
    std::vector<Fields> attributes;
  };

  // Appends the node, or those of the function that it calls.
  void read_node(Fields fields, std::vector<Node>& nodes) {
    Node node;
    NodeFields parts;
    while (fields.next()) switch (fields.number()) {
        case 1: add(fields.text(), parts.inputs, place_); break;
        case 2: add(fields.text(), parts.outputs, place_); break;
        case 3: node.name = fields.text(); break;
        case 4: parts.op = fields.text(); break;
        case 5: add(fields.message(), parts.attributes, place_); break;
        case 7: parts.domain = fields.text(); break;
        case 8: parts.overload = fields.text(); break;
        default: break;
      }
    place_.expect(!parts.op.empty(), "a node has no operator");
    node.op = operator_name(parts.domain, parts.op);
    node.opset = context_.opset;
    if (node.name.empty() && !parts.outputs.empty()) node.name = parts.outputs[0];
    node.name = context_.prefix + node.name;
    std::string reader = concat("node \"", node.name, "\" (", node.op, ")");
    for (std::string_view name : parts.inputs)
      node.inputs.push_back(name.empty() ? no_value : id_of(std::string(name), reader));
    for (const Fields& attribute : parts.attributes)
      if (auto read = read_attribute(attribute, node.name))
        node.attributes.push_back(std::move(*read));
    const bool is_standard = node.op == parts.op;  // these keep their meaning
    if (auto* function = is_standard ? nullptr : functions_.find(node.op, parts.overload)) {
      call(*function, node, parts.outputs, nodes);
      return;
    }
    for (std::string_view name : parts.outputs)
      node.outputs.push_back(name.empty() ? no_value : define(name));
    nodes.push_back(std::move(node));
  }

  // Appends the function's nodes, computed of the caller's inputs and attributes, and names their
  // results as the caller does.
  void call(const OwnFunction& function, const Node& caller,
            const std::vector<std::string_view>& outputs, std::vector<Node>& nodes) {
    const Deeper deeper(*this);
    const std::string where = concat("node \"", excerpt(caller.name), "\" (", caller.op, ")");
    place_.expect(std::ranges::find(calls_, &function) == calls_.end(), where,
                  " calls a function within itself; functions must not");
    place_.expect(
        caller.inputs.size() <= function.inputs.size() && outputs.size() <= function.outputs.size(),
        where, " has ", caller.inputs.size(), " inputs and ", outputs.size(),
        " outputs; its function takes up to ", function.inputs.size(), " and ",
        function.outputs.size());
    count_call(function);
    Context inner{{{}}, &caller.attributes, &function, prefix_of(caller.name), program_.opset};
    for (Fields set : function.operator_sets)
      if (auto version = opset_of(set)) inner.opset = *version;
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
      inner.scopes[0].emplace(function.inputs[i],
                              i < caller.inputs.size() ? caller.inputs[i] : no_value);
    calls_.push_back(&function);
    std::swap(context_, inner);
    for (const Fields& node : in_order(function.nodes, most_graphs_deep, place_))
      read_node(node, nodes);
    std::vector<ValueId> results;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      results.push_back(given_id(std::string(function.outputs[i]), where));
    std::swap(context_, inner);
    calls_.pop_back();
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (!outputs[i].empty()) define(outputs[i], results[i]);
  }

  // A file of a few lines may call functions that call functions, each of them twice.
  void count_call(const OwnFunction& function) {
    constexpr std::size_t most_bytes = std::size_t{1} << 24;
    called_nodes_ += function.nodes.size();
    place_.expect(called_nodes_ <= most_called_nodes, "it has more than ", most_called_nodes,
                  " nodes, with those of the functions that it calls");
    if (called_.insert(&function).second) return;
    repeated_bytes_ += function.size_bytes;
    place_.expect(repeated_bytes_ <= most_bytes, "its functions have more than ", most_bytes,
                  " bytes, counted as often as they are called");
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

  // Nothing if it refers to an attribute that the function's caller leaves out.
  std::optional<Attribute> read_attribute(Fields fields, const std::string& node) {
    Attribute attribute;
    Contents contents;
    std::string_view reference;
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
        case 21: reference = fields.text(); break;
        default: break;
      }
    if (!reference.empty()) return referred(attribute.name, reference, node);
    attribute.value = value_of(attribute.name, std::move(contents));
    return attribute;
  }

  // The caller's attribute, or its default.
  std::optional<Attribute> referred(const std::string& name, std::string_view reference,
                                    const std::string& node) {
    place_.expect(context_.function != nullptr, "attribute \"", excerpt(name),
                  "\" refers to one of a function, outside of one");
    for (const Attribute& given : *context_.given)
      if (given.name == reference) return Attribute{name, given.value};
    for (Fields missing : context_.function->defaults) {
      if (value_name(missing) != reference) continue;
      auto attribute = read_attribute(missing, node);
      if (attribute) attribute->name = name;
      return attribute;
    }
    return std::nullopt;
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

  // The graph, or the function that is called, to which the nodes belong that are read.
  struct Context {
    // The names of the graph that is read and of those around it.
    std::vector<std::unordered_map<std::string, ValueId>> scopes;
    const std::vector<Attribute>* given = nullptr;  // by the caller
    const OwnFunction* function = nullptr;
    std::string prefix;  // of names of nodes
    std::int64_t opset = 0;
  };
  // Graphs within graphs, and functions within functions, are read by recursion.
  class Deeper {
   public:
    explicit Deeper(ModelReader& reader) : depth_(reader.depth_) {
      reader.place_.expect(depth_ < most_graphs_deep, "it has graphs within graphs, more than ",
                           most_graphs_deep, " deep");
      ++depth_;
    }
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    std::size_t& depth_;
  };

  const Place& place_;
  TensorFiles& tensors_;
  Program program_;
  OwnFunctions functions_;
  Context context_;
  std::vector<const OwnFunction*> calls_;  // that are being read
  std::unordered_set<const OwnFunction*> called_;
  std::unordered_set<std::string> initializer_names_, input_names_;
  ValueId next_id_ = 0;
  std::size_t nodes_ = 0, called_nodes_ = 0, depth_ = 0, repeated_bytes_ = 0;
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
