// Elements that join rows which are named at run time (Op::scatter_reduce), in their own order.
//
// A program owns a block of the target and goes through the sources one by one, so that each
// element is the outcome of one loop, whoever else runs, and the same each time. On the host the
// block is some columns of all rows, where columns are what lies side by side along other axes than
// that of the rows; each source changes memory. On a GPU, where a turn of that would wait for
// memory, the block is small enough for registers, and a program looks at the rows of all sources
// for those that are its own.
#include "graph/lower/accumulation/accumulation_program.h"

#include <algorithm>

#include "graph/lower/lowering.h"
#include "runtime/base/divide_up.h"

namespace tilewright::graph {

using dsl::Tile;
using Axis = AccumulationShape::Axis;

AccumulationShape::AccumulationShape(const Task& task, bool is_gpu) {
  const StridedView &target = task.place, &index = task.operands[1].view;
  const TaskOperand& source = task.operands[2];
  const int rows_axis = task.attributes.axes[0];
  row_count = target.shape[rows_axis];
  for (int i = 0; i < target.shape.rank(); ++i) {
    Axis axis{source.view.shape[i], target.strides[i], index.strides[i],
              source.number ? 0 : source.view.strides[i]};
    if (i == rows_axis) {
      rows = axis;
    } else if (axis.size != 1) {
      if (!others.empty() && others.back().joins(axis)) {
        axis.size *= others.back().size;
        others.pop_back();
      }
      others.push_back(axis);
    }
  }
  auto suits = [&](const Axis& axis) { return is_gpu || axis.target == 1; };
  auto best = std::ranges::max_element(others, [&](const Axis& a, const Axis& b) {
    return std::pair(suits(a), -a.target) < std::pair(suits(b), -b.target);
  });
  if (best == others.end() || !suits(*best)) return;
  columns = *best;
  others.erase(best);
}

AccumulationProgram::AccumulationProgram(const std::string& name, const TaskList& list,
                                         const Region& region, const dsl::Target& target,
                                         std::int64_t block, std::int64_t held_rows)
    : task_(list.tasks[region.tasks[0]]),
      target_(target),
      shape_(task_, target.is_gpu()),
      block_(block),
      held_rows_(held_rows),
      tracer_(name),
      parameters_(tracer_, list, region),
      to_(task_.place.offset),
      at_(task_.operands[1].view.offset),
      from_(source().number ? 0 : source().view.offset),
      left_(block) {}

Grid AccumulationProgram::begin(bool has_target) {
  for (const TaskOperand& operand : task_.operands)
    if (!operand.number && (has_target || operand.storage != task_.storage))
      parameters_.add(operand.storage);
  const Grid grid = open_grid();
  if (has_target) target_base_ = parameters_.pointer(task_.storage) + to_;
  index_base_ = parameters_.pointer(task_.operands[1].storage) + at_;
  if (!source().number) source_base_ = parameters_.pointer(source().storage) + from_;
  return grid;
}

Grid AccumulationProgram::open_grid() {
  std::int64_t rest = 1;
  for (const Axis& axis : shape_.others) rest *= axis.size;
  const Axis& columns = shape_.columns;
  ProgramGrid programs = graph::open_grid(
      {divide_up(shape_.row_count, held_rows_), divide_up(columns.size, block_), rest}, target_);
  if (const Tile& block = programs.index[0]; block.defined()) first_row_ = block * held_rows_;
  if (const Tile& block = programs.index[1]; block.defined()) {
    Tile first = block * block_;
    move(first, columns);
    if (columns.size % block_ != 0) left_ = dsl::minimum(columns.size - first, block_);
  }
  Tile number = programs.index[2];
  for (std::size_t i = shape_.others.size(); number.defined() && i-- > 0;) {
    const Axis& axis = shape_.others[i];
    move(i == 0 ? number : number % axis.size, axis);
    if (i > 0) number = number / axis.size;
  }
  return programs.grid;
}

void AccumulationProgram::move(const Tile& by, const Axis& axis) {
  to_.add(by, axis.target);
  at_.add(by, axis.index);
  from_.add(by, axis.source);
}

Tile AccumulationProgram::block_at(const Tile& base, std::int64_t stride) const {
  if (block_ == 1) return dsl::load(base);
  if (stride == 0) return dsl::splat(dsl::load(base), {block_});
  return dsl::load(dsl::make_desc(base, {left_}, {stride}), {0}, {block_});
}

Tile AccumulationProgram::element(const Tile& i) const {
  if (source().number) {
    Tile number = dsl::constant(*source().number);
    return block_ == 1 ? number : dsl::splat(number, {block_});
  }
  return block_at(source_base_ + i * shape_.rows.source, shape_.columns.source);
}

Tile AccumulationProgram::joined(const Tile& a, const Tile& b) const {
  const ir::ReduceKind kind = task_.attributes.reduction;
  const bool is_or = kind == ir::ReduceKind::sum || kind == ir::ReduceKind::max;
  if (is_boolean(task_.dtype)) return is_or ? a | b : a & b;
  return dsl::elementwise(ir::info(kind).combining_op, {a, b});
}

namespace {

bool is_accumulation(const TaskList& list, const Region& region) {
  return list.tasks[region.tasks[0]].op == Op::scatter_reduce;
}

LoweredRegion lower_accumulation(const TaskList& list, const Region& region,
                                 const dsl::Target& target, const BlockSizes&) {
  return target.is_gpu() ? gpu_accumulation(list, region, target)
                         : host_accumulation(list, region, target);
}

}  // namespace

constinit const Lowering lowerings::accumulation = {
    .name = "accumulation", .matches = is_accumulation, .lower = lower_accumulation};

}  // namespace tilewright::graph
