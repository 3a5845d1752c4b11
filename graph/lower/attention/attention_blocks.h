// How many rows and keys a program of attention has at a time, and how many programs share the keys
// of one.
#pragma once

#include "graph/lower/attention/attention_shape.h"

namespace tilewright::graph {

// A tensor core's least number of rows, and few enough to be decoding.
constexpr std::int64_t few_rows = 16;

// True if the products go to warpgroups, which multiply while they compute, block after block.
bool has_warpgroups(const dsl::Target& target, const AttentionShape& shape, DType dtype);

// Requested sizes come first.
BlockSizes used_blocks(const TaskList& list, const Task& task, const dsl::Target& target,
                       const BlockSizes& asked);
// Block sizes for programs with the number of rows as an argument (`rows_vary`), or that of keys,
// which are not a cache of a fixed size then (`keys_vary`). They are chosen for a class of numbers,
// so that all calls of a class run the same program.
BlockSizes blocks_for_any_sizes(const dsl::Target& host, const Task& task, const BlockSizes& asked,
                                bool rows_vary, bool keys_vary);

}  // namespace tilewright::graph
