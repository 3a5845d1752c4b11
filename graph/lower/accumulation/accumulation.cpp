// Elements that join rows which are named at run time (Op::scatter_reduce), in their own order.
//
// A program owns a block of the target and goes through the sources one by one, so that each
// element is the outcome of one loop, whatever else runs, and the same each time. On the host the
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

namespace {

// Rows of a table are named at run time, so that the processor does not see the next ones coming:
// long ones are fetched this far ahead. More than that was slower.
constexpr std::int64_t most_rows_ahead = 16, bytes_ahead = 4 << 10, least_bytes_ahead = 256;

}  // namespace

bool AccumulationShape::Axis::joins(const Axis& inner) const {
  if (target != inner.target * inner.size || index != inner.index * inner.size) return false;
  return std::ranges::equal(reads, inner.reads, [&](std::int64_t own, std::int64_t other) {
    return own == other * inner.size;
  });
}

AccumulationShape::AccumulationShape(const TaskList& list, const Region& region, bool is_gpu)
    : reads(*source_reads(list, region.tasks)) {
  const Task& task = list.tasks[region.tasks.back()];
  const StridedView &target = task.place, &index = task.operands[1].view;
  const int rows_axis = task.attributes.axes[0];
  row_count = target.shape[rows_axis];
  for (int i = 0; i < target.shape.rank(); ++i) {
    Axis axis{task.operands[2].view.shape[i], target.strides[i], index.strides[i], {}};
    for (const SourceRead& read : reads)
      axis.reads.push_back(read.strides[static_cast<std::size_t>(i)]);
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
  columns.reads.assign(reads.size(), 0);
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
    : list_(list),
      region_(region),
      task_(list.tasks[region.tasks.back()]),
      target_(target),
      shape_(list, region, target.is_gpu()),
      block_(block),
      held_rows_(held_rows),
      tracer_(name),
      parameters_(tracer_, list, region),
      to_(task_.place.offset),
      at_(task_.operands[1].view.offset),
      left_(block) {
  for (const auto& [slot, operand, strides] : shape_.reads)
    from_.emplace_back(list.tasks[region.tasks[slot]].operands[operand].view.offset);
}

Grid AccumulationProgram::begin(bool has_target) {
  auto source_operand = [&](const SourceRead& read) -> const TaskOperand& {
    return list_.tasks[region_.tasks[read.slot]].operands[read.operand];
  };
  if (has_target) parameters_.add(task_.storage);
  parameters_.add(task_.operands[1].storage);
  for (const SourceRead& read : shape_.reads) parameters_.add(source_operand(read).storage);
  const Grid grid = open_grid();
  if (has_target) target_base_ = parameters_.pointer(task_.storage) + to_;
  index_base_ = parameters_.pointer(task_.operands[1].storage) + at_;
  for (std::size_t i = 0; i < from_.size(); ++i)
    bases_.push_back(parameters_.pointer(source_operand(shape_.reads[i]).storage) + from_[i]);
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
  for (std::size_t i = 0; i < from_.size(); ++i) from_[i].add(by, axis.reads[i]);
}

Tile AccumulationProgram::block_at(const Tile& base, std::int64_t stride) const {
  if (block_ == 1) return dsl::load(base);
  if (stride == 0) return dsl::splat(dsl::load(base), {block_});
  return dsl::load(dsl::make_desc(base, {left_}, {stride}), {0}, {block_});
}

Tile AccumulationProgram::element(const Tile& row) {
  values_.assign(region_.tasks.size(), {});
  Tile x = operand(region_.tasks.size() - 1, 2, row);
  return block_ > 1 && x.shape().empty() ? dsl::splat(x, {block_}) : x;
}

Tile AccumulationProgram::element(const Tile& row, const Tile& column) const {
  if (shape_.reads.empty()) return dsl::constant(*source().number);
  return dsl::load(place_of(0, row) + column * shape_.columns.reads[0]);
}

Tile AccumulationProgram::operand(std::size_t slot, std::size_t i, const Tile& row) {
  const TaskOperand& from = list_.tasks[region_.tasks[slot]].operands[i];
  if (from.number) return dsl::constant(*from.number);
  if (auto producer = from.producer ? region_.slot(*from.producer) : std::nullopt)
    return value(*producer, row);
  const std::size_t read = read_of(slot, i);
  const std::int64_t stride = shape_.columns.reads[read];
  return stride == 0 ? dsl::load(place_of(read, row)) : block_at(place_of(read, row), stride);
}

Tile AccumulationProgram::value(std::size_t slot, const Tile& row) {
  if (values_[slot].defined()) return values_[slot];
  const Task& task = list_.tasks[region_.tasks[slot]];
  if (task.kind == TaskKind::gather) return values_[slot] = gathered(slot, row);
  std::vector<dsl::Operand> operands;
  for (std::size_t i = 0; i < task.operands.size(); ++i) operands.push_back(operand(slot, i, row));
  return values_[slot] = apply_pointwise(task, operands);
}

// A number outside the table reads as zeros.
Tile AccumulationProgram::gathered(std::size_t slot, const Tile& row) {
  const Task& task = list_.tasks[region_.tasks[slot]];
  const TaskOperand& table = task.operands[0];
  const std::size_t read = read_of(slot, 0);
  const std::int64_t rows = table.view.shape[0], row_stride = table.view.strides[0],
                     column_stride = shape_.columns.reads[read];
  const Tile base = place_of(read, row), numbers = dsl::cast(operand(slot, 1, row), DType::i64);
  if (!numbers.shape().empty() || column_stride == 0) {
    Tile steps = numbers * row_stride;
    if (column_stride != 0)
      steps = steps + dsl::cast(dsl::arange(0, block_), DType::i64) * column_stride;
    Tile inside = numbers >= 0 && numbers < rows;
    if (!numbers.shape().empty() && !is_whole())
      inside = inside && dsl::cast(dsl::arange(0, block_), DType::i64) < left_;
    return dsl::load(base + steps, inside);
  }
  const dsl::Desc matrix = dsl::make_desc(base, {rows, left_}, {row_stride, column_stride});
  const std::int64_t row_bytes = block_ * size_bytes(task.dtype);
  if (!task.operands[1].producer && column_stride == 1 && row_bytes >= least_bytes_ahead) {
    const std::int64_t ahead =
        std::clamp<std::int64_t>(bytes_ahead / row_bytes, 1, most_rows_ahead);
    const Tile later = operand(slot, 1, dsl::minimum(row + ahead, shape_.rows.size - 1));
    dsl::prefetch(matrix, {dsl::cast(later, DType::i64), 0}, {1, block_});
  }
  return dsl::reshape(dsl::load(matrix, {numbers, 0}, {1, block_}), {block_});
}

std::size_t AccumulationProgram::read_of(std::size_t slot, std::size_t i) const {
  auto is_it = [&](const SourceRead& read) { return read.slot == slot && read.operand == i; };
  return static_cast<std::size_t>(std::ranges::find_if(shape_.reads, is_it) - shape_.reads.begin());
}

Tile AccumulationProgram::place_of(std::size_t read, const Tile& row) const {
  const std::int64_t stride = shape_.rows.reads[read];
  return stride == 0 ? bases_[read] : bases_[read] + row * stride;
}

Tile AccumulationProgram::joined(const Tile& a, const Tile& b) const {
  const ir::ReduceKind kind = task_.attributes.reduction;
  const bool is_or = kind == ir::ReduceKind::sum || kind == ir::ReduceKind::max;
  if (is_boolean(task_.dtype)) return is_or ? a | b : a & b;
  return dsl::elementwise(ir::info(kind).combining_op, {a, b});
}

namespace {

bool is_accumulation(const TaskList& list, const Region& region) {
  return list.tasks[region.tasks.back()].op == Op::scatter_reduce;
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
