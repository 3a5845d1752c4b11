#include "graph/lower/rows_program.h"

#include "dsl/ir/scalar.h"

namespace tilewright::graph {

using dsl::Tile;

namespace {

ir::Op combining_op(ir::ReduceKind kind) {
  switch (kind) {
    case ir::ReduceKind::sum: return ir::Op::add_;
    case ir::ReduceKind::prod: return ir::Op::mul_;
    case ir::ReduceKind::max:
    case ir::ReduceKind::argmax: return ir::Op::max_;
    case ir::ReduceKind::min:
    case ir::ReduceKind::argmin: return ir::Op::min_;
    case ir::ReduceKind::any: return ir::Op::or_;
    case ir::ReduceKind::all: return ir::Op::and_;
  }
  __builtin_unreachable();
}

}  // namespace

Tile RowsProgram::reduction(std::size_t slot) {
  const Task& t = task(slot);
  std::int64_t width = operand_table(t, 0, region_.tables[slot])->width;
  auto part = [&](const Columns& columns) {
    Tile x = spread(operand(slot, 0, columns), width_of(width, columns));
    return x.dtype() == accumulator(x.dtype()) ? x : dsl::cast(x, accumulator(x.dtype()));
  };
  Tile result = is_in_pieces(width) ? reduction_in_pieces(t, width, part)
                                    : dsl::reduce(part(whole_row()), t.reduce, column_axis(), true);
  return result.dtype() == t.dtype ? result : dsl::cast(result, t.dtype);
}

Tile RowsProgram::reduction_in_pieces(const Task& t, std::int64_t width,
                                      const std::function<Tile(const Columns&)>& part) {
  prepare(t.operands[0]);
  bool finds_index = t.reduce == ir::ReduceKind::argmax || t.reduce == ir::ReduceKind::argmin;
  ir::ReduceKind kind = t.reduce;
  if (finds_index)
    kind = kind == ir::ReduceKind::argmax ? ir::ReduceKind::max : ir::ReduceKind::min;
  const TaskOperand& from = t.operands[0];
  DType dtype = accumulator(from.number ? from.number->dtype : list_.storages[from.storage].dtype);
  ir::Scalar start = ir::identity(kind, dtype);
  Shape one(2, 1);
  one[row_axis()] = blocks_.rows;
  dsl::Var best = dsl::splat(dsl::constant(start), one), index = dsl::zeros(one, DType::i64);
  for_each_piece({{}, width, blocks_.piece}, [&](const Columns& piece) {
    Tile x = filled(part(piece), width, piece, start);
    x = spread(x, piece.size, blocks_.rows);
    Tile here = dsl::reduce(x, kind, column_axis(), true);
    if (finds_index) {
      // The first of those that are best, of which a NaN is one.
      Tile at = dsl::cast(dsl::reduce(x, t.reduce, column_axis(), true), DType::i64) + piece.start;
      Tile better = kind == ir::ReduceKind::max ? here > best : here < best;
      if (is_floating(dtype)) better = better | ((here != here) & (best == best));
      index = dsl::where(better, at, index);
    }
    best = dsl::elementwise(combining_op(kind), {best, here});
  });
  return finds_index ? index : best;
}

}  // namespace tilewright::graph
