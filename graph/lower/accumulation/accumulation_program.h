// What the programs of an accumulation have in common: a region of one scatter_reduce.
#pragma once

#include <vector>

#include "graph/lower/frame.h"

namespace tilewright::graph {

struct AccumulationShape {
  // An axis of the source, and how far its neighbours lie apart in each operand.
  struct Axis {
    std::int64_t size = 1, target = 0, index = 0, source = 0;
    bool joins(const Axis& inner) const {
      return target == inner.target * inner.size && index == inner.index * inner.size &&
             source == inner.source * inner.size;
    }
  };

  AccumulationShape(const Task& task, bool is_gpu);

  Axis rows;                 // of the source; `target` is the stride of rows there
  std::int64_t row_count;    // of the target
  std::vector<Axis> others;  // outermost first
  Axis columns;              // the one of them that programs have blocks of
};

// One program: a block of `columns` at a place of all others, of some rows of the target or all.
class AccumulationProgram {
 public:
  AccumulationProgram(const std::string& name, const TaskList& list, const Region& region,
                      const dsl::Target& target, std::int64_t block, std::int64_t held_rows);

 protected:
  const TaskOperand& source() const { return task_.operands[2]; }
  // Parameters and, of each of the grid's programs, its place in them.
  Grid begin(bool has_target = true);

  bool is_whole() const { return left_.is_number(); }
  // A block of an operand from there on.
  dsl::Tile block_at(const dsl::Tile& base, std::int64_t stride) const;
  dsl::Tile element(const dsl::Tile& i) const;  // of the source, a block
  dsl::Tile joined(const dsl::Tile& a, const dsl::Tile& b) const;

  const Task& task_;
  const dsl::Target& target_;
  AccumulationShape shape_;
  std::int64_t block_, held_rows_;  // columns and rows of a program's block
  dsl::Tracer tracer_;
  Parameters parameters_;
  Offset to_, at_, from_;  // of this program in target, index and source
  dsl::Operand left_ = 0;  // columns of this program's block that there are
  dsl::Tile target_base_, index_base_, source_base_;
  dsl::Tile first_row_;  // of this program

 private:
  // Axis 0: blocks of rows; axis 1: blocks of columns; axis 2: all other axes.
  Grid open_grid();
  void move(const dsl::Tile& by, const AccumulationShape::Axis& axis);
};

LoweredRegion host_accumulation(const TaskList& list, const Region& region,
                                const dsl::Target& target);
LoweredRegion gpu_accumulation(const TaskList& list, const Region& region,
                               const dsl::Target& target);

}  // namespace tilewright::graph
