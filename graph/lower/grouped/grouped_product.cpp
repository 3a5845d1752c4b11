// The lowering of products of groups of rows (Op::grouped_matmul).
#include "graph/lower/grouped/grouped_blocks.h"

#include <algorithm>

#include "dsl/language/words/arranging.h"
#include "dsl/language/words/folding.h"
#include "graph/lower/frame.h"
#include "graph/lower/lowering.h"
#include "runtime/base/divide_up.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;
using dsl::Var;

Tile as_i64(const Tile& x) { return x.dtype() == DType::i64 ? x : dsl::cast(x, DType::i64); }

// The number of rows may be an argument of a program by rows, on hosts.
bool takes_rows(const GroupedShape& shape, const Region& region, const dsl::Target& target) {
  return region.sizes_vary && !target.is_gpu() && shape.is_by_rows();
}

Grid grid_of(const GroupedShape& shape, const BlockSizes& block) {
  const std::int64_t across = divide_up(shape.columns(), block.columns);
  if (shape.is_by_rows()) return {shape.most_row_blocks(block.rows), across, 1};
  return {divide_up(shape.rows(), block.rows), across, shape.groups()};
}

class GroupedProgram {
 public:
  GroupedProgram(const TaskList& list, const Region& region, const dsl::Target& target,
                 const BlockSizes& block)
      : list_(list),
        target_(target),
        task_(list.tasks[region.tasks[0]]),
        shape_(task_),
        block_(block),
        tracer_("grouped_product"),
        parameters_(tracer_, list, region),
        sizes_(tracer_, takes_rows(shape_, region, target)) {}

  LoweredProgram emit() {
    for (const TaskOperand& operand : task_.operands) parameters_.add(operand.storage);
    parameters_.add(task_.storage);
    rows_ =
        sizes_.are_arguments() ? sizes_.add(shape_.grouped_rows()) : integer(shape_.grouped_rows());
    const Grid all = grid_of(shape_, block_);
    // A program for any number of rows asks which block is its own, also where there is one.
    const std::int64_t least = sizes_.are_arguments() ? 2 : 1;
    ProgramGrid programs =
        open_grid({std::max(all.size[0], least), all.size[1], all.size[2]}, target_);
    for (Tile& index : programs.index)
      if (!index.defined()) index = integer(0);
    if (shape_.is_by_rows())
      multiply_rows(programs.index[0], programs.index[1]);
    else
      sum_rows(programs.index[0], programs.index[1], programs.index[2]);
    const Grid grid = sizes_.are_arguments() ? all : programs.grid;
    return {tracer_.finish(), grid, parameters_.memory(), sizes_.sizes()};
  }

 private:
  // Where the group of each lane ends, which is not before the group in front of it does; a lane
  // behind the last one has all that is left.
  Tile ends_of(const Tile& lanes) const {
    const TaskOperand& operand = task_.operands[2];
    const Tile is_group = lanes < shape_.groups();
    const Tile pointers = parameters_.pointer(operand.storage) + Offset(operand.view.offset) +
                          lanes * operand.view.strides[0];
    const Tile read = as_i64(dsl::load(pointers, is_group));
    return dsl::where(is_group, dsl::minimum(dsl::maximum(read, 0), rows_), rows_);
  }

  // The block of rows of this number: its first row, where its group ends, and the group.
  struct RowBlock {
    Tile first, end, group;
  };
  RowBlock row_block(const Tile& number) const {
    const std::int64_t lanes = shape_.groups() + 1;
    const Tile lane = dsl::arange(0, lanes), group = as_i64(lane);
    const Tile end = dsl::associative_scan(
        ends_of(group), 0,
        [](const Tile& before, const Tile& after) { return dsl::maximum(before, after); });
    const Tile before = dsl::gather(end, dsl::maximum(lane - 1, 0), 0);
    const Tile start = dsl::where(lane == 0, 0, before);
    const Tile blocks = (end - start + (block_.rows - 1)) / block_.rows;
    const Tile behind = dsl::cumsum(blocks, 0), first = behind - blocks;
    const Tile is_own = (number >= first) & (number < behind);
    auto own = [&](const Tile& x) { return dsl::sum(dsl::where(is_own, x, 0), 0); };
    return {own(start + (number - first) * block_.rows), own(end), own(group)};
  }

  Tile pointer(const TaskOperand& operand) const {
    return parameters_.pointer(operand.storage) + Offset(operand.view.offset);
  }
  // The block of columns begins there; on the host the last one is moved back to end with the row,
  // so that what it reads is known to be there.
  Tile first_column(const Tile& across) const {
    const Tile column = across * block_.columns;
    return target_.is_gpu() ? column
                            : Tile(dsl::minimum(column, shape_.columns() - block_.columns));
  }
  Tile rounded(const Tile& sum) const {
    return sum.dtype() == task_.dtype ? sum : dsl::cast(sum, task_.dtype);
  }
  // sum + the products of a step of the inner axis.
  Tile added(const Operand& sum, const Matrix& left, const Operand& row, const Operand& k,
             const Matrix& right, const Operand& column, std::int64_t depth) const {
    return dsl::dot(left.load(row, k, {block_.rows, depth}),
                    right.load(k, column, {depth, block_.columns}), sum,
                    list_.precision_of(task_.dtype));
  }
  Tile zeros() const { return dsl::zeros({block_.rows, block_.columns}, accumulator(task_.dtype)); }
  Matrix matrix(const Tile& base, const Operand& rows, const Operand& columns,
                const StridedView& view) const {
    return {base, rows, columns, view.strides[-2], view.strides[-1], target_.is_gpu()};
  }

  void multiply_rows(const Tile& number, const Tile& across) {
    const StridedView &a = shape_.a, &b = shape_.b, &result = shape_.result;
    const std::int64_t depth = shape_.depth();
    const RowBlock block = row_block(number);
    const Tile left_over = block.end - block.first;
    const Operand rows = block_.rows == 1
                             ? Operand(1)
                             : Operand(dsl::maximum(dsl::minimum(left_over, block_.rows), 1));
    const Tile column = first_column(across);
    dsl::return_if(left_over <= 0);
    const Matrix left =
        matrix(pointer(task_.operands[0]) + block.first * a.strides[0], rows, depth, a);
    const Tile group = dsl::minimum(block.group, shape_.groups() - 1);
    const Matrix right =
        matrix(pointer(task_.operands[1]) + group * b.strides[0], depth, shape_.columns(), b);
    const Matrix to = matrix(parameters_.pointer(task_.storage) + Offset(result.offset) +
                                 block.first * result.strides[0],
                             rows, shape_.columns(), result);
    auto multiply = [&] {
      if (depth == 0) return to.store(0, column, rounded(zeros()));
      if (block_.depth == 0)
        return to.store(0, column, rounded(added(0, left, 0, 0, right, column, depth)));
      Var sum = zeros();
      for (Tile k : dsl::range(0, depth, block_.depth))
        sum = added(sum, left, 0, k, right, column, block_.depth);
      to.store(0, column, rounded(sum));
    };
    dsl::if_(block.group < shape_.groups(), multiply,
             [&] { to.store(0, column, rounded(zeros())); });
  }

  void sum_rows(const Tile& down, const Tile& across, const Tile& group) {
    const Tile lane = as_i64(dsl::arange(0, shape_.groups())), ends = ends_of(lane);
    const Tile begin = dsl::max(dsl::where(lane < group, ends, 0), 0),
               end = dsl::max(dsl::where(lane <= group, ends, 0), 0);
    const StridedView& result = shape_.result;
    const std::int64_t all = shape_.depth(), step = std::max<std::int64_t>(block_.depth, 1);
    const Tile row = target_.is_gpu()
                         ? Tile(down * block_.rows)
                         : Tile(dsl::minimum(down * block_.rows, shape_.rows() - block_.rows));
    const Tile column = first_column(across);
    auto left = [&](const Operand& rows) {
      return matrix(pointer(task_.operands[0]), shape_.rows(), rows, shape_.a);
    };
    auto right = [&](const Operand& rows) {
      return matrix(pointer(task_.operands[1]), rows, shape_.columns(), shape_.b);
    };
    Var sum = zeros();
    // Whole steps are read where they are, and the rest up to the group's last row.
    const Tile whole = begin + (end - begin) / step * step;
    if (all >= step)
      for (Tile k : dsl::range(begin, whole, step))
        sum = added(sum, left(all), row, dsl::minimum(k, all - step), right(all), column, step);
    for (Tile k : dsl::range(whole, end, step))
      sum = added(sum, left(end), row, k, right(end), column, step);
    const Matrix to = matrix(
        parameters_.pointer(task_.storage) + Offset(result.offset) + group * result.strides[0],
        shape_.rows(), shape_.columns(), result);
    to.store(row, column, rounded(sum));
  }

  const TaskList& list_;
  const dsl::Target& target_;
  const Task& task_;
  GroupedShape shape_;
  BlockSizes block_;
  dsl::Tracer tracer_;
  Parameters parameters_;
  SizeArguments sizes_;
  Tile rows_;  // of all groups and of none
};

bool is_grouped(const TaskList& list, const Region& region) {
  return list.tasks[region.tasks[0]].op == Op::grouped_matmul;
}

BlockSizes blocks_of(const TaskList& list, const Region& region, const dsl::Target& target,
                     const BlockSizes& asked) {
  const Task& task = list.tasks[region.tasks[0]];
  return grouped_blocks(GroupedShape(task), task.dtype, target, list.on_tensor_cores(task.dtype),
                        asked);
}

Hash decided_by(const BlockSizes& block) {
  Hasher hasher;
  return hasher.add(block.rows).add(block.columns).add(block.depth).finish();
}

LoweredRegion lower_grouped(const TaskList& list, const Region& region, const dsl::Target& target,
                            const BlockSizes& asked) {
  const BlockSizes block = blocks_of(list, region, target, asked);
  LoweredRegion result;
  result.programs.push_back(GroupedProgram(list, region, target, block).emit());
  result.kind = "grouped";
  result.blocks = block;
  result.decided = decided_by(block);
  return result;
}

std::optional<Relaunch> relaunch_grouped(const TaskList& list, const Region& region,
                                         const dsl::Target& target, const BlockSizes& asked,
                                         const Hash& decided) {
  const GroupedShape shape(list.tasks[region.tasks[0]]);
  const BlockSizes block = blocks_of(list, region, target, asked);
  const bool is_same = takes_rows(shape, region, target) && decided_by(block) == decided;
  return is_same ? std::optional(Relaunch{grid_of(shape, block), {}}) : std::nullopt;
}

void describe_grouped(const TaskList& list, const Region& region, autotune::Record& problem) {
  const GroupedShape shape(list.tasks[region.tasks[0]]);
  problem.set("rows", shape.rows()).set("columns", shape.columns());
  problem.set("depth", shape.depth()).set("groups", shape.groups());
}

}  // namespace

constinit const Lowering lowerings::grouped = {.name = "grouped",
                                               .matches = is_grouped,
                                               .lower = lower_grouped,
                                               .describe = describe_grouped,
                                               .relaunch = relaunch_grouped};

}  // namespace tilewright::graph
