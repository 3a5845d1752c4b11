#include "graph/lower/rows_program.h"

#include "dsl/ir/type_rules.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

using dsl::Operand;
using dsl::Tile;

Tile RowsProgram::product(std::size_t slot, const Columns& columns) {
  const Task& t = task(slot);
  const TaskOperand& weight = t.operands[1];
  WeightTable table = weight_table(t);
  std::int64_t depth = weight.view.shape[-2], width = weight.view.shape[-1];
  Access access = *compose(weight.view, {table.rows, table.columns, 0});
  IndexMap inner = *compose(index_map(weight.view), table.inner);
  std::vector<std::int64_t> strides = region_.digits.strides(access.rows);
  check(!varies_by_row(strides), "a product's second operand differs between rows of a block");
  auto stride_of = [](const IndexMap& map) {
    return map.is_constant() ? 0 : map.modes()[0].stride;
  };
  Tile base = parameters_.pointer(weight.storage) + outer_offset(access.offset, strides);
  Matrix matrix{base, depth, width, stride_of(inner), stride_of(access.columns), blocks_.coalesces};
  // A product with one column is a sum along the row, where lanes run along k.
  auto add = [&](const Columns& along, const Tile& sum) {
    std::int64_t size = width_of(depth, along);
    Tile a = spread(operand(slot, 0, along), size, blocks_.rows);
    // What is computed beyond the edge may be no number.
    if (along.part == Part::piece && producer(t.operands[0]))
      a = filled(a, depth, along, ir::Scalar::of_integer(a.dtype(), 0));
    if (width == 1) return inner_product(t, a, matrix, column(along), sum);
    Tile b = matrix.load(column(along), column(columns), {size, width_of(width, columns)});
    return sum.defined() ? dsl::dot(a, b, sum) : dsl::dot(a, b);
  };
  Tile result;
  if (blocks_.depth == 0 || depth <= blocks_.depth) {
    result = add(whole_row(), {});
  } else {
    prepare(t.operands[0]);
    DType wide = width == 1 ? accumulator(t.dtype) : ir::accumulator(t.dtype);
    dsl::Var sum = dsl::zeros({blocks_.rows, width_of(width, columns)}, wide);
    for_each_piece(depth, blocks_.depth, [&](const Columns& along) { sum = add(along, sum); });
    result = sum;
  }
  return result.dtype() == t.dtype ? result : dsl::cast(result, t.dtype);
}

Tile RowsProgram::inner_product(const Task& t, const Tile& a, const Matrix& column,
                                const Operand& k, const Tile& sum) {
  Matrix line{column.base, 1, column.rows, column.rows, column.row_stride};
  Tile b = line.load(0, k, {1, a.shape()[1]});
  DType wide = accumulator(t.dtype);
  Tile product = wide == t.dtype ? a * b : dsl::cast(a, wide) * dsl::cast(b, wide);
  Tile result = dsl::sum(product, 1, true);
  return sum.defined() ? sum + result : result;
}

}  // namespace tilewright::graph
