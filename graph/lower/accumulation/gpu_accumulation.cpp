// An accumulation on a GPU: a program keeps its block of the target in registers.
#include <algorithm>

#include "graph/lower/accumulation/accumulation_program.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;
using dsl::Var;

// Elements of a program; of few columns fewer, so that there are more programs.
constexpr std::int64_t most_columns = 64, most_elements = 1024, most_rows = 128;

class HoldingProgram : AccumulationProgram {
 public:
  HoldingProgram(const TaskList& list, const Region& region, const dsl::Target& target,
                 const AccumulationShape& shape, std::int64_t block)
      : AccumulationProgram("scatter_reduce", list, region, target, block,
                            std::min({shape.row_count, most_rows, most_elements / block})) {}

  LoweredProgram emit() {
    const Grid grid = begin();
    hold_block();
    return {tracer_.finish(), grid, parameters_.memory()};
  }

 private:
  void hold_block() {
    const AccumulationShape::Axis &rows = shape_.rows, &columns = shape_.columns;
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
};

}  // namespace

LoweredRegion gpu_accumulation(const TaskList& list, const Region& region,
                               const dsl::Target& target) {
  const AccumulationShape shape(list, region, true);
  LoweredRegion result;
  result.kind = "accumulation";
  result.programs.push_back(
      HoldingProgram(list, region, target, shape, std::min(shape.columns.size, most_columns))
          .emit());
  return result;
}

}  // namespace tilewright::graph
