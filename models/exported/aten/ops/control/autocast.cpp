#include "models/exported/aten/ops/control/autocast.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "graph/tensor/precision/autocast_call.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

// Which are made of operators of several kinds.
constexpr auto mixed = std::to_array<std::string_view>({"gru", "lstm", "rnn_relu", "rnn_tanh"});

bool is_mixed(std::string_view name) { return std::ranges::find(mixed, name) != mixed.end(); }

// Between the dots: "linear" of "aten.linear.default".
std::string_view function_of(std::string_view target) {
  const std::size_t first = target.find('.');
  if (first == target.npos) return target;
  target.remove_prefix(first + 1);
  return target.substr(0, target.find('.'));
}

// With elements of its own at the borders, by one of several operators.
bool is_pad_by_elements(const Node& node) {
  if (function_of(node.target) != "pad") return false;
  for (const Argument& argument : node.arguments)
    if (auto* mode = std::get_if<std::string>(&argument.value)) return *mode != "constant";
  return false;
}

}  // namespace

std::vector<std::pair<ValueId, Value>> autocast(const Node& node, std::span<const Value> values,
                                                DType dtype) {
  const std::string_view function = function_of(node.target);
  const bool is_graph =
      node.target.starts_with("higher_order.") && function != "wrap_with_autocast";
  require(!is_graph && !is_mixed(function) && !is_pad_by_elements(node), "[exported] ",
          json::excerpt(node.target),
          " within torch.autocast is not supported; export the program without one of them");
  using enum graph::AutocastKind;
  const auto kind = graph::autocast_kind(function, AutocastLists::cpu);
  if (!kind || *kind == as_is || *kind == by_parts) return {};
  const DType wanted = *kind == few_bits ? dtype : DType::f32;
  std::map<ValueId, Tensor> tensors;
  for_each_used(node, [&](ValueId id) {
    auto* tensor = std::get_if<Tensor>(&values[static_cast<std::size_t>(id)]);
    if (tensor != nullptr && tensor->defined() && graph::is_cast(tensor->dtype()))
      tensors.emplace(id, *tensor);
  });
  // Few bits of one kind stay where no tensor has more.
  if (*kind == widest &&
      std::ranges::none_of(tensors, [](const auto& x) { return x.second.dtype() == DType::f32; }))
    return {};
  std::vector<std::pair<ValueId, Value>> cast;
  for (const auto& [id, tensor] : tensors) cast.emplace_back(id, tensor.to(wanted));
  return cast;
}

}  // namespace tilewright::exported
