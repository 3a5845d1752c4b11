#include <algorithm>

#include "dsl/ir/type_rules.h"
#include "dsl/target/packed_product.h"
#include "graph/lower/rows_program.h"
#include "runtime/base/divide_up.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

using dsl::Operand;
using dsl::Tile;

namespace {

std::int64_t depth_of(const Task& product) { return product.operands[1].view.shape[-2]; }

// A product with one column is a sum along the row.
DType sum_dtype(const Task& product) {
  return product.shape[-1] == 1 ? accumulator(product.dtype) : ir::product_dtype(product.dtype);
}

// How many elements one part of a product has.
std::int64_t part_elements(const Task& product, const Region& region, const RowBlocks& blocks) {
  Shape shared = shared_part(region, blocks);
  std::int64_t width = product.shape[-1];
  return shared[0] * (width == 1 || blocks.stream_k_columns == 0 ? width : shared[1]);
}

Tile widened(const Tile& x, DType dtype) { return x.dtype() == dtype ? x : dsl::cast(x, dtype); }

}  // namespace

std::vector<Scratch> product_parts(const TaskList& list, const Region& region,
                                   const RowBlocks& blocks) {
  std::vector<Scratch> result;
  for (TaskId id : region.tasks)
    if (const Task& task = list.tasks[id]; task.kind == TaskKind::contraction)
      result.push_back({sum_dtype(task), blocks.splits * part_elements(task, region, blocks)});
  return result;
}

Tile RowsProgram::product(std::size_t slot, const Columns& columns) {
  return widened(product_sum(slot, columns), task(slot).dtype);
}

// Says if adding up the elements of a single row has the order in which a host's product of several
// rows adds: along the depth, not in words, and of a weight that no other product shares.
bool RowsProgram::sums_in_order_of_rows(const Task& product) const {
  const TaskOperand& weight = product.operands[1];
  auto shares_it = [&](TaskId id) {
    const Task& other = list_.tasks[id];
    return other.kind == TaskKind::contraction && other.operands[1].storage == weight.storage;
  };
  return weights_lie_along_depth(product) &&
         dsl::elements_in_word(target_, list_.storages[weight.storage].dtype) == 1 &&
         std::ranges::count_if(region_.tasks, shares_it) == 1;
}

Tile RowsProgram::product_sum(std::size_t slot, const Columns& columns) {
  const bool one_column = task(slot).shape[-1] == 1;
  const bool by_elements =
      blocks_.sums_elements && (!list_.row_invariant || sums_in_order_of_rows(task(slot)));
  return masked_product(slot, by_elements || one_column ? sum_of_elements(slot, columns)
                                                        : sum_of_dots(slot, columns));
}

std::int64_t RowsProgram::inner_chunk(const Task& product) const {
  std::int64_t depth = depth_of(product), chunk = depth;
  if (blocks_.depth != 0 && depth > blocks_.depth)
    chunk = blocks_.depth;
  else if (split_.defined())
    chunk = divide_up(depth, blocks_.splits);
  return std::min(depth, divide_up(chunk, blocks_.depth_quantum) * blocks_.depth_quantum);
}

Tile RowsProgram::over_inner_axis(const Task& product, const Shape& sum_shape,
                                  const std::function<Tile(const Columns&, const Tile&)>& add) {
  std::int64_t depth = depth_of(product);
  Run run{{}, depth, inner_chunk(product)};
  if (run.size == depth && !split_.defined()) return add(whole_row(), {});
  prepare(product.operands[0]);
  if (split_.defined()) {
    // Whole chunks, so that none belongs to two programs. The number of the part is bounded, from
    // which it follows that reads stay inside.
    std::int64_t share = divide_up(divide_up(depth, blocks_.splits), run.size) * run.size;
    run.first = dsl::minimum(split_ * share, (blocks_.splits - 1) * share);
    run.length =
        depth == share * blocks_.splits ? Operand(share) : dsl::minimum(depth - run.first, share);
  }
  dsl::Var sum = dsl::zeros(sum_shape, sum_dtype(product));
  for_each_chunk(run, [&](const Columns& along) { sum = add(along, sum); });
  return sum;
}

Tile RowsProgram::first_operand(std::size_t slot, const Columns& along) {
  const Task& t = task(slot);
  Tile a = spread(operand(slot, 0, along), width_of(depth_of(t), along), blocks_.rows);
  // A value computed beyond the edge may be NaN.
  bool computed = along.part == Part::chunk && producer(t.operands[0]);
  return computed ? filled(a, depth_of(t), along, ir::Scalar::of_integer(a.dtype(), 0)) : a;
}

Tile RowsProgram::sum_of_dots(std::size_t slot, const Columns& columns) {
  Shape sums{blocks_.rows, width_of(task(slot).shape[-1], columns)};
  return over_inner_axis(task(slot), sums, [&](const Columns& along, const Tile& sum) {
    bool turned = producer(task(slot).operands[1]) && weights_lie_along_depth(task(slot));
    Tile a = first_operand(slot, along), b = weights(slot, along, columns, turned);
    if (turned) b = dsl::trans(b);
    ir::InputPrecision precision = list_.precision_of(a.dtype());
    return dsl::dot(a, b, sum.defined() ? Operand(sum) : Operand(0), precision);
  });
}

// Each thread adds up what it multiplies; only then are the sums of threads added. Tiles are rows,
// columns and the inner axis, or, where weights are contiguous along columns, the last two
// exchanged.
Tile RowsProgram::sum_of_elements(std::size_t slot, const Columns& columns) {
  const Task& t = task(slot);
  DType wide = sum_dtype(t);
  bool along_depth = weights_lie_along_depth(t);
  auto add = [&](const Columns& along, const Tile& sum) {
    Tile a = dsl::expand_dims(widened(first_operand(slot, along), wide), along_depth ? 1 : 2);
    Tile b = dsl::expand_dims(widened(weights(slot, along, columns, along_depth), wide), 0);
    if (!sum.defined()) return a * b;
    return is_floating(wide) ? dsl::fma(a, b, sum) : sum + a * b;
  };
  std::int64_t width = width_of(t.shape[-1], columns), depth = inner_chunk(t);
  Shape sums{blocks_.rows, along_depth ? width : depth, along_depth ? depth : width};
  return dsl::sum(over_inner_axis(t, sums, add), along_depth ? 2 : 1);
}

// A part is [digits that are not cut, rows, columns].
RowsProgram::Block RowsProgram::parts_block(std::size_t slot, Offset part,
                                            const Columns& columns) const {
  std::int64_t width = task(slot).shape[-1], block_width = width_of(width, columns);
  if (width != 1 && blocks_.stream_k_columns != 0) width = columns_.size;
  std::int64_t stride = rows_.size * width;
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    if (i == blocks_.digit || !indices_[i].defined()) continue;
    part.add(indices_[i], stride);
    stride *= digits_[i];
  }
  auto within = [](const Operand& x, const Band& band) {
    return band.first == 0 ? x : Operand(x - band.first);
  };
  Matrix matrix{parts_[slot] + part, rows_.size, width, width, 1, blocks_.coalesces};
  return {matrix,
          within(row(), rows_),
          width == 1 ? Operand(0) : within(column(columns), columns_),
          {blocks_.rows, block_width}};
}

void RowsProgram::store_parts() {
  for (std::size_t slot = 0; slot < region_.tasks.size(); ++slot) {
    if (!is_product(slot)) continue;
    Columns columns = of_value(slot, block_of_row());
    Tile sum = product_sum(slot, columns);
    Offset offset;
    offset.add(split_, part_elements(task(slot), region_, blocks_));
    Block block = parts_block(slot, offset, columns);
    block.matrix.store(block.row, block.column, sum);
  }
}

// In the order of the parts, so that the result is the same in every run.
Tile RowsProgram::combined_product(std::size_t slot, const Columns& columns) {
  std::int64_t elements = part_elements(task(slot), region_, blocks_);
  Tile sum;
  for (std::int64_t split = 0; split < blocks_.splits; ++split) {
    Block block = parts_block(slot, Offset(split * elements), columns);
    Tile part = block.matrix.load(block.row, block.column, block.shape);
    sum = sum.defined() ? sum + part : part;
  }
  return widened(sum, task(slot).dtype);
}

}  // namespace tilewright::graph
