#include "graph/regions/region_key.h"

#include <algorithm>

#include "graph/regions/task_identity.h"

namespace tilewright::graph {
namespace {

void add(Hasher& hasher, const StridedView& view) {
  const auto& [shape, strides, offset] = view;
  hasher.add(shape).add(strides).add(offset);
}

// Facts that programs know of memory that they read. Where it comes from is no part of them.
void add(Hasher& hasher, const Storage& storage) {
  const auto& [kind, dtype, elements, input, is_aligned, is_frozen, data, start, step, packed_from,
               panels, is_winograd, writers, readers, is_output] = storage;
  hasher.add(dtype).add(is_aligned);
  const auto& [width, in_pairs] = panels;
  hasher.add(width).add(in_pairs).add(is_winograd);
  hasher.add(start).add(step);  // may be computed rather than read
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
    for (const TaskResult& other : task.others) use(other.storage);
  }
  return result;
}

ir::InputPrecision precision_of(const TaskList& list, const Region& region) {
  for (TaskId id : region.tasks) {
    const Task& task = list.tasks[id];
    if (task.kind != TaskKind::contraction && !task.is_opaque()) continue;
    for (const TaskOperand& operand : task.operands) {
      DType dtype = operand.number ? operand.number->dtype : list.storages[operand.storage].dtype;
      if (list.precision_of(dtype) != ir::InputPrecision::ieee) return list.f32_products;
    }
  }
  return ir::InputPrecision::ieee;
}

Hash region_key(const TaskList& list, const Region& region) {
  std::vector<StorageId> storages = storages_of(list, region);
  auto index_of = [&](StorageId id) { return std::ranges::find(storages, id) - storages.begin(); };
  Hasher hasher;
  auto add_operand = [&](const TaskOperand& operand) {
    const auto& [number, storage, view, producer] = operand;
    add_number(hasher, number);
    hasher.add(view.shape);
    if (number) return;
    add(hasher, view);
    std::optional<std::size_t> slot_of_producer = producer_in(region, operand);
    hasher.add(slot_of_producer ? static_cast<std::int64_t>(*slot_of_producer) : -1);
    if (slot_of_producer) return;
    hasher.add(index_of(storage));
    add(hasher, list.storages[storage]);
  };
  for (std::size_t slot = 0; slot < region.tasks.size(); ++slot) {
    const Task& task = list.tasks[region.tasks[slot]];
    add_work(hasher, task);
    for (const TaskOperand& operand : task.operands) add_operand(operand);
    hasher.add(static_cast<bool>(region.stored[slot]));
    if (region.stored[slot])
      hasher.add(index_of(task.storage)).add(list.storages[task.storage].is_aligned);
    add(hasher, task.place);
    for (const TaskResult& other : task.others) hasher.add(index_of(other.storage));
  }
  // Nothing is added where products are exact, so that their keys in databases stay.
  ir::InputPrecision precision = precision_of(list, region);
  if (precision != ir::InputPrecision::ieee) hasher.add(precision);
  const bool convolves = list.tasks[region.tasks[0]].op == Op::convolution;
  if (convolves && list.transforms_rows) hasher.add(list.transforms_rows);
  return hasher.finish();
}

}  // namespace tilewright::graph
