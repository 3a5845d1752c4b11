// Values that programs over rows look up by numbers, and the numbers themselves where they are
// counted.
#include "graph/lower/rows_program.h"

namespace tilewright::graph {

using dsl::Operand;
using dsl::Tile;

// Numbers that follow from where an element is are computed on a GPU: that costs less than memory,
// and what is found by them is known to lie side by side.
std::optional<Tile> RowsProgram::counted(const Storage& storage, const TableAccess& access,
                                         std::int64_t width, const Columns& columns) {
  const bool counts = counts_within(storage, INT64_MAX) && storage.step != 0 &&
                      (storage.dtype == DType::i32 || storage.dtype == DType::i64);
  if (!counts || !target_.is_gpu() || sizes_.are_arguments()) return std::nullopt;
  auto number = [&](const Operand& operand) {
    return dsl::cast(operand.as_index(tracer_), storage.dtype);
  };
  const std::vector<std::int64_t> strides = region_.digits.strides(access.rows);
  Offset first = outer_offset(access.offset, strides).times(storage.step);
  first.add_number(storage.start);
  Tile result = dsl::splat(number(first.value()), {1, 1});
  auto add_line = [&](int axis, const Operand& begin, std::int64_t count, std::int64_t stride) {
    Shape line(2, 1);
    line[axis] = count;
    Tile places = dsl::cast(dsl::reshape(dsl::arange(0, count), line), storage.dtype);
    if (!begin.is_number()) places = places + number(begin);
    result = result + places * (stride * storage.step);
  };
  if (varies_by_row(strides)) add_line(row_axis(), row(), blocks_.rows, strides[*blocks_.digit]);
  if (!access.columns.is_constant())
    add_line(column_axis(), column(columns), width_of(width, columns),
             access.columns.modes()[0].stride);
  return result;
}

Tile RowsProgram::row_number(std::size_t slot, std::size_t i) {
  const Task& t = task(slot);
  Table seen = *operand_table(t, i, region_.tables[slot]);
  TableAccess access = *compose(t.operands[i].view, seen.place);
  std::vector<std::int64_t> strides = region_.digits.strides(access.rows);
  Tile at = parameters_.pointer(t.operands[i].storage) + outer_offset(access.offset, strides);
  Tile id = dsl::load(at);
  return id.dtype() == DType::i64 ? id : dsl::cast(id, DType::i64);
}

Tile RowsProgram::gather(std::size_t slot, const Columns& columns) {
  const Task& t = task(slot);
  const StridedView& table = t.operands[0].view;
  Tile base = parameters_.pointer(t.operands[0].storage) + Offset(table.offset);
  Matrix matrix{base, table.shape[0], table.shape[1], table.strides[0], table.strides[1]};
  return matrix.load(row_number(slot, 1), column(columns), {1, width_of(table.shape[1], columns)});
}

// Numbers of elements so far apart, in 32 bits where they come so and reach all: twice as many of
// these are looked up at once.
Tile RowsProgram::numbers(const Tile& ids, std::int64_t count, std::int64_t stride) {
  const bool reaches = std::abs(stride) <= INT32_MAX &&
                       count <= INT32_MAX / std::max<std::int64_t>(std::abs(stride), 1);
  return ids.dtype() == DType::i32 && reaches ? ids : dsl::cast(ids, DType::i64);
}

Tile RowsProgram::gathered_elements(std::size_t slot, const Columns& columns) {
  const Task& t = task(slot);
  const StridedView& table = t.operands[0].view;
  const Tile base = parameters_.pointer(t.operands[0].storage) + Offset(table.offset);
  const Tile ids = numbers(operand(slot, 1, columns), table.shape[0], table.strides[0]);
  return dsl::load(base + ids * table.strides[0], (ids >= 0) & (ids < table.shape[0]));
}

}  // namespace tilewright::graph
