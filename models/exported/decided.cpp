#include "models/exported/decided.h"

#include <algorithm>

namespace tilewright::exported {

bool is_decidable(std::string_view target) {
  constexpr std::string_view starts[] = {
      "aten.eq.",  "aten.ne.",      "aten.lt.",      "aten.le.",        "aten.gt.",
      "aten.ge.",  "aten.logical_", "aten.bitwise_", "aten.add.",       "aten.sub.",
      "aten.mul.", "aten.div.",     "aten.neg.",     "aten.remainder",  "aten._to_copy.",
      "aten.to.",  "aten.select.",  "aten.view.",    "aten.reshape.",   "aten.squeeze.",
      "aten.all.", "aten.any.",     "aten.abs.",     "aten.unsqueeze.", "aten.clone."};
  const bool writes = target.ends_with("out") || target.find("_.") != std::string_view::npos;
  return !writes &&
         std::ranges::any_of(starts, [&](auto start) { return target.starts_with(start); });
}

std::vector<bool> conditions_of(const Program& program) {
  std::vector<int> uses(program.value_names.size()), as_conditions(uses.size());
  for (const Node& node : program.nodes) {
    for_each_used(node, [&](ValueId id) { ++uses[static_cast<std::size_t>(id)]; });
    if (node.target != "higher_order.cond" || node.arguments.empty()) continue;
    if (auto* condition = std::get_if<TensorName>(&node.arguments[0].value))
      ++as_conditions[static_cast<std::size_t>(condition->id)];
  }
  for (const Output& output : program.outputs)
    if (!output.number) ++uses[static_cast<std::size_t>(output.value)];
  std::vector<bool> are_conditions(uses.size());
  for (std::size_t i = 0; i < uses.size(); ++i)
    are_conditions[i] = uses[i] > 0 && uses[i] == as_conditions[i];
  return are_conditions;
}

}  // namespace tilewright::exported
