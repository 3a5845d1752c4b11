#include "graph/lower/rows_program.h"

#include <limits>
#include <numbers>

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

std::optional<std::size_t> RowsProgram::highest_below(std::size_t exponential) const {
  auto made_by = [&](const Task& t, std::size_t i, ir::Op op) {
    auto p = producer(t.operands[i]);
    bool fits = p && task(*p).kind == TaskKind::pointwise && task(*p).tile_op == op;
    return fits ? p : std::nullopt;
  };
  const Task& exp = task(exponential);
  if (exp.kind != TaskKind::pointwise || exp.tile_op != ir::Op::exp_) return std::nullopt;
  auto difference = made_by(exp, 0, ir::Op::sub_);
  auto highest = difference ? producer(task(*difference).operands[1]) : std::nullopt;
  if (!highest) return std::nullopt;
  const Task& max = task(*highest);
  if (max.kind != TaskKind::reduction || max.reduce != ir::ReduceKind::max) return std::nullopt;
  const TaskOperand &x = task(*difference).operands[0], &y = max.operands[0];
  bool same = !x.number && !y.number && x.storage == y.storage && x.producer == y.producer &&
              x.view == y.view;
  return same ? highest : std::nullopt;
}

std::optional<std::size_t> RowsProgram::highest_of(std::size_t exponentials) const {
  const Task& sum = task(exponentials);
  if (sum.kind != TaskKind::reduction || sum.reduce != ir::ReduceKind::sum) return std::nullopt;
  auto exponential = producer(sum.operands[0]);
  auto highest = exponential ? highest_below(*exponential) : std::nullopt;
  bool same = highest && operand_table(sum, 0, region_.tables[exponentials]) ==
                             operand_table(task(*highest), 0, region_.tables[*highest]);
  return same ? highest : std::nullopt;
}

std::optional<std::size_t> RowsProgram::exponentials_of(std::size_t highest) const {
  for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot)
    if (highest_of(slot) == highest) return slot;
  return std::nullopt;
}

// Of what is relative to the highest, whose exponentials are weights of at most 1. On GPUs the
// product with log2(e) is not made exact as exp() makes it, which costs six of eight instructions:
// e^-x is off by (2 + 1.3 x) units in its last place, so never by more than 2^-22 of the highest
// weight.
Tile RowsProgram::exp_below_zero(const Tile& x) const {
  if (!target_.is_gpu() || x.dtype() != f32) return dsl::exp(x);
  return dsl::exp2(x * std::numbers::log2e);
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
    sums = dsl::fma(sums, exp_below_zero(top - reference), exp_below_zero(x - reference));
    top = above;
  });
  Tile total = dsl::sum(sums, column_axis(), true);
  if (blocks_.shares_rows()) {
    Tile highest_of_all = over_cluster(top, ir::ReduceKind::max);
    Tile reference = dsl::where(highest_of_all == -infinity, 0, highest_of_all);
    total = over_cluster(total * exp_below_zero(top - reference), ir::ReduceKind::sum);
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
  bool finds_index = t.reduce == ir::ReduceKind::argmax || t.reduce == ir::ReduceKind::argmin;
  if (finds_index) return index_in_pieces(t, width, part);
  prepare(t.operands[0]);
  ir::Scalar start = ir::identity(t.reduce, piece_dtype(t));
  Shape line = line_of_pieces();
  // Element by element, and along the row at the end only.
  dsl::Var best = dsl::splat(dsl::constant(start), line);
  for_each_piece(part_of_row(width), [&](const Columns& piece) {
    Tile x = spread(filled(part(piece), width, piece, start), piece.size, blocks_.rows);
    best = dsl::elementwise(combining_op(t.reduce), {best, x});
  });
  return over_cluster(dsl::reduce(best, t.reduce, column_axis(), true), t.reduce);
}

// Each element of a piece's line has the best of its column of pieces, and where the first such
// piece begins; only then is one looked for among them. A NaN is better than any number.
Tile RowsProgram::index_in_pieces(const Task& t, std::int64_t width,
                                  const std::function<Tile(const Columns&)>& part) {
  prepare(t.operands[0]);
  bool is_max = t.reduce == ir::ReduceKind::argmax;
  ir::ReduceKind kind = is_max ? ir::ReduceKind::max : ir::ReduceKind::min;
  DType dtype = piece_dtype(t);
  ir::Scalar start = ir::identity(kind, dtype);
  Shape line = line_of_pieces();
  // 32 bits take half the registers.
  DType index = width <= std::numeric_limits<std::int32_t>::max() ? DType::i32 : DType::i64;
  dsl::Var best = dsl::splat(dsl::constant(start), line), begin = dsl::zeros(line, index);
  for_each_piece({{}, width, blocks_.piece}, [&](const Columns& piece) {
    Tile x = spread(filled(part(piece), width, piece, start), piece.size, blocks_.rows);
    Tile better = is_max ? x > best : x < best;
    if (is_floating(dtype)) better = better | ((x != x) & (best == best));
    begin = dsl::where(better, dsl::cast(piece.start, index), begin);
    best = dsl::where(better, x, best);
  });
  Tile found = dsl::reduce(best, kind, column_axis(), true);
  Tile is_found = best == found;
  if (is_floating(dtype)) is_found = is_found | (best != best);
  Shape row(2, 1);
  row[column_axis()] = blocks_.piece;
  Tile at = begin + dsl::cast(dsl::reshape(dsl::arange(0, blocks_.piece), row), index);
  ir::Scalar none = ir::identity(ir::ReduceKind::min, index);
  Tile candidates = dsl::where(is_found, at, dsl::constant(none));
  Tile first = dsl::reduce(candidates, ir::ReduceKind::min, column_axis(), true);
  return dsl::cast(first, DType::i64);
}

DType RowsProgram::piece_dtype(const Task& reduction) const {
  const TaskOperand& from = reduction.operands[0];
  return accumulator(from.number ? from.number->dtype : list_.storages[from.storage].dtype);
}

Shape RowsProgram::line_of_pieces() const {
  Shape line(2, blocks_.piece);
  line[row_axis()] = blocks_.rows;
  return line;
}

}  // namespace tilewright::graph
