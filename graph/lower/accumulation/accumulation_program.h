// Shared by the programs of an accumulation: a region of one scatter_reduce, and on hosts of the
// computation of its source (regions/opaque_region.h).
#pragma once

#include <vector>

#include "graph/lower/frame.h"
#include "graph/regions/opaque_region.h"

namespace tilewright::graph {

struct AccumulationShape {
  // An axis of the source, and how far its neighbours lie apart in each operand: of the source in
  // each of the pieces of memory that it is made of.
  struct Axis {
    std::int64_t size = 1, target = 0, index = 0;
    std::vector<std::int64_t> reads;
    bool joins(const Axis& inner) const;
  };

  AccumulationShape(const TaskList& list, const Region& region, bool is_gpu);

  Axis rows;                 // of the source; `target` is the stride of rows there
  std::int64_t row_count;    // of the target
  std::vector<Axis> others;  // outermost first
  Axis columns;              // the one of them that programs have blocks of
  std::vector<SourceRead> reads;
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
  dsl::Tile element(const dsl::Tile& i);  // of the source, a block
  // The same for one column, of a source that lies in memory.
  dsl::Tile element(const dsl::Tile& i, const dsl::Tile& column) const;
  dsl::Tile joined(const dsl::Tile& a, const dsl::Tile& b) const;

  const TaskList& list_;
  const Region& region_;
  const Task& task_;
  const dsl::Target& target_;
  AccumulationShape shape_;
  std::int64_t block_, held_rows_;  // columns and rows of a program's block
  dsl::Tracer tracer_;
  Parameters parameters_;
  Offset to_, at_;         // of this program in target and index
  dsl::Operand left_ = 0;  // columns of this program's block that there are
  dsl::Tile target_base_, index_base_;
  dsl::Tile first_row_;  // of this program

 private:
  // Axis 0: blocks of rows; axis 1: blocks of columns; axis 2: all other axes.
  Grid open_grid();
  void move(const dsl::Tile& by, const AccumulationShape::Axis& axis);
  // A block, or one number for all of it.
  dsl::Tile operand(std::size_t slot, std::size_t i, const dsl::Tile& row);
  dsl::Tile value(std::size_t slot, const dsl::Tile& row);
  dsl::Tile gathered(std::size_t slot, const dsl::Tile& row);
  std::size_t read_of(std::size_t slot, std::size_t i) const;
  dsl::Tile place_of(std::size_t read, const dsl::Tile& row) const;

  std::vector<Offset> from_;  // of this program in each piece of memory that the source is made of
  std::vector<dsl::Tile> bases_, values_;  // of these; of tasks before the accumulation
};

LoweredRegion host_accumulation(const TaskList& list, const Region& region,
                                const dsl::Target& target);
LoweredRegion gpu_accumulation(const TaskList& list, const Region& region,
                               const dsl::Target& target);

}  // namespace tilewright::graph
