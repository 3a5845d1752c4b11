#include "models/exported/program/program.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "models/exported/program/arguments.h"
#include "models/exported/program/fields.h"
#include "models/files/tree.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

using json::excerpt;

constexpr std::int64_t schema = 8;  // torch._export.serde.schema.SCHEMA_VERSION, the major number
constexpr std::size_t most_inputs = 50'000;  // parameters and buffers among them

class ProgramReader {
 public:
  ProgramReader(const json::Node& root, Program& program)
      : fields_(program.file), program_(program), root_(root) {}

  void read() {
    read_versions();
    const json::Node& module = fields_.member(root_, "graph_module");
    const json::Node& graph = fields_.member(module, "graph");
    const json::Node& signature = fields_.member(module, "signature");
    read_ranges();
    read_inputs(graph, signature);
    read_nodes(graph);
    read_outputs(signature);
  }

 private:
  using Tensors = std::unordered_map<std::string, const json::Node*>;

  void read_versions() {
    program_.torch_version = fields_.text(root_, "torch_version");
    std::int64_t major = fields_.integer(fields_.member(root_, "schema_version"), "major");
    fields_.expect(major == schema, "it has version ", major, " of PyTorch's schema, written by ",
                   "PyTorch ", excerpt(program_.torch_version), "; version ", schema, " is read");
  }

  void read_ranges() {
    for (const auto& [name, range] : fields_.members(root_, "range_constraints")) {
      fields_.set_place(concat("range of \"", excerpt(name), '"'));
      auto bound = [&](const char* which, std::int64_t missing) {
        const json::Node* value = fields_.optional(range, which);
        return value == nullptr ? missing : fields_.as_integer(*value, which);
      };
      SymbolRange sizes{bound("min_val", 0), bound("max_val", INT64_MAX)};
      fields_.expect(sizes.min <= sizes.max, "it goes from ", sizes.min, " to ", sizes.max);
      program_.symbols.emplace(name, sizes);
    }
    fields_.set_place("");
  }

  void read_inputs(const json::Node& graph, const json::Node& signature) {
    const auto& specs = fields_.list(signature, "input_specs");
    fields_.expect(specs.size() <= most_inputs, "it has ", specs.size(), " inputs; at most ",
                   most_inputs, " are allowed");
    Tensors tensors;
    for (const auto& [name, facts] : fields_.members(graph, "tensor_values"))
      tensors.emplace(name, &facts);
    for (const json::Node& spec : specs) {
      fields_.set_place(concat("input ", program_.inputs.size()));
      const auto& [kind, content] = fields_.as_choice(spec, "input");
      if (kind == "constant_input") continue;  // an argument that is the same in every call
      read_input(kind, content, tensors);
    }
    fields_.set_place("");
  }

  void read_input(const std::string& kind, const json::Node& content, const Tensors& tensors) {
    using enum Input::Kind;
    const json::Node& argument = fields_.member(content, "arg");
    std::string value, name;
    Input::Kind of = user;
    if (kind == "user_input") {
      const auto& [form, tensor] = fields_.as_choice(argument, "arg");
      if (form != "as_tensor" && is_constant(form)) return;
      fields_.expect(form == "as_tensor", "it is ", excerpt(form), "; inputs are tensors");
      value = name = fields_.text(tensor, "name");
    } else {
      bool is_known = kind == "parameter" || kind == "buffer" || kind == "tensor_constant";
      fields_.expect(is_known, "it is a ", excerpt(kind),
                     "; user inputs, parameters, buffers and constant tensors are known");
      of = kind == "parameter" ? parameter : kind == "buffer" ? buffer : constant;
      value = fields_.text(argument, "name");
      name = fields_.text(content, concat(kind, "_name"));
    }
    fields_.set_place(concat("input \"", excerpt(value), '"'));
    auto described = tensors.find(value);
    fields_.expect(described != tensors.end(), "\"tensor_values\" does not describe it");
    TensorFacts facts = read_tensor_facts(fields_, *described->second);
    fields_.expect(targets_[of].insert(name).second, "there are two of the name \"", excerpt(name),
                   '"');
    program_.inputs.push_back({of, define(value), name, std::move(facts)});
  }

  // Arguments of forward() that are no tensors were fixed when the program was exported.
  static bool is_constant(std::string_view form) {
    return form == "as_none" || form == "as_int" || form == "as_float" || form == "as_bool" ||
           form == "as_string";
  }

  void read_nodes(const json::Node& graph) {
    const auto& nodes = fields_.list(graph, "nodes");
    program_.nodes.reserve(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      fields_.set_place(concat("node ", i));
      read_node(nodes[i]);
    }
    fields_.set_place("");
  }

  void read_node(const json::Node& from) {
    Node node;
    node.target = fields_.text(from, "target");
    constexpr std::string_view prefix = "torch.ops.";
    if (node.target.starts_with(prefix)) node.target.erase(0, prefix.size());
    const json::Node* name = fields_.optional(from, "name");
    if (name != nullptr) node.name = fields_.as_text(*name, "name");
    fields_.set_place(
        concat(fields_.place(), " \"", excerpt(node.name), "\" (", excerpt(node.target), ")"));
    node.source = source_line(fields_.member(from, "metadata"));
    ValueOf value_of = [this](const std::string& used) { return at(used); };
    for (const json::Node& input : fields_.list(from, "inputs")) {
      std::string argument = fields_.text(input, "name");
      node.arguments.push_back(
          {argument, read_argument(fields_, fields_.member(input, "arg"), argument, value_of)});
    }
    for (const json::Node& output : fields_.list(from, "outputs"))
      for (const std::string& result : result_names(fields_, output))
        node.results.push_back(define(result));
    program_.nodes.push_back(std::move(node));
  }

  // `file.py", line 82, in forward` as file.py:82, the last one of a trace.
  std::string source_line(const json::Node& metadata) const {
    const json::Node* trace = fields_.optional(metadata, "stack_trace");
    if (trace == nullptr) return "";
    std::string text = fields_.as_text(*trace, "stack_trace");
    constexpr std::string_view between = "\", line ";
    std::size_t at = text.rfind(between);
    if (at == text.npos) return "";
    std::size_t file = at == 0 ? text.npos : text.find_last_of("/\"\n", at - 1);
    file = file == text.npos ? 0 : file + 1;
    std::size_t line = at + between.size(), end = text.find_first_not_of("0123456789", line);
    std::string source = concat(text.substr(file, at - file), ":",
                                text.substr(line, std::min(end, text.size()) - line));
    return concat(excerpt(source));
  }

  void read_outputs(const json::Node& signature) {
    using enum Output::Kind;
    for (const json::Node& spec : fields_.list(signature, "output_specs")) {
      fields_.set_place(concat("output ", program_.outputs.size()));
      const auto& [kind, content] = fields_.as_choice(spec, "output");
      const json::Node& argument = fields_.member(content, "arg");
      if (kind == "user_output") {
        const auto& [form, tensor] = fields_.as_choice(argument, "arg");
        fields_.expect(form == "as_tensor", "it is ", excerpt(form), "; outputs are tensors");
        std::string name = fields_.text(tensor, "name");
        program_.outputs.push_back({user, at(name), name});
      } else {
        bool is_known = kind == "buffer_mutation" || kind == "user_input_mutation";
        fields_.expect(is_known, "it is a ", excerpt(kind),
                       "; tensors for the caller, and changes ",
                       "of buffers and of the user's inputs are known");
        bool is_buffer = kind == "buffer_mutation";
        std::string target = fields_.text(content, is_buffer ? "buffer_name" : "user_input_name");
        check_target(target, is_buffer ? Input::Kind::buffer : Input::Kind::user);
        program_.outputs.push_back(
            {is_buffer ? buffer_change : input_change, at(fields_.text(argument, "name")), target});
      }
    }
    fields_.set_place("");
  }
  void check_target(const std::string& name, Input::Kind kind) {
    fields_.expect(targets_[kind].contains(name), "it is written to \"", excerpt(name),
                   "\", which is no input");
  }

  ValueId define(const std::string& name) {
    auto id = static_cast<ValueId>(program_.value_names.size());
    fields_.expect(ids_.emplace(name, id).second, "\"", excerpt(name), "\" is defined twice");
    program_.value_names.push_back(name);
    return id;
  }
  ValueId at(const std::string& name) const {
    auto found = ids_.find(name);
    fields_.expect(found != ids_.end(), "\"", excerpt(name),
                   "\" is used and was not defined before");
    return found->second;
  }

  Fields fields_;
  Program& program_;
  const json::Node& root_;
  std::unordered_map<std::string, ValueId> ids_;
  std::map<Input::Kind, std::unordered_set<std::string>> targets_;  // names of inputs
};

}  // namespace

json::Limits program_limits() {
  return {.text_bytes = 200'000'000,
          .depth = 32,
          .string_bytes = 1 << 20,
          .values = 20'000'000,
          .nodes = 8'000'000};
}

Program read_program(std::string_view text, const std::string& file) {
  Program program;
  program.file = file;
  json::Node root = json::read_tree(text, "load_exported", file, program_limits());
  ProgramReader(root, program).read();
  return program;
}

}  // namespace tilewright::exported
