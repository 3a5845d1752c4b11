// Elements that join rows which are named at run time (Op::scatter_reduce), in their own order.
//
// A program owns a block of the target and goes through the sources one by one, so that each
// element is the outcome of one loop, whoever else runs, and the same each time. On the host the
// block is some columns of all rows, where columns are what lies side by side along other axes than
// that of the rows; each source changes memory. On a GPU, where a turn of that would wait for
// memory, the block is small enough for registers, and a program looks at the rows of all sources
// for those that are its own.
#include <algorithm>
#include <vector>

#include "graph/lower/frame.h"
#include "graph/lower/lowering.h"
#include "runtime/base/divide_up.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;
using dsl::Var;

// On the host a program has a few vectors of neighbours at most.
constexpr std::int64_t host_columns = 32;
// On a GPU it has so many elements; of few columns fewer, so that there are more programs.
constexpr std::int64_t gpu_columns = 64, gpu_elements = 1024, gpu_rows = 128;

// An axis of the source, and how far its neighbours lie apart in each operand.
struct Mode {
  std::int64_t size = 1, target = 0, index = 0, source = 0;
  bool joins(const Mode& inner) const {
    return target == inner.target * inner.size && index == inner.index * inner.size &&
           source == inner.source * inner.size;
  }
};

struct AccumulationShape {
  Mode rows;                 // of the source; `target` is the stride of rows there
  std::int64_t row_count;    // of the target
  std::vector<Mode> others;  // outermost first
  Mode columns;              // the one of them that programs have blocks of

  AccumulationShape(const Task& task, bool is_gpu) {
    const StridedView &target = task.place, &index = task.operands[1].view;
    const TaskOperand& source = task.operands[2];
    const int rows_axis = task.attributes.axes[0];
    row_count = target.shape[rows_axis];
    for (int axis = 0; axis < target.shape.rank(); ++axis) {
      Mode mode{source.view.shape[axis], target.strides[axis], index.strides[axis],
                source.number ? 0 : source.view.strides[axis]};
      if (axis == rows_axis) {
        rows = mode;
      } else if (mode.size != 1) {
        if (!others.empty() && others.back().joins(mode)) {
          mode.size *= others.back().size;
          others.pop_back();
        }
        others.push_back(mode);
      }
    }
    auto suits = [&](const Mode& mode) { return is_gpu || mode.target == 1; };
    auto best = std::ranges::max_element(others, [&](const Mode& a, const Mode& b) {
      return std::pair(suits(a), -a.target) < std::pair(suits(b), -b.target);
    });
    if (best == others.end() || !suits(*best)) return;
    columns = *best;
    others.erase(best);
  }
};

class AccumulationProgram {
 public:
  AccumulationProgram(const TaskList& list, const Region& region, const dsl::Target& target)
      : task_(list.tasks[region.tasks[0]]),
        target_(target),
        shape_(task_, target.is_gpu()),
        block_(std::min(shape_.columns.size, target.is_gpu() ? gpu_columns : host_columns)),
        held_rows_(target.is_gpu() ? std::min({shape_.row_count, gpu_rows, gpu_elements / block_})
                                   : shape_.row_count),
        tracer_("scatter_reduce"),
        parameters_(tracer_, list, region),
        to_(task_.place.offset),
        at_(task_.operands[1].view.offset),
        from_(source().number ? 0 : source().view.offset) {}

  LoweredRegion emit() {
    for (const TaskOperand& operand : task_.operands)
      if (!operand.number) parameters_.add(operand.storage);
    Grid grid = open_grid();
    target_base_ = parameters_.pointer(task_.storage) + to_;
    index_base_ = parameters_.pointer(task_.operands[1].storage) + at_;
    if (!source().number) source_base_ = parameters_.pointer(source().storage) + from_;
    if (target_.is_gpu())
      hold_block();
    else
      for (Tile i : dsl::range(0, shape_.rows.size, 1)) join_row(i);
    LoweredRegion result;
    result.kind = "accumulation";
    result.programs.push_back({tracer_.finish(), grid, parameters_.memory()});
    return result;
  }

 private:
  const TaskOperand& source() const { return task_.operands[2]; }

  // Axis 0: blocks of rows; axis 1: blocks of columns; axis 2: all other axes.
  Grid open_grid() {
    std::int64_t rest = 1;
    for (const Mode& mode : shape_.others) rest *= mode.size;
    const Mode& columns = shape_.columns;
    ProgramGrid programs = graph::open_grid(
        {divide_up(shape_.row_count, held_rows_), divide_up(columns.size, block_), rest}, target_);
    if (const Tile& block = programs.index[0]; block.defined()) first_row_ = block * held_rows_;
    left_ = block_;
    if (const Tile& block = programs.index[1]; block.defined()) {
      Tile first = block * block_;
      move(first, columns);
      if (columns.size % block_ != 0) left_ = dsl::minimum(columns.size - first, block_);
    }
    Tile number = programs.index[2];
    for (std::size_t i = shape_.others.size(); number.defined() && i-- > 0;) {
      const Mode& mode = shape_.others[i];
      move(i == 0 ? number : number % mode.size, mode);
      if (i > 0) number = number / mode.size;
    }
    return programs.grid;
  }
  void move(const Tile& by, const Mode& mode) {
    to_.add(by, mode.target);
    at_.add(by, mode.index);
    from_.add(by, mode.source);
  }

  bool is_whole() const { return left_.is_number(); }
  // A block of an operand from there on.
  Tile block_at(const Tile& base, std::int64_t stride) const {
    if (block_ == 1) return dsl::load(base);
    if (stride == 0) return dsl::splat(dsl::load(base), {block_});
    return dsl::load(dsl::make_desc(base, {left_}, {stride}), {0}, {block_});
  }
  Tile element(const Tile& i) const {
    const Mode& columns = shape_.columns;
    if (source().number) {
      Tile number = dsl::constant(*source().number);
      return block_ == 1 ? number : dsl::splat(number, {block_});
    }
    return block_at(source_base_ + i * shape_.rows.source, columns.source);
  }
  Tile is_inside(const Tile& row) const { return row >= 0 && row < shape_.row_count; }

  void join_row(const Tile& i) const {
    const Mode &rows = shape_.rows, &columns = shape_.columns;
    Tile index = index_base_ + i * rows.index;
    if (block_ > 1 && columns.index != 0) return join_rows(i, index);
    Tile row = dsl::cast(dsl::load(index), DType::i64);
    dsl::if_(is_inside(row), [&] {
      Tile place = target_base_ + row * rows.target;
      if (block_ == 1) return dsl::store(place, joined(dsl::load(place), element(i)));
      dsl::Desc block = dsl::make_desc(place, {left_}, {columns.target});
      dsl::store(block, {0}, joined(dsl::load(block, {0}, {block_}), element(i)));
    });
  }
  // Each column has a row of its own.
  void join_rows(const Tile& i, const Tile& index) const {
    const Mode &rows = shape_.rows, &columns = shape_.columns;
    Tile row = dsl::cast(block_at(index, columns.index), DType::i64);
    Tile column = dsl::cast(dsl::arange(0, block_), DType::i64);
    Tile inside = is_inside(row);
    if (!is_whole()) inside = inside && column < left_;
    Tile place = target_base_ + (row * rows.target + column * columns.target);
    dsl::store(place, joined(dsl::load(place, inside), element(i)), inside);
  }

  void hold_block() const {
    const Mode &rows = shape_.rows, &columns = shape_.columns;
    Tile own = dsl::reshape(dsl::cast(dsl::arange(0, held_rows_), DType::i64), {held_rows_, 1});
    if (first_row_.defined()) own = own + first_row_;
    const Operand row = first_row_.defined() ? Operand(first_row_) : Operand(0);
    const Matrix target{target_base_, shape_.row_count, left_, rows.target, columns.target, true};
    Var held = target.load(row, 0, {held_rows_, block_});
    for (Tile i : dsl::range(0, rows.size, 1)) {
      Tile named = dsl::cast(block_at(index_base_ + i * rows.index, columns.index), DType::i64);
      held = dsl::where(own == named, joined(held, element(i)), held);
    }
    target.store(row, 0, held);
  }

  Tile joined(const Tile& a, const Tile& b) const {
    const ir::ReduceKind kind = task_.attributes.reduction;
    const bool is_or = kind == ir::ReduceKind::sum || kind == ir::ReduceKind::max;
    if (is_boolean(task_.dtype)) return is_or ? a | b : a & b;
    return dsl::elementwise(ir::info(kind).combining_op, {a, b});
  }

  const Task& task_;
  const dsl::Target& target_;
  AccumulationShape shape_;
  std::int64_t block_, held_rows_;  // columns and rows of a program's block
  dsl::Tracer tracer_;
  Parameters parameters_;
  Offset to_, at_, from_;  // of this program in target, index and source
  Operand left_ = 0;       // columns of this program's block that there are
  Tile target_base_, index_base_, source_base_;
  Tile first_row_;  // of this program
};

bool is_accumulation(const TaskList& list, const Region& region) {
  return list.tasks[region.tasks[0]].op == Op::scatter_reduce;
}

LoweredRegion lower_accumulation(const TaskList& list, const Region& region,
                                 const dsl::Target& target, const BlockSizes&) {
  return AccumulationProgram(list, region, target).emit();
}

}  // namespace

constinit const Lowering lowerings::accumulation = {
    .name = "accumulation", .matches = is_accumulation, .lower = lower_accumulation};

}  // namespace tilewright::graph
