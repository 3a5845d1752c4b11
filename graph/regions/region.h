// A region: a set of tasks that one tile program computes, and how it sees each of them.
//
// A program goes through a table of `rows` rows, a block of them at a time. Every task's value is a
// table of that many rows and of its own width: the [B, T, C] value of a norm is B*T rows of C, the
// sums over C are B*T rows of 1, a matrix product maps rows of K to rows of N. Row r of a value is
// computed from row r of its operands in the region, of whatever width; memory may be read by any
// access that has a stride per row digit and a stride per column. So a chain like linear, relu,
// linear, or x + attention, norm, gate, up, silu, down, is one region although its widths differ,
// while what mixes rows, a transposition or a sum over them, ends one.
//
// Which axes of a value are rows is not given by the graph (softmax may run along any axis, a
// pointwise value may be seen as anything). It follows from the first task that has no choice, the
// anchor: a reduction's columns are the reduced axes, a product's are N, a gather's are the table's
// row (where that is one element, a gather is pointwise in its ids), a scatter's are the axes
// behind the scattered one. From there it spreads along the edges:
// the consumer's access to its operand, composed with the views between, is the operand's table.
// If a task is reached twice with different tables, or an access has no strides, the set is not a
// region. A value that all rows share (a bias computed from weights) has constant rows.
//
// A product's second operand is not a table of the region's rows: it has columns and an inner axis.
// It may be computed too, where rows are few, by pointwise tasks whose tables have that inner axis:
// weights in memory are then integers of 4 bits with scales, or of another type, and are read once.
// They may be looked up, too: where each of a batch of products multiplies a row of a table, seen
// as a matrix, as the experts of rows are rows of a stack, it reads that where it lies.
//
// Rows are independent, so programs may split them. Columns may be split too if nothing in the
// region needs whole rows of a stored value: then each column block computes for itself the whole
// rows that a product or reduction needs, which is how a norm fuses into a large product.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/regions/access.h"
#include "graph/regions/task.h"

namespace tilewright::graph {

// Element (r, c) of the table has the row-major index rows(r) + columns(c) in the task's value; of
// a table of weights element (k, c) that a product's rows r see has rows(r) + inner(k) +
// columns(c).
struct Table {
  TableAccess place;
  std::int64_t width = 0;              // 0: not known yet
  std::optional<IndexMap> inner = {};  // of weights: the axis that a product adds up over
  bool operator==(const Table&) const = default;
};

struct Region {
  std::vector<TaskId> tasks;  // ascending
  // One per task. None where one is opaque, by itself or with its epilogue or prologue
  // (opaque_region.h).
  std::vector<Table> tables;
  std::vector<bool> stored;  // of each task: its value goes to memory
  std::int64_t rows = 1;
  std::int64_t width = 1;         // the widest stored value
  bool splits_columns = false;    // programs may take blocks of columns
  bool is_in_place = false;       // a task overwrites memory that the region reads
  std::int64_t weight_bytes = 0;  // of the products' second operands
  RowDigits digits{1};
  // The elements of all regions that differ from this one in their size alone and share its program
  // (lower/flat.h); 0: the region has a program of its own.
  std::int64_t family_elements = 0;
  // The plan is one of several that differ in sizes, so that a program that takes the number of
  // rows as an argument serves many of them (lower/block_sizes.h).
  bool sizes_vary = false;

  std::optional<std::size_t> slot(TaskId task) const;
};

// The table by which a task reads operand `i`, in the numbering of that operand's view; nothing for
// operands that are not read row by row, as a gather's table.
std::optional<Table> operand_table(const Task& task, std::size_t i, const Table& table);
Table weight_table(const Task& product);  // of its second operand

// A way to cut the inner axis of a product whose second operand the region computes into digits,
// such that each piece of memory that it is computed from has one stride a digit.
std::optional<RowDigits> inner_digits(const TaskList& list, const Region& region,
                                      std::size_t product);

// A device's limits for regions.
struct RegionLimits {
  // Products of more rows take their left operand from memory: blocks of columns would each
  // recompute it. On a GPU operands in memory are also fetched ahead of the product, on the host
  // they are packed from there.
  std::int64_t rows_of_computed_operands = INT64_MAX;
  // Products of more rows take their weights from memory: blocks of rows would each compute them.
  std::int64_t rows_of_computed_weights = 16;
  // Products that are added to what lies in memory are computed row by row: of larger weights, in
  // bytes, they are computed apart, and copied.
  std::int64_t weights_in_place = 256 << 10;
  // Accumulations may have a prologue (opaque_region.h). On a GPU each program goes through all of
  // the source, so that its operands would be read and computed many times.
  bool accumulations_compute_sources = true;
};

class RegionBuilder {
 public:
  explicit RegionBuilder(const TaskList& list, const RegionLimits& limits = {});
  // The region of these tasks (ascending), or nothing where they are not one.
  std::optional<Region> build(std::span<const TaskId> tasks);

 private:
  const TaskList& list_;
  RegionLimits limits_;
  std::vector<std::int32_t> slots_;  // of each task: its place in the set being looked at, or -1
  std::vector<std::vector<TaskId>> consumers_;  // tasks that read a task's value as its value

  friend class RegionSolver;
};

}  // namespace tilewright::graph
