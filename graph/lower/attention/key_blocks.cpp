#include "graph/lower/attention/key_blocks.h"

#include <utility>

namespace tilewright::graph {

using dsl::Tile;

namespace {

constexpr std::int64_t most_rows_in_f32 = 8;

Tile in_dtype(const Tile& tile, DType dtype) {
  return tile.dtype() == dtype ? tile : dsl::cast(tile, dtype);
}

}  // namespace

DType dtype_of_products(const Task& task, std::int64_t rows, const dsl::Target& target) {
  const bool in_f32 = has_codes(task) && !target.is_gpu() && rows <= most_rows_in_f32;
  return in_f32 ? accumulator(task.dtype) : task.dtype;
}

bool scales_values(const Task& task, DType products) {
  return has_codes(task) && products == DType::f16;
}

Tile KeyBlocks::column_of_panels(const dsl::Operand& column) const {
  return first_of_panels_.defined() ? first_of_panels_ + column : column.tile();
}

Tile KeyBlocks::keys(const dsl::Operand& column) const {
  if (panels_ != nullptr) return panels_->keys(head_, column_of_panels(column));
  const std::int64_t depth = task_.operands[0].view.shape[3];
  if (!has_codes(task_)) return keys_.elements->load(0, column, {depth, columns_});
  // Codes are converted in the order in which they lie.
  const Matrix& codes = *keys_.elements;
  if (!codes.row_stride.is_one())
    return dsl::cast(codes.load(0, column, {depth, columns_}), dtype_);
  Matrix rows = codes;
  std::swap(rows.rows, rows.columns);
  std::swap(rows.row_stride, rows.column_stride);
  return dsl::trans(dsl::cast(rows.load(column, 0, {columns_, depth}), dtype_));
}

Tile KeyBlocks::values(const dsl::Operand& column) const {
  if (panels_ != nullptr) return panels_->values(head_, column_of_panels(column));
  const Tile elements =
      values_.elements->load(column, 0, {columns_, task_.operands[0].view.shape[3]});
  if (!scales_values(task_, dtype_)) return in_dtype(elements, dtype_);
  const Tile scales = values_.scales->load(column, 0, {columns_, 1});
  return dsl::cast(dsl::cast(elements, scales.dtype()) * scales, dtype_);
}

Tile KeyBlocks::with_scales(const Tile& products, const dsl::Operand& column) const {
  return keys_.scales ? products * keys_.scales->load(0, column, {1, columns_}) : products;
}

Tile KeyBlocks::weights(const Tile& weights, const dsl::Operand& column) const {
  const bool has_scales = values_.scales && !scales_values(task_, dtype_);
  return in_dtype(has_scales ? weights * values_.scales->load(0, column, {1, columns_}) : weights,
                  dtype_);
}

KeyBlocks KeyBlocks::from(const Tile& column) const {
  KeyBlocks block = *this;
  const Tile page = pages_ ? pages_->page_of(column) : Tile(),
             row = pages_ ? pages_->row_of(column) : column;
  auto move = [&](Matrix& matrix, const Stride& stride, dsl::Operand& keys, const Stride& by_page) {
    if (page.defined()) matrix.base = matrix.base + page * by_page.value();
    matrix.base = matrix.base + row * stride.value();
    keys = columns_;
  };
  if (panels_ != nullptr) {
    block.first_of_panels_ = column;
  } else {
    Matrix &keys = *block.keys_.elements, &values = *block.values_.elements;
    move(keys, keys.column_stride, keys.columns, keys_.page_of_elements);
    move(values, values.row_stride, values.rows, values_.page_of_elements);
  }
  if (Matrix* scales = block.keys_.scales ? &*block.keys_.scales : nullptr)
    move(*scales, scales->column_stride, scales->columns, keys_.page_of_scales);
  if (Matrix* scales = block.values_.scales ? &*block.values_.scales : nullptr) {
    if (scales_values(task_, dtype_))
      move(*scales, scales->row_stride, scales->rows, values_.page_of_scales);
    else
      move(*scales, scales->column_stride, scales->columns, values_.page_of_scales);
  }
  return block;
}

}  // namespace tilewright::graph
