// Shared by all lowerings while they trace a program: parameters for storages, and addresses.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/target/target.h"
#include "graph/lower/lower.h"

namespace tilewright::graph {

// The pointer parameters of a program, one for each piece of memory that it reads or writes.
class Parameters {
 public:
  // Parameters are numbered in the order of first use by the tasks, so that equal regions of
  // different layers agree.
  Parameters(dsl::Tracer& tracer, const TaskList& list, const Region& region);
  void add(StorageId storage);
  const dsl::Tile& pointer(StorageId storage) const;
  // A parameter for the region's scratch memory of this number.
  dsl::Tile add_scratch(std::size_t number, const Scratch& scratch);
  // As LoweredProgram::memory.
  const std::vector<std::uint32_t>& memory() const { return memory_; }

 private:
  dsl::Tile new_pointer(std::size_t index, DType dtype, int align_bytes);

  dsl::Tracer& tracer_;
  const TaskList& list_;
  std::vector<StorageId> storages_;  // of the region
  std::vector<std::uint32_t> memory_;
  std::vector<dsl::Tile> pointers_;  // as memory_
};

// The number as a tile of i64.
inline dsl::Tile integer(std::int64_t value) {
  return dsl::constant(ir::Scalar::of_integer(DType::i64, value));
}

// number + sum of factor * index, leaving out zeros; a number where nothing varies.
class Offset {
 public:
  explicit Offset(std::int64_t number = 0) : number_(number) {}
  void add(const dsl::Operand& index, std::int64_t factor);
  void add(const dsl::Tile& term);
  void add_number(std::int64_t number) { number_ += number; }
  bool is_zero() const { return !varying_.defined() && number_ == 0; }
  dsl::Operand value() const;
  Offset times(std::int64_t factor) const;

 private:
  std::int64_t number_;
  dsl::Tile varying_;
};
dsl::Tile operator+(const dsl::Tile& pointer, const Offset& offset);

// Numbers that the sizes of a call decide: how many rows there are, how far heads lie apart. They
// are constants of a program; or its arguments, behind the pointers, so that it serves other sizes.
// Whichever become arguments, the program is right for the numbers of the launch that it was made
// for, and for those of all others that come to the same program.
class SizeArguments {
 public:
  SizeArguments(dsl::Tracer& tracer, bool are_arguments)
      : tracer_(tracer), are_arguments_(are_arguments) {}
  bool are_arguments() const { return are_arguments_; }
  dsl::Tile add(std::int64_t size);  // always an argument
  dsl::Operand number(std::int64_t size);
  // Adds index * factor, or the number, to an offset.
  void add_to(Offset& offset, const dsl::Operand& index, std::int64_t factor);
  void add_to(Offset& offset, std::int64_t number);
  // As LoweredProgram::sizes.
  const std::vector<std::int64_t>& sizes() const { return sizes_; }

 private:
  bool is_argument(std::int64_t size) const { return are_arguments_ && size != 0 && size != 1; }

  dsl::Tracer& tracer_;
  bool are_arguments_;
  std::vector<std::int64_t> sizes_;
};

// Counts of programs as the axes of a grid, the first running fastest, and this program's number in
// each (undefined where there is only one). On a GPU the first axis alone is long: counts of one
// take no axis, and where one does not fit, all are folded into the first.
struct ProgramGrid {
  Grid grid;
  dsl::Tile index[3];
};
ProgramGrid open_grid(const std::int64_t (&counts)[3], const dsl::Target& target);

// How far neighbours lie apart: a number of the program, or an argument of it.
class Stride {
 public:
  Stride(std::int64_t number) : stride_(number), is_one_(number == 1) {}
  explicit Stride(const dsl::Operand& stride) : stride_(stride) {}
  bool is_one() const { return is_one_; }  // known to be
  const dsl::Operand& value() const { return stride_; }

 private:
  dsl::Operand stride_;
  bool is_one_ = false;
};

// A matrix in memory. `coalesces`: neighbours along a tile's last axis are accessed at the same
// time, so where the first axis is the contiguous one, the block is accessed turned over.
struct Matrix {
  dsl::Tile base;
  dsl::Operand rows, columns;
  Stride row_stride, column_stride;
  bool coalesces = false;

  dsl::Tile load(const dsl::Operand& row, const dsl::Operand& column, const Shape& block,
                 ir::CachePolicy cache = ir::CachePolicy::normal) const;
  void store(const dsl::Operand& row, const dsl::Operand& column, const dsl::Tile& tile,
             ir::CachePolicy cache = ir::CachePolicy::normal) const;
  void prefetch(const dsl::Operand& row, const dsl::Operand& column, const Shape& block) const;

 private:
  bool is_turned(const Shape& block) const;
  dsl::Desc desc(bool turned) const;
};

// The result of a pointwise task on its operands.
dsl::Tile apply_pointwise(const Task& task, const std::vector<dsl::Operand>& operands);
// How the value of a task is stored: past the cache, if it will have left it when it is read.
ir::CachePolicy cache_policy(const TaskList& list, const Task& task, const dsl::Target& target);

// "exp_sum_div": the ops of the tasks, shortened where they are many.
std::string program_name(const TaskList& list, std::span<const TaskId> tasks,
                         std::string_view kind);
// One word for the work of a task.
std::string_view word_of(const Task& task);

}  // namespace tilewright::graph
