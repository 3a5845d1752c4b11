// Reductions that would join a product without having to do with it.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "graph/regions/task.h"

namespace tilewright::graph {

// True if a product of these tasks, in their order, is in the company of a reduction that neither
// reads it nor is read by it, as the gradients of a weight and of its bias are: both have a row for
// each output. Blocks of the product would go through whole rows for that. False for few `rows`.
inline bool joins_stray_reduction(const TaskList& list, std::span<const TaskId> tasks,
                                  std::int64_t rows) {
  constexpr std::int64_t few_rows = 64;  // whose program is short, whatever it does
  if (rows <= few_rows) return false;
  const std::size_t count = tasks.size();
  auto task = [&](std::size_t slot) -> const Task& { return list.tasks[tasks[slot]]; };
  auto each_producer = [&](std::size_t slot, const auto& visit) {
    for (const TaskOperand& operand : task(slot).operands) {
      if (!operand.producer) continue;
      const auto found = std::ranges::lower_bound(tasks, *operand.producer);
      if (found != tasks.end() && *found == *operand.producer)
        visit(static_cast<std::size_t>(found - tasks.begin()));
    }
  };
  std::vector<bool> has_product(count), is_read(count);  // in what it is made of; by a product
  for (std::size_t slot = 0; slot < count; ++slot) {
    bool has = task(slot).kind == TaskKind::contraction;
    each_producer(slot, [&](std::size_t producer) { has = has || has_product[producer]; });
    has_product[slot] = has;
  }
  if (std::ranges::find(has_product, true) == has_product.end()) return false;
  for (std::size_t slot = count; slot-- > 0;)
    if (is_read[slot] || task(slot).kind == TaskKind::contraction)
      each_producer(slot, [&](std::size_t producer) { is_read[producer] = true; });
  for (std::size_t slot = 0; slot < count; ++slot)
    if (task(slot).kind == TaskKind::reduction && !has_product[slot] && !is_read[slot]) return true;
  return false;
}

}  // namespace tilewright::graph
