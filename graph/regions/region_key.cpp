#include "graph/regions/region_key.h"

#include <algorithm>

namespace tilewright::graph {
namespace {

void add(Hasher& hasher, const Placement& placement) {
  hasher.add(placement.shape).add(placement.strides).add(placement.offset);
}

std::optional<std::size_t> producer_in(const Region& region, const TaskOperand& operand) {
  return operand.producer ? region.slot(*operand.producer) : std::nullopt;
}

}  // namespace

std::vector<StorageId> storages_of(const TaskList& list, const Region& region) {
  std::vector<StorageId> result;
  auto use = [&](StorageId id) {
    if (std::ranges::find(result, id) == result.end()) result.push_back(id);
  };
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    for (const TaskOperand& operand : task.operands)
      if (!operand.number && !producer_in(region, operand)) use(operand.storage);
    if (region.stored[slot]) use(task.storage);
  }
  return result;
}

Hash region_key(const Graph& graph, const TaskList& list, const Region& region) {
  std::vector<StorageId> storages = storages_of(list, region);
  auto index_of = [&](StorageId id) { return std::ranges::find(storages, id) - storages.begin(); };
  Hasher hasher;
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    hasher.add(task.kind).add(task.tile_op ? static_cast<int>(*task.tile_op) : -1);
    hasher.add(task.dtype).add(task.shape).add(task.axis_begin).add(task.axis_end);
    hasher.add(task.reduce).add(task.scatter_axis).add(task.scatter_stride).add(task.scatter_size);
    if (task.kind == TaskKind::attention) {
      const Attributes& attributes = graph.node(task.node).attributes;
      hasher.add(attributes.number).add(attributes.causal).add(attributes.window);
      hasher.add(attributes.start);
    }
    for (const TaskOperand& operand : task.operands) {
      hasher.add(operand.view.shape.size()).add(operand.number.has_value());
      if (operand.number) {
        hasher.add(operand.number->dtype).add(operand.number->integer);
        hasher.add(operand.number->floating).add(operand.view.shape);
      } else {
        auto producer = producer_in(region, operand);
        hasher.add(producer ? static_cast<std::int64_t>(*producer) : -1);
        if (!producer) hasher.add(index_of(operand.storage));
        if (!producer) {
          const Storage& storage = list.storages[operand.storage];
          hasher.add(storage.dtype).add(storage.is_aligned);
          hasher.add(storage.slivers.width).add(storage.slivers.in_pairs);
          hasher.add(storage.start).add(storage.step);  // may be computed rather than read
        }
        add(hasher, operand.view);
      }
    }
    hasher.add(static_cast<bool>(region.stored[slot]));
    if (region.stored[slot])
      hasher.add(index_of(task.storage)).add(list.storages[task.storage].is_aligned);
    add(hasher, task.place);
  }
  return hasher.finish();
}

}  // namespace tilewright::graph
