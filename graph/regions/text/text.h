// The textual form of a task list and of the regions that it is fused into, a line a storage, a
// task and a table, for tests, dumps and bug reports.
//
// relu(x), the sums of its rows, and its product with a weight that lies transposed, one region:
//
//   tasks {
//     @0: f32 = input 0
//     @1: f32 = input 1
//     @2: f32[32] = result
//     @3: f32[4] = result {output}
//     @4: f32[12] = result {output}
//     #0 %3: f32[4x8] = pointwise max @0, f32(0) -> @2
//     #1 %4: f32[4x1] = reduction sum #0[4x8] {axes=1:2} -> @3 after #0
//     #2 %5: f32[4x3] = contraction #0[4x8], @1[8x3:1x8] -> @4 after #0
//     return @3, @4
//   }
//   regions {
//     region rows=4, width=3 {weight_bytes=96, saved=256}
//       #0: rows (4:8) columns (8:1)
//       #1: rows (4:1) columns () stored
//       #2: rows (4:3) columns (3:1) stored
//   }
//
// A storage @n has its dtype, elements, kind and, for a part of an input, the number of the input.
// A task says the node %n that it is for, its value's type, its kind with the tile op or the
// reduction, its operands, what else it needs in braces, where the value goes, with "and" the type
// and storage of each other result, and which tasks come before.
//
// An operand is a number, a view of a storage @n, or of a task's value #n (which stands for the
// storage of that task and names it as the producer). A view, in brackets, is shape:strides+offset;
// strides are left out where they are row-major, the offset where it is 0, and all of it where the
// view is row-major and has the shape of the task. Places are views of the written memory.
//
// A table's rows, columns and inner axis are index maps: modes size:stride, innermost first.
//
// Every field is printed unless it has its default, or follows from the rest: a storage's readers
// and writers from the tasks, a constant's bytes from start and step, digits of rows from the rows.
// print(parse_tasks(text)) == text for text that print made.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "graph/regions/fuse.h"

namespace tilewright::graph {

std::string print(const TaskList& list);
// The list and its regions, one after the other.
std::string print(const TaskList& list, std::span<const FusedRegion> regions);
std::string print(std::span<const FusedRegion> regions);

// Raises `Error` naming the line. The result is verified (reference/verify.h); a list alone has no
// regions.
FusedTasks parse_tasks(std::string_view text);

}  // namespace tilewright::graph
