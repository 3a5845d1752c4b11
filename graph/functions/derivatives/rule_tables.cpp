#include "graph/functions/derivatives/rule_tables.h"

#include <algorithm>

namespace tilewright::graph {

const Rule* rule_named(std::string_view name) {
  using namespace rules;
  for (const std::span<const Rule> table :
       {of_one_operand(), of_two_operands(), within_bounds(), of_reductions(), of_complex_numbers(),
        of_windows(), of_losses(), of_spectra()}) {
    const auto found = std::ranges::find(table, name, &Rule::name);
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

}  // namespace tilewright::graph
