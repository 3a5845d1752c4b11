#include "graph/lower/attention/attention_shape.h"

#include <limits>

namespace tilewright::graph {

using dsl::Operand;
using dsl::Tile;

Tile position_of(const Task& task, const Parameters& parameters, const Tile& batch) {
  if (!has_position(task))
    return dsl::constant(ir::Scalar::of_integer(DType::i64, task.attributes.start));
  const TaskOperand& operand = task.operands[operands_of_attention(task).position];
  Offset offset(operand.view.offset);
  if (operand.view.shape[0] > 1 && batch.defined()) offset.add(batch, operand.view.strides[0]);
  return dsl::cast(dsl::load(parameters.pointer(operand.storage) + offset), DType::i64);
}

Tile logarithm_of(const Tile& highest, const Tile& total) {
  const Tile never = dsl::full({1, 1}, std::numeric_limits<double>::infinity(), total.dtype());
  return dsl::where(total == 0.0, never, highest + dsl::log(total));
}

std::vector<Scratch> AttentionPartials::scratch() const {
  std::int64_t rows = shape.all_rows() * splits;
  return {{dtype, rows}, {dtype, rows}, {dtype, rows * shape.depth()}};
}

void AttentionPartials::add_to(Parameters& parameters) {
  std::vector<Scratch> memory = scratch();
  highest = parameters.add_scratch(0, memory[0]);
  total = parameters.add_scratch(1, memory[1]);
  mixed_values = parameters.add_scratch(2, memory[2]);
}

void AttentionPartials::store(const Offset& first, const Operand& row, const Tile& split,
                              const Tile& top, const Tile& sum, const Tile& mixed) const {
  std::int64_t depth = shape.depth();
  auto store_to = [&](const Tile& memory, std::int64_t width, const Tile& tile) {
    Offset offset;
    offset.add(split, width);
    Tile base = memory + first.times(splits * width) + offset;
    Matrix{base, shape.rows, width, splits * width, 1}.store(row, 0, tile);
  };
  store_to(highest, 1, top);
  store_to(total, 1, sum);
  store_to(mixed_values, depth, mixed);
}

// A program has one row: its parts lie one below the other.
LoweredProgram combine_attention(const TaskList& list, const Region& region,
                                 const dsl::Target& target, AttentionPartials partials) {
  const AttentionShape& shape = partials.shape;
  const Task& task = list.tasks[region.tasks[0]];
  std::int64_t splits = partials.splits, depth = shape.depth();
  dsl::Tracer tracer("attention_combine");
  Parameters parameters(tracer, list, region);
  parameters.add(task.storage);
  for (const TaskResult& sums : task.others) parameters.add(sums.storage);
  partials.add_to(parameters);
  ProgramGrid programs = open_grid({shape.q.shape[2], shape.q.shape[1], shape.batch()}, target);
  Offset row, place(shape.result.offset);
  std::int64_t below = 1;
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t size = shape.q.shape[2 - axis];
    if (programs.index[axis].defined()) {
      row.add(programs.index[axis], below);
      place.add(programs.index[axis], shape.result.strides[2 - axis]);
    }
    below *= size;
  }
  auto load = [&](const Tile& memory, std::int64_t width) {
    Matrix parts{memory + row.times(splits * width), splits, width, width, 1};
    return parts.load(0, 0, {splits, width});
  };
  Tile highest = load(partials.highest, 1);
  // A row may have seen no key: its total is 0, and so is what it mixed.
  Tile top = dsl::max(highest, 0, true);
  Tile reference = dsl::where(top == -std::numeric_limits<double>::infinity(), 0, top);
  Tile weights = dsl::exp(highest - reference);
  Tile total = dsl::sum(load(partials.total, 1) * weights, 0, true);
  Tile mixed = dsl::sum(load(partials.mixed_values, depth) * weights, 0, true);
  Tile result = mixed / (task.attributes.nan_unseen ? total : dsl::where(total == 0.0, 1, total));
  if (result.dtype() != task.dtype) result = dsl::cast(result, task.dtype);
  Matrix to{parameters.pointer(task.storage) + place, 1, depth, depth, shape.result.strides[3]};
  to.store(0, 0, result);
  for (const TaskResult& sums : task.others) {
    Matrix of_row{parameters.pointer(sums.storage) + row, 1, 1, 1, 1};
    of_row.store(0, 0, logarithm_of(top, total));
  }
  return {tracer.finish(), programs.grid, parameters.memory()};
}

}  // namespace tilewright::graph
