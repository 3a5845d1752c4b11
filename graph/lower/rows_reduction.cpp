#include "graph/lower/rows_program.h"

#include <limits>

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

std::optional<std::size_t> RowsProgram::highest_of(std::size_t exponentials) const {
  const Task& sum = task(exponentials);
  if (sum.kind != TaskKind::reduction || sum.reduce != ir::ReduceKind::sum) return std::nullopt;
  auto made_by = [&](const Task& t, std::size_t i, ir::Op op) {
    auto p = producer(t.operands[i]);
    bool fits = p && task(*p).kind == TaskKind::pointwise && task(*p).tile_op == op;
    return fits ? p : std::nullopt;
  };
  auto exponential = made_by(sum, 0, ir::Op::exp_);
  auto difference = exponential ? made_by(task(*exponential), 0, ir::Op::sub_) : std::nullopt;
  auto highest = difference ? producer(task(*difference).operands[1]) : std::nullopt;
  if (!highest) return std::nullopt;
  const Task& max = task(*highest);
  if (max.kind != TaskKind::reduction || max.reduce != ir::ReduceKind::max) return std::nullopt;
  const TaskOperand &x = task(*difference).operands[0], &y = max.operands[0];
  bool same = !x.number && !y.number && x.storage == y.storage && x.producer == y.producer &&
              x.view == y.view &&
              operand_table(sum, 0, region_.tables[exponentials]) ==
                  operand_table(max, 0, region_.tables[*highest]);
  return same ? highest : std::nullopt;
}

std::optional<std::size_t> RowsProgram::exponentials_of(std::size_t highest) const {
  for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot)
    if (highest_of(slot) == highest) return slot;
  return std::nullopt;
}

// Both in one pass over the row: what was added up is scaled down where a higher element is found
// (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
Tile RowsProgram::highest_with_exponentials(std::size_t highest, std::size_t exponentials) {
  const Task& t = task(highest);
  std::int64_t width = operand_table(t, 0, region_.tables[highest])->width;
  prepare(t.operands[0]);
  DType dtype = accumulator(t.dtype);
  double infinity = std::numeric_limits<double>::infinity();
  Shape one(2, 1), line(2, blocks_.piece);
  one[row_axis()] = line[row_axis()] = blocks_.rows;
  dsl::Var top = dsl::full(one, -infinity, dtype), sums = dsl::zeros(line, dtype);
  for_each_piece(part_of_row(width), [&](const Columns& piece) {
    Tile x = operand(highest, 0, piece);
    if (x.dtype() != dtype) x = dsl::cast(x, dtype);
    x = spread(filled(spread(x, piece.size), width, piece, ir::Scalar::of(dtype, -infinity)),
               piece.size, blocks_.rows);
    Tile above = dsl::maximum(top, dsl::max(x, column_axis(), true));
    Tile reference = dsl::where(above == -infinity, 0, above);
    sums = sums * dsl::exp(top - reference) + dsl::exp(x - reference);
    top = above;
  });
  Tile total = dsl::sum(sums, column_axis(), true);
  if (blocks_.shares_rows()) {
    Tile highest_of_all = over_cluster(top, ir::ReduceKind::max);
    Tile reference = dsl::where(highest_of_all == -infinity, 0, highest_of_all);
    total = over_cluster(total * dsl::exp(top - reference), ir::ReduceKind::sum);
    top = highest_of_all;
  }
  DType wanted = task(exponentials).dtype;
  known_.whole[exponentials] = wanted == dtype ? total : dsl::cast(total, wanted);
  return t.dtype == dtype ? Tile(top) : dsl::cast(top, t.dtype);
}

Tile RowsProgram::reduction(std::size_t slot) {
  const Task& t = task(slot);
  std::int64_t width = operand_table(t, 0, region_.tables[slot])->width;
  if (is_in_pieces(width) && !is_resident()) {
    if (auto exponentials = exponentials_of(slot))
      return highest_with_exponentials(slot, *exponentials);
    if (auto highest = highest_of(slot)) {
      value(*highest, whole_row());
      return known_.whole[slot];
    }
  }
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
  Shape one(2, 1), line(2, blocks_.piece);
  one[row_axis()] = line[row_axis()] = blocks_.rows;
  auto piece_of = [&](const Columns& piece) {
    return spread(filled(part(piece), width, piece, start), piece.size, blocks_.rows);
  };
  if (!finds_index) {
    // Element by element, and along the row at the end only.
    dsl::Var best = dsl::splat(dsl::constant(start), line);
    for_each_piece(part_of_row(width), [&](const Columns& piece) {
      best = dsl::elementwise(combining_op(kind), {best, piece_of(piece)});
    });
    return over_cluster(dsl::reduce(best, kind, column_axis(), true), kind);
  }
  dsl::Var best = dsl::splat(dsl::constant(start), one), index = dsl::zeros(one, DType::i64);
  for_each_piece({{}, width, blocks_.piece}, [&](const Columns& piece) {
    Tile x = piece_of(piece);
    Tile here = dsl::reduce(x, kind, column_axis(), true);
    // The first of those that are best, of which a NaN is one.
    Tile at = dsl::cast(dsl::reduce(x, t.reduce, column_axis(), true), DType::i64) + piece.start;
    Tile better = kind == ir::ReduceKind::max ? here > best : here < best;
    if (is_floating(dtype)) better = better | ((here != here) & (best == best));
    index = dsl::where(better, at, index);
    best = dsl::elementwise(combining_op(kind), {best, here});
  });
  return index;
}

}  // namespace tilewright::graph
