#include "models/exported/program/program.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "models/exported/program/arguments.h"
#include "models/exported/program/fields.h"
#include "models/exported/program/guards.h"
#include "models/files/tree.h"
#include "models/programs/python_expression.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

using json::excerpt;

constexpr std::int64_t schema = 8;  // torch._export.serde.schema.SCHEMA_VERSION, the major number
constexpr std::size_t most_inputs = 50'000;  // parameters and buffers among them

class ProgramReader {
 public:
  explicit ProgramReader(Program& program) : fields_(program.file), program_(program) {}

  void read(std::string_view text) {
    json::Node root = json::read_tree(
        text, "load_exported", program_.file, program_limits(), {},
        {{"graph_module/graph/nodes",
          [this](std::string_view, json::Node node) { read_node(node); }},
         {"graph_module/graph/tensor_values",
          [this](std::string_view name, json::Node facts) { read_tensor(name, facts); }},
         {"graph_module/module_call_graph",
          [this](std::string_view, const json::Node& module) { read_paths(module); }}});
    read_versions(root);
    read_ranges(root);
    const json::Node& module = fields_.member(root, "graph_module");
    const json::Node& signature = fields_.member(module, "signature");
    const json::Node& graph = fields_.member(module, "graph");
    fields_.list(graph, "nodes");
    if (fields_.optional(graph, "sym_int_values") != nullptr)
      for (const auto& [name, described] : fields_.members(graph, "sym_int_values"))
        integers_.emplace(name, &described);
    read_inputs(signature);
    read_conditions(root);
    check_order();
    mark_complex();
    keep_layouts();
    read_outputs(signature);
  }

 private:
  // One at a time, as the text is read.
  void read_tensor(std::string_view name, const json::Node& facts) {
    fields_.set_place(concat("tensor \"", excerpt(name), '"'));
    tensors_.emplace(name, exported::read_tensor(fields_, facts));
    if (auto layout = read_storage_layout(fields_, facts)) layouts_.emplace(name, *layout);
    fields_.set_place("");
  }

  // The first module is the program itself.
  void read_paths(const json::Node& module) {
    if (!std::exchange(has_paths_, true)) paths_ = input_paths(module, program_.file);
  }

  void read_versions(const json::Node& root) {
    program_.torch_version = fields_.text(root, "torch_version");
    std::int64_t major = fields_.integer(fields_.member(root, "schema_version"), "major");
    fields_.expect(major == schema, "it has version ", major, " of PyTorch's schema, written by ",
                   "PyTorch ", excerpt(program_.torch_version), "; version ", schema, " is read");
  }

  void read_ranges(const json::Node& root) {
    for (const auto& [name, range] : fields_.members(root, "range_constraints")) {
      fields_.set_place(concat("range of \"", excerpt(name), '"'));
      auto bound = [&](const char* which, std::int64_t missing) {
        const json::Node* value = fields_.optional(range, which);
        return value == nullptr ? missing : fields_.as_integer(*value, which);
      };
      SymbolRange sizes{bound("min_val", 0), bound("max_val", INT64_MAX)};
      if (sizes.min == 0) without_least_.insert(name);
      // PyTorch traces no axis that varies with 0 or 1, and writes that down as a least size of 2,
      // but runs its programs with these sizes too.
      if (sizes.min == 2) sizes.min = 0;
      fields_.expect(sizes.min <= sizes.max, "it goes from ", sizes.min, " to ", sizes.max);
      const auto expression = programs::parse_python_expression(name);
      if (expression && expression->kind == SizeExpression::Kind::function)
        ranges_.emplace_back(*expression, sizes);
      else
        program_.symbols.emplace(name, sizes);
    }
    fields_.set_place("");
  }

  void read_inputs(const json::Node& signature) {
    const auto& specs = fields_.list(signature, "input_specs");
    fields_.expect(specs.size() <= most_inputs, "it has ", specs.size(), " inputs; at most ",
                   most_inputs, " are allowed");
    for (const json::Node& spec : specs) {
      fields_.set_place(concat("input ", program_.inputs.size()));
      const auto& [kind, content] = fields_.as_choice(spec, "input");
      if (kind == "token") {
        define(id_of(token_name(content)));
        continue;
      }
      const std::size_t before = program_.inputs.size();
      if (kind != "constant_input") read_input(kind, content);
      const bool is_new = program_.inputs.size() > before;
      // A constant is the same in every call.
      if (kind == "constant_input" || (kind == "user_input" && !is_new))
        leaves_.push_back(std::nullopt);
      else if (kind == "user_input")
        leaves_.push_back(user_inputs_++);
    }
    fields_.set_place("");
  }

  void read_conditions(const json::Node& root) {
    std::vector<programs::SignatureInput> inputs;
    for (const Input& input : program_.inputs)
      if (input.kind == Input::Kind::user)
        inputs.push_back({input.name, input.facts, true, input.integer});
    program_.functions = ranges_of_sizes(inputs, ranges_);
    if (const json::Node* guards = fields_.optional(root, "guards_code"))
      program_.conditions = read_guards(fields_, *guards, paths_, leaves_, inputs);
  }

  void read_input(const std::string& kind, const json::Node& content) {
    using enum Input::Kind;
    const json::Node& argument = fields_.member(content, "arg");
    std::string value, name;
    Input::Kind of = user;
    if (kind == "user_input") {
      const auto& [form, tensor] = fields_.as_choice(argument, "arg");
      if (form != "as_tensor" && is_constant(form)) return;
      if (form == "as_sym_int") return read_integer(tensor);
      fields_.expect(form == "as_tensor", "it is ", excerpt(form),
                     "; inputs are tensors and integers");
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
    auto described = tensors_.find(value);
    fields_.expect(described != tensors_.end(), "\"tensor_values\" does not describe it");
    const bool is_new = targets_[of].insert(name).second;
    // A parameter that two modules share may go in twice; it is not written to.
    fields_.expect(is_new || of == parameter, "there are two of the name \"", excerpt(name), '"');
    const auto& [facts, is_complex, unread] = described->second;
    require_read(fields_, unread);
    program_.inputs.push_back({of, id_of(value), name, facts, is_complex});
    if (const json::Node* persistent = fields_.optional(content, "persistent"))
      program_.inputs.back().is_persistent = fields_.as_flag(*persistent, "persistent");
    define(id_of(value));
  }

  // An integer that differs from call to call, of which sizes of tensors may be made.
  void read_integer(const json::Node& content) {
    const std::string name = fields_.text(content, "as_name");
    fields_.set_place(concat("input \"", excerpt(name), '"'));
    const auto described = integers_.find(name);
    fields_.expect(described != integers_.end() && !described->second->is_null(),
                   "\"sym_int_values\" does not describe it");
    const bool is_new = targets_[Input::Kind::user].insert(name).second;
    fields_.expect(is_new, "there are two of the name \"", excerpt(name), '"');
    program_.inputs.push_back({Input::Kind::user, id_of(name), name, TensorFacts{i64, {}}, false,
                               read_size(fields_, *described->second, name)});
    // PyTorch writes down a least integer of 0 where it knows none, and takes those below.
    const SizeExpression& size = *program_.inputs.back().integer;
    if (without_least_.contains(size.name)) program_.symbols.at(size.name).min = INT64_MIN;
    define(id_of(name));
  }

  // A token is no value: it orders the nodes that have effects, which run as they are written.
  std::string token_name(const json::Node& content) const {
    return fields_.text(fields_.member(content, "arg"), "name");
  }

  // Arguments of forward() that are no tensors were fixed when the program was exported.
  static bool is_constant(std::string_view form) {
    return form == "as_none" || form == "as_int" || form == "as_float" || form == "as_bool" ||
           form == "as_string";
  }

  void read_node(const json::Node& from) {
    fields_.set_place(concat("node ", program_.nodes.size()));
    Node node;
    node.target = target_of(fields_, from);
    const json::Node* name = fields_.optional(from, "name");
    if (name != nullptr) node.name = fields_.as_text(*name, "name");
    fields_.set_place(place_of(program_.nodes.size(), node));
    node.source = source_line(fields_.member(from, "metadata"));
    read_arguments(fields_, from, node, [this](const std::string& used) { return id_of(used); });
    program_.nodes.push_back(std::move(node));
    fields_.set_place("");
  }
  static std::string place_of(std::size_t number, const Node& node) {
    return concat("node ", number, " \"", excerpt(node.name), "\" (", excerpt(node.target), ")");
  }

  // That values are defined once, and before they are used. Errors name the place of a node only
  // where that is not so.
  void check_order() {
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      bool is_right = true;
      for_each_used(node, [&](ValueId id) { is_right = is_right && is_defined(id); });
      for (ValueId id : node.results) is_right = is_right && !is_defined(id);
      if (!is_right) fields_.set_place(place_of(i, node));
      if (!is_right) for_each_used(node, [&](ValueId id) { require_defined(id); });
      for (ValueId id : node.results) define(id);
    }
  }

  void mark_complex() {
    std::vector<bool> is_complex;
    for (const std::string& name : program_.value_names) {
      auto described = tensors_.find(name);
      is_complex.push_back(described != tensors_.end() && described->second.is_complex);
    }
    for (Node& node : program_.nodes) {
      for_each_used(node, [&](ValueId id) {
        node.takes_complex = node.takes_complex || is_complex[static_cast<std::size_t>(id)];
      });
      for (const Argument& argument : node.arguments)
        node.takes_complex = node.takes_complex || is_complex_argument(argument.value);
    }
  }

  void keep_layouts() {
    auto is_strided = [](const Node& node) { return node.target.starts_with("aten.as_strided"); };
    if (std::ranges::none_of(program_.nodes, is_strided)) return;
    for (const auto& [name, layout] : layouts_)
      if (auto known = ids_.find(name); known != ids_.end())
        program_.layouts.emplace(known->second, layout);
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
        read_result(argument);
      } else if (kind == "token") {
        used(token_name(content));
      } else {
        bool is_known = kind == "buffer_mutation" || kind == "user_input_mutation";
        fields_.expect(is_known, "it is a ", excerpt(kind),
                       "; tensors for the caller, and changes ",
                       "of buffers and of the user's inputs are known");
        bool is_buffer = kind == "buffer_mutation";
        std::string target = fields_.text(content, is_buffer ? "buffer_name" : "user_input_name");
        check_target(target, is_buffer ? Input::Kind::buffer : Input::Kind::user);
        program_.outputs.push_back({is_buffer ? buffer_change : input_change,
                                    used(fields_.text(argument, "name")), target});
      }
    }
    fields_.set_place("");
  }
  // The user's results: a tensor or a number each; no result for none.
  void read_result(const json::Node& argument) {
    const auto& [form, content] = fields_.as_choice(argument, "arg");
    if (form == "as_none") return;
    const ArgumentValue value = read_argument(
        fields_, argument, "output", [this](const std::string& name) { return used(name); });
    auto give = [&](ValueId id) {
      program_.outputs.push_back({Output::Kind::user, id, name_of(id)});
    };
    auto give_number = [&](const Number& number) {
      std::string name = concat("number_", program_.outputs.size());
      program_.outputs.push_back({Output::Kind::user, -1, std::move(name), number});
    };
    if (auto* tensor = std::get_if<TensorName>(&value)) return give(tensor->id);
    if (auto* number = std::get_if<NumberName>(&value)) return give(number->id);
    if (auto* flag = std::get_if<bool>(&value)) return give_number(*flag);
    if (auto* integer = std::get_if<std::int64_t>(&value)) return give_number(*integer);
    auto* number = std::get_if<double>(&value);
    fields_.expect(number != nullptr, "it is ", excerpt(form), "; outputs are tensors and numbers");
    give_number(*number);
  }
  void check_target(const std::string& name, Input::Kind kind) {
    fields_.expect(targets_[kind].contains(name), "it is written to \"", excerpt(name),
                   "\", which is not an input");
  }

  ValueId id_of(const std::string& name) {
    auto [known, is_new] = ids_.emplace(name, static_cast<ValueId>(program_.value_names.size()));
    if (is_new) program_.value_names.push_back(name);
    return known->second;
  }
  bool is_defined(ValueId id) const {
    auto i = static_cast<std::size_t>(id);
    return i < is_defined_.size() && is_defined_[i];
  }
  const std::string& name_of(ValueId id) const {
    return program_.value_names[static_cast<std::size_t>(id)];
  }
  void define(ValueId id) {
    fields_.expect(!is_defined(id), "\"", excerpt(name_of(id)), "\" is defined twice");
    is_defined_.resize(program_.value_names.size());
    is_defined_[static_cast<std::size_t>(id)] = true;
  }
  void require_defined(ValueId id) const {
    fields_.expect(is_defined(id), "\"", excerpt(name_of(id)),
                   "\" is used and was not defined before");
  }
  ValueId used(const std::string& name) {
    ValueId id = id_of(name);
    require_defined(id);
    return id;
  }

  Fields fields_;
  Program& program_;
  std::unordered_map<std::string_view, const json::Node*> integers_;  // descriptions, by name
  std::vector<FunctionRange> ranges_;
  bool has_paths_ = false;
  std::size_t user_inputs_ = 0;
  std::vector<InputPath> paths_;                    // of all inputs, as forward() has them
  std::vector<std::optional<std::size_t>> leaves_;  // their places among the user's
  std::unordered_set<std::string> without_least_;   // symbols
  std::unordered_map<std::string, ValueId> ids_;
  std::unordered_map<std::string, TensorDescription> tensors_;
  std::unordered_map<std::string, StorageLayout> layouts_;
  std::vector<bool> is_defined_;
  std::map<Input::Kind, std::unordered_set<std::string>> targets_;  // names of inputs
};

}  // namespace

json::Limits program_limits() {
  return {.text_bytes = 200'000'000,
          .depth = 32,
          .string_bytes = 1 << 20,
          .values = 50'000'000,
          .nodes = 1'000'000};
}

Program read_program(std::string_view text, const std::string& file) {
  Program program;
  program.file = file;
  ProgramReader(program).read(text);
  return program;
}

}  // namespace tilewright::exported
