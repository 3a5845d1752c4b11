// The graphs within a program: those that higher-order operators run.
#include <unordered_map>

#include "models/exported/program/arguments.h"

namespace tilewright::exported {
namespace {

using json::excerpt;

class SubgraphReader {
 public:
  SubgraphReader(const Fields& fields, Subgraph& graph) : fields_(fields), graph_(graph) {}

  void read(const json::Node& content) {
    graph_.name = fields_.text(content, "name");
    const json::Node& graph = fields_.member(content, "graph");
    for (const json::Node& input : fields_.list(graph, "inputs")) {
      graph_.inputs.push_back(id_of(input_name(input)));
      define(graph_.inputs.back());
    }
    for (const json::Node& node : fields_.list(graph, "nodes")) read_node(node);
    for (const json::Node& output : fields_.list(graph, "outputs")) {
      graph_.outputs.push_back(id_of(tensor_name(output)));
      require_defined(graph_.outputs.back());
    }
  }

 private:
  std::string tensor_name(const json::Node& value) const {
    const auto& [form, tensor] = fields_.as_choice(value, "argument");
    expect(form == "as_tensor", "takes or gives ", excerpt(form), "; tensors are known");
    return fields_.text(tensor, "name");
  }
  // Numbers come in as well.
  std::string input_name(const json::Node& value) const {
    const auto& [form, number] = fields_.as_choice(value, "argument");
    const bool is_number = form == "as_sym_int" || form == "as_sym_float" || form == "as_sym_bool";
    return is_number ? fields_.text(number, "as_name") : tensor_name(value);
  }
  void read_node(const json::Node& from) {
    Node node;
    node.target = target_of(fields_, from);
    if (const json::Node* name = fields_.optional(from, "name"))
      node.name = fields_.as_text(*name, "name");
    read_arguments(fields_, from, node, [this](const std::string& used) { return id_of(used); });
    for_each_used(node, [this](ValueId id) { require_defined(id); });
    for (ValueId id : node.results) define(id);
    graph_.nodes.push_back(std::move(node));
  }

  ValueId id_of(const std::string& name) {
    auto [known, is_new] = ids_.emplace(name, static_cast<ValueId>(graph_.value_names.size()));
    if (is_new) {
      graph_.value_names.push_back(name);
      is_defined_.push_back(false);
    }
    return known->second;
  }
  void define(ValueId id) {
    const auto i = static_cast<std::size_t>(id);
    expect(!is_defined_[i], "defines \"", excerpt(graph_.value_names[i]), "\" twice");
    is_defined_[i] = true;
  }
  void require_defined(ValueId id) const {
    const auto i = static_cast<std::size_t>(id);
    expect(is_defined_[i], "uses \"", excerpt(graph_.value_names[i]),
           "\", which was not defined before");
  }
  template <typename... Parts>
  void expect(bool condition, const Parts&... parts) const {
    fields_.expect(condition, "the graph \"", excerpt(graph_.name), "\" ", parts...);
  }

  const Fields& fields_;
  Subgraph& graph_;
  std::unordered_map<std::string, ValueId> ids_;
  std::vector<bool> is_defined_;  // by ValueId
};

}  // namespace

GraphArgument read_subgraph(const Fields& fields, const json::Node& content) {
  auto graph = std::make_shared<Subgraph>();
  SubgraphReader(fields, *graph).read(content);
  return {std::move(graph)};
}

}  // namespace tilewright::exported
