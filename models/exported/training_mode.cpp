#include "models/exported/training_mode.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

const ArgumentValue* argument_of(const Node& node, std::string_view name) {
  const auto found = std::ranges::find(node.arguments, name, &Argument::name);
  return found == node.arguments.end() ? nullptr : &found->value;
}

// A batch norm without running statistics takes those of the batch in either mode.
bool computes_as_in_training(const Node& node) {
  const bool is_batch_norm = node.target.find("batch_norm") != std::string::npos;
  if (is_batch_norm) {
    const ArgumentValue* mean = argument_of(node, "running_mean");
    if (mean == nullptr || !std::holds_alternative<TensorName>(*mean)) return false;
    if (node.target.starts_with("aten._batch_norm_with_update")) return true;
  }
  auto is_set = [&](std::string_view name) {
    const ArgumentValue* flag = argument_of(node, name);
    return flag != nullptr && std::holds_alternative<bool>(*flag) && std::get<bool>(*flag);
  };
  return is_set("train") || is_set("training");
}

}  // namespace

std::string training_operator(const Program& program) {
  std::string first;
  for_each_node(program.nodes, [&](const Node& node) {
    if (first.empty() && computes_as_in_training(node))
      first = node.source.empty() ? node.target : concat(node.target, ", from ", node.source);
  });
  return first;
}

}  // namespace tilewright::exported
