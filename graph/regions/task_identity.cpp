#include "graph/regions/task_identity.h"

namespace tilewright::graph {

void add_structure(Hasher& hasher, const Task& task) {
  const auto& [kind, node, tile_op, dtype, shape, operands, axis_begin, axis_end, reduce, storage,
               place, scatter_axis, scatter_stride, scatter_size, op, attributes, others, after] =
      task;
  hasher.add(kind).add(tile_op ? static_cast<int>(*tile_op) : -1).add(dtype).add(shape);
  hasher.add(axis_begin).add(axis_end).add(reduce);
  hasher.add(scatter_axis).add(scatter_stride).add(scatter_size);
  hasher.add(operands.size());
  if (op) hasher.add(*op);
  for (const auto& [own, type, sizes] : others) hasher.add(type).add(sizes);
}

void add_work(Hasher& hasher, const Task& task) {
  add_structure(hasher, task);
  if (task.op) add_attributes(hasher, task.attributes);
}

void add_number(Hasher& hasher, const std::optional<ir::Scalar>& number) {
  hasher.add(number.has_value());
  if (!number) return;
  const auto& [dtype, integer, floating] = *number;
  hasher.add(dtype).add(integer).add(floating);
}

}  // namespace tilewright::graph
