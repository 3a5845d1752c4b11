#include "graph/run/task_numbers.h"

#include <type_traits>

#include "graph/sizes/graph_numbers.h"

namespace tilewright::graph {
namespace {

template <typename Visitor, typename View>
void visit_view(Visitor& visitor, View& view) {
  auto& [shape, strides, offset] = view;
  visit(visitor, shape);
  visit(visitor, strides);
  visitor.number(offset);
}

template <typename Visitor, typename S>
void visit_scalar(Visitor& visitor, S& scalar) {
  auto& [dtype, integer, floating] = scalar;
  visitor.form(dtype);
  visitor.number(integer);
  visitor.number(floating);
}

template <typename Visitor, typename O>
void visit_operand(Visitor& visitor, O& operand) {
  auto& [number, storage, view, producer] = operand;
  visitor.form(number.has_value());
  if (number) visit_scalar(visitor, *number);
  visitor.form(storage);
  visit_view(visitor, view);
  visitor.form(producer ? std::int64_t{*producer} : -1);
}

template <typename Visitor, typename T>
void visit_task(Visitor& visitor, T& task) {
  auto& [kind, node, tile_op, dtype, shape, operands, axis_begin, axis_end, reduce, storage, place,
         scatter_axis, scatter_stride, scatter_size, op, attributes, others, after] = task;
  visitor.form(kind);
  visitor.form(node);
  visitor.form(tile_op ? static_cast<int>(*tile_op) : -1);
  visitor.form(dtype);
  visit(visitor, shape);
  visitor.form(operands.size());
  for (auto& operand : operands) visit_operand(visitor, operand);
  visitor.form(axis_begin);
  visitor.form(axis_end);
  visitor.form(reduce);
  visitor.form(storage);
  visit_view(visitor, place);
  visitor.form(scatter_axis);
  visitor.number(scatter_stride);
  visitor.number(scatter_size);
  visitor.form(op ? static_cast<int>(*op) : -1);
  if (op) visit(visitor, attributes, info(*op).reads);
  visitor.form(others.size());
  for (auto& [own, type, sizes] : others) {
    visitor.form(own);
    visitor.form(type);
    visit(visitor, sizes);
  }
  visitor.form(after);
}

template <typename Visitor, typename S>
void visit_storage(Visitor& visitor, S& storage) {
  auto& [kind, dtype, elements, input, is_aligned, is_frozen, data, start, step, packed_from,
         panels, is_winograd, writers, readers, is_output] = storage;
  visitor.form(kind);
  visitor.form(dtype);
  visitor.number(elements);
  visitor.form(input);
  visitor.form(is_aligned);
  visitor.form(is_frozen);
  visitor.number(start);
  visitor.number(step);
  visit_view(visitor, packed_from);
  const auto& [width, in_pairs] = panels;
  visitor.form(width);
  visitor.form(in_pairs);
  visitor.form(is_winograd);
  visitor.form(writers);
  visitor.form(readers);
  visitor.form(is_output);
  if constexpr (Visitor::writes)
    if (kind == StorageKind::constant) data = constant_data(storage);
}

template <typename Visitor, typename Map>
void visit_map(Visitor& visitor, Map& map) {
  std::vector<Mode> modes = map.modes();
  visitor.form(modes.size());
  for (auto& [size, stride] : modes) {
    visitor.number(size);
    visitor.number(stride);
  }
  if constexpr (Visitor::writes) map = IndexMap(modes);
}

// Digits are those of a map whose modes do not join.
RowDigits digits_of(std::int64_t rows, const std::vector<std::int64_t>& sizes) {
  std::vector<Mode> modes;
  for (std::int64_t size : sizes)
    modes.push_back({size, modes.empty() || modes.back().stride == 0 ? 1 : 0});
  RowDigits digits(rows);
  digits.add(IndexMap(modes));
  return digits;
}

template <typename Visitor, typename D>
void visit_digits(Visitor& visitor, D& digits, std::int64_t rows) {
  std::vector<std::int64_t> sizes = digits.sizes();
  visitor.form(sizes.size());
  for (std::int64_t& size : sizes) visitor.number(size);
  if constexpr (Visitor::writes) digits = digits_of(rows, sizes);
}

template <typename Visitor, typename T>
void visit_table(Visitor& visitor, T& table) {
  auto& [place, width, inner] = table;
  visit_map(visitor, place.rows);
  visit_map(visitor, place.columns);
  visitor.number(place.offset);
  visitor.number(width);
  visitor.form(inner.has_value());
  if (inner) visit_map(visitor, *inner);
}

template <typename Visitor, typename F>
void visit_region(Visitor& visitor, F& fused) {
  auto& [region, bytes_saved, is_again] = fused;
  auto& [tasks, tables, stored, rows, width, splits_columns, is_in_place, weight_bytes, digits,
         family_elements, sizes_vary] = region;
  visitor.form(tasks);
  visitor.form(tables.size());
  for (auto& table : tables) visit_table(visitor, table);
  visitor.form(stored);
  visitor.number(rows);
  visitor.number(width);
  visitor.form(splits_columns);
  visitor.form(is_in_place);
  visitor.number(weight_bytes);
  visit_digits(visitor, digits, rows);
  visitor.number(family_elements);
  visitor.form(sizes_vary);
  visitor.number(bytes_saved);
  visitor.form(is_again);
}

template <typename Visitor, typename T>
void visit_all(Visitor& visitor, T& all) {
  auto& [list, regions] = all;
  auto& [tasks, storages, outputs, f32_products, transforms_rows, row_invariant] = list;
  visitor.form(tasks.size());
  for (auto& task : tasks) visit_task(visitor, task);
  visitor.form(storages.size());
  for (auto& storage : storages) visit_storage(visitor, storage);
  visitor.form(outputs.size());
  for (const TaskList::Output& output : outputs) {
    visitor.form(output.input.value_or(-1));
    visitor.form(output.storage);
  }
  visitor.form(f32_products);
  visitor.form(transforms_rows);
  visitor.form(row_invariant);
  visitor.form(regions.size());
  for (auto& region : regions) visit_region(visitor, region);
}

}  // namespace

void visit(NumberReader& visitor, const FusedTasks& tasks) { visit_all(visitor, tasks); }
void visit(NumberWriter& visitor, FusedTasks& tasks) { visit_all(visitor, tasks); }

}  // namespace tilewright::graph
