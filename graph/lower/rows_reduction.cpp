#include "graph/lower/rows_program.h"

#include <limits>
#include <numbers>

#include "dsl/ir/immediates.h"

namespace tilewright::graph {

using dsl::Tile;

std::optional<std::size_t> RowsProgram::row_max_below(std::size_t exponential) const {
  auto made_by = [&](const Task& t, std::size_t i, ir::Op op) {
    auto p = producer(t.operands[i]);
    bool fits = p && task(*p).kind == TaskKind::pointwise && task(*p).tile_op == op;
    return fits ? p : std::nullopt;
  };
  const Task& exp = task(exponential);
  if (exp.kind != TaskKind::pointwise || exp.tile_op != ir::Op::exp_) return std::nullopt;
  auto difference = made_by(exp, 0, ir::Op::sub_);
  auto row_max = difference ? producer(task(*difference).operands[1]) : std::nullopt;
  if (!row_max) return std::nullopt;
  const Task& max = task(*row_max);
  if (max.kind != TaskKind::reduction || max.reduce != ir::ReduceKind::max) return std::nullopt;
  const TaskOperand &x = task(*difference).operands[0], &y = max.operands[0];
  bool same = !x.number && !y.number && x.storage == y.storage && x.producer == y.producer &&
              x.view == y.view;
  return same ? row_max : std::nullopt;
}

std::optional<std::size_t> RowsProgram::row_max_of(std::size_t exponentials) const {
  const Task& sum = task(exponentials);
  if (sum.kind != TaskKind::reduction || sum.reduce != ir::ReduceKind::sum) return std::nullopt;
  auto exponential = producer(sum.operands[0]);
  auto row_max = exponential ? row_max_below(*exponential) : std::nullopt;
  bool same = row_max && operand_table(sum, 0, region_.tables[exponentials]) ==
                             operand_table(task(*row_max), 0, region_.tables[*row_max]);
  return same ? row_max : std::nullopt;
}

std::optional<std::size_t> RowsProgram::exponentials_of(std::size_t row_max) const {
  for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot)
    if (row_max_of(slot) == row_max) return slot;
  return std::nullopt;
}

// The exponential of what is relative to the highest: weights of at most 1. On GPUs the
// product with log2(e) is not made exact as exp() makes it, which costs six of eight instructions:
// e^-x is off by (2 + 1.3 x) units in its last place, so never by more than 2^-22 of the highest
// weight.
Tile RowsProgram::exp_below_zero(const Tile& x) const {
  if (!target_.is_gpu() || x.dtype() != f32) return dsl::exp(x);
  return dsl::exp2(x * std::numbers::log2e);
}

// Both in one pass over the row: the sum so far is scaled down where a higher element is found
// (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
Tile RowsProgram::row_max_with_exponentials(std::size_t row_max, std::size_t exponentials) {
  const Task& t = task(row_max);
  std::int64_t width = operand_table(t, 0, region_.tables[row_max])->width;
  prepare(t.operands[0]);
  DType dtype = accumulator(t.dtype);
  double infinity = std::numeric_limits<double>::infinity();
  Shape one(2, 1), line(2, blocks_.chunk);
  one[row_axis()] = line[row_axis()] = blocks_.rows;
  dsl::Var running_max = dsl::full(one, -infinity, dtype), sums = dsl::zeros(line, dtype);
  for_each_chunk(part_of_row(width), [&](const Columns& chunk) {
    Tile x = operand(row_max, 0, chunk);
    if (x.dtype() != dtype) x = dsl::cast(x, dtype);
    x = spread(filled(spread(x, chunk.size), width, chunk, ir::Scalar::of(dtype, -infinity)),
               chunk.size, blocks_.rows);
    Tile above = dsl::maximum(running_max, dsl::max(x, column_axis(), true));
    Tile reference = dsl::where(above == -infinity, 0, above);
    sums = dsl::fma(sums, exp_below_zero(running_max - reference), exp_below_zero(x - reference));
    running_max = above;
  });
  Tile total = dsl::sum(sums, column_axis(), true);
  if (blocks_.shares_rows()) {
    Tile cluster_max = over_cluster(running_max, ir::ReduceKind::max);
    Tile reference = dsl::where(cluster_max == -infinity, 0, cluster_max);
    total = over_cluster(total * exp_below_zero(running_max - reference), ir::ReduceKind::sum);
    running_max = cluster_max;
  }
  DType wanted = task(exponentials).dtype;
  known_.whole[exponentials] = wanted == dtype ? total : dsl::cast(total, wanted);
  return t.dtype == dtype ? Tile(running_max) : dsl::cast(running_max, t.dtype);
}

Tile RowsProgram::reduction(std::size_t slot) {
  const Task& t = task(slot);
  std::int64_t width = operand_table(t, 0, region_.tables[slot])->width;
  if (is_in_chunks(width) && !is_resident()) {
    if (auto exponentials = exponentials_of(slot))
      return row_max_with_exponentials(slot, *exponentials);
    if (auto row_max = row_max_of(slot)) {
      value(*row_max, whole_row());
      return known_.whole[slot];
    }
  }
  auto part = [&](const Columns& columns) {
    Tile x = spread(operand(slot, 0, columns), width_of(width, columns));
    return x.dtype() == accumulator(x.dtype()) ? x : dsl::cast(x, accumulator(x.dtype()));
  };
  Tile result = is_in_chunks(width) ? reduction_in_chunks(t, width, part)
                                    : dsl::reduce(part(whole_row()), t.reduce, column_axis(), true);
  return result.dtype() == t.dtype ? result : dsl::cast(result, t.dtype);
}

Tile RowsProgram::reduction_in_chunks(const Task& t, std::int64_t width,
                                      const std::function<Tile(const Columns&)>& part) {
  bool finds_index = t.reduce == ir::ReduceKind::argmax || t.reduce == ir::ReduceKind::argmin;
  if (finds_index) return index_in_chunks(t, width, part);
  prepare(t.operands[0]);
  ir::Scalar start = ir::identity(t.reduce, chunk_dtype(t));
  Shape line = line_of_chunks();
  // Element by element, and along the row at the end only.
  dsl::Var best = dsl::splat(dsl::constant(start), line);
  for_each_chunk(part_of_row(width), [&](const Columns& chunk) {
    Tile x = spread(filled(part(chunk), width, chunk, start), chunk.size, blocks_.rows);
    best = dsl::elementwise(ir::info(t.reduce).combining_op, {best, x});
  });
  return over_cluster(dsl::reduce(best, t.reduce, column_axis(), true), t.reduce);
}

// Each element of a chunk's line has the best of its column of chunks, and where the first such
// chunk begins; only then is one looked for among them. A NaN is better than any number.
Tile RowsProgram::index_in_chunks(const Task& t, std::int64_t width,
                                  const std::function<Tile(const Columns&)>& part) {
  prepare(t.operands[0]);
  bool is_max = t.reduce == ir::ReduceKind::argmax;
  ir::ReduceKind kind = is_max ? ir::ReduceKind::max : ir::ReduceKind::min;
  DType dtype = chunk_dtype(t);
  ir::Scalar start = ir::identity(kind, dtype);
  Shape line = line_of_chunks();
  // 32 bits take half the registers.
  DType index = width <= std::numeric_limits<std::int32_t>::max() ? DType::i32 : DType::i64;
  dsl::Var best = dsl::splat(dsl::constant(start), line), begin = dsl::zeros(line, index);
  for_each_chunk({{}, width, blocks_.chunk}, [&](const Columns& chunk) {
    Tile x = spread(filled(part(chunk), width, chunk, start), chunk.size, blocks_.rows);
    Tile better = is_max ? x > best : x < best;
    if (is_floating(dtype)) better = better | ((x != x) & (best == best));
    begin = dsl::where(better, dsl::cast(chunk.start, index), begin);
    best = dsl::where(better, x, best);
  });
  Tile found = dsl::reduce(best, kind, column_axis(), true);
  Tile is_found = best == found;
  if (is_floating(dtype)) is_found = is_found | (best != best);
  Shape row(2, 1);
  row[column_axis()] = blocks_.chunk;
  Tile at = begin + dsl::cast(dsl::reshape(dsl::arange(0, blocks_.chunk), row), index);
  ir::Scalar none = ir::identity(ir::ReduceKind::min, index);
  Tile candidates = dsl::where(is_found, at, dsl::constant(none));
  Tile first = dsl::reduce(candidates, ir::ReduceKind::min, column_axis(), true);
  return dsl::cast(first, DType::i64);
}

DType RowsProgram::chunk_dtype(const Task& reduction) const {
  const TaskOperand& from = reduction.operands[0];
  return accumulator(from.number ? from.number->dtype : list_.storages[from.storage].dtype);
}

Shape RowsProgram::line_of_chunks() const {
  Shape line(2, blocks_.chunk);
  line[row_axis()] = blocks_.rows;
  return line;
}

}  // namespace tilewright::graph
