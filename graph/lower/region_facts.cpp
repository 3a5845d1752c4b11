#include "graph/lower/region_facts.h"

#include <algorithm>
#include <numeric>

namespace tilewright::graph {
namespace {

bool a_product_needs_another(const TaskList& list, const Region& region) {
  std::vector<bool> follows(region.tasks.size(), false);  // a product, or what is made of one
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    for (const TaskOperand& operand : task.operands)
      if (auto p = operand.producer ? region.slot(*operand.producer) : std::nullopt)
        follows[slot] = follows[slot] || follows[*p];
    if (task.kind != TaskKind::contraction) continue;
    if (follows[slot]) return true;
    follows[slot] = true;
  }
  return false;
}

}  // namespace

std::int64_t depth_quantum(const TaskList& list, const Region& region, std::size_t product) {
  std::vector<std::int64_t> digits = inner_digits(list, region, product)->sizes();
  std::int64_t quantum = 1;
  for (std::size_t i = 0; i + 1 < digits.size(); ++i) quantum *= digits[i];
  return quantum;
}

RegionFacts facts_of(const TaskList& list, const Region& region) {
  RegionFacts facts;
  facts.products_come_first = !a_product_needs_another(list, region);
  facts.digits = region.digits.sizes();
  std::vector<bool> usable(facts.digits.size(), true);
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    if (!region.tables[slot].inner)
      facts.widest = std::max(facts.widest, region.tables[slot].width);
    facts.element_bytes = std::max(facts.element_bytes, size_bytes(task.dtype));
    if (task.kind == TaskKind::gather || task.kind == TaskKind::scatter) facts.one_row = true;
    facts.reduces = facts.reduces || task.kind == TaskKind::reduction;
    if (task.kind == TaskKind::reduction)
      facts.widest = std::max(facts.widest, operand_table(task, 0, {})->width);
    if (task.kind != TaskKind::contraction) continue;
    facts.has_product = true;
    facts.weight_element_bytes = std::max(
        facts.weight_element_bytes, size_bytes(list.storages[task.operands[1].storage].dtype));
    facts.on_tensor_cores = facts.on_tensor_cores &&
                            list.on_tensor_cores(list.storages[task.operands[1].storage].dtype);
    facts.depth = std::max(facts.depth, task.operands[1].view.shape[-2]);
    Table weights = weight_table(task);
    if (task.operands[1].producer && region.slot(*task.operands[1].producer)) {
      facts.computes_weights = true;
      facts.depth_quantum = std::lcm(facts.depth_quantum, depth_quantum(list, region, slot));
    }
    IndexMap inner = *compose(index_map(task.operands[1].view), *weights.inner);
    facts.weights_along_depth =
        facts.weights_along_depth && !inner.is_constant() && inner.modes()[0].stride == 1;
    auto access = compose(task.operands[1].view, Access{weights.place.rows, IndexMap(), 0});
    std::vector<std::int64_t> strides = region.digits.strides(access->rows);
    for (std::size_t i = 0; i < strides.size(); ++i) usable[i] = usable[i] && strides[i] == 0;
  }
  if (facts.one_row) return facts;
  for (std::size_t i = 0; i < facts.digits.size(); ++i)
    if (usable[i] && (!facts.digit || facts.digits[i] > facts.digits[*facts.digit]))
      facts.digit = i;
  return facts;
}

Contiguity contiguity_of(const TaskList& list, const Region& region) {
  std::int64_t along_columns = 0;
  std::vector<std::int64_t> along_digit(region.digits.sizes().size(), 0);
  auto vote = [&](const std::optional<Access>& access, std::int64_t bytes) {
    if (!access) return;
    bool by_columns = !access->columns.is_constant() && access->columns.modes()[0].stride == 1;
    if (by_columns) along_columns += bytes;
    std::vector<std::int64_t> strides = region.digits.strides(access->rows);
    for (std::size_t i = 0; i < strides.size(); ++i)
      if (strides[i] == 1 && !access->columns.is_constant()) along_digit[i] += bytes;
  };
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    for (std::size_t i = 0; i < task.operands.size(); ++i) {
      const TaskOperand& operand = task.operands[i];
      if (operand.number || (operand.producer && region.slot(*operand.producer))) continue;
      if (auto seen = operand_table(task, i, region.tables[slot]))
        vote(compose(operand.view, seen->place), element_count(operand.view.shape));
    }
    if (region.stored[slot]) vote(compose(task.place, region.tables[slot].place), task.count());
  }
  auto best = std::ranges::max_element(along_digit);
  if (best == along_digit.end()) return {along_columns};
  return {along_columns, *best, static_cast<std::size_t>(best - along_digit.begin())};
}

}  // namespace tilewright::graph
