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

void decide_branches(Program& program, ValueId condition, bool flag) {
  for (Node& node : program.nodes) {
    if (node.target != "higher_order.cond" || node.arguments.empty()) continue;
    auto* given = std::get_if<TensorName>(&node.arguments[0].value);
    if (given != nullptr && given->id == condition) node.arguments[0].value = flag;
  }
}

}  // namespace tilewright::exported
