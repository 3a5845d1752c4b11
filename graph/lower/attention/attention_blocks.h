// How many rows and keys a program of attention has at a time, and how many programs share the keys
// of one.
#pragma once

#include "graph/lower/attention/attention_shape.h"

namespace tilewright::graph {

// A tensor core's least number of rows, and few enough to be decoding.
constexpr std::int64_t few_rows = 16;

// True if the products go to warpgroups, which multiply while they compute, block after block.
bool has_warpgroups(const dsl::Target& target, const Task& task, const AttentionShape& shape);

// Requested sizes come first.
BlockSizes used_blocks(const TaskList& list, const Task& task, const dsl::Target& target,
                       const BlockSizes& asked);
// Block sizes for programs with the number of rows as an argument (`rows_vary`), or that of keys,
// which are not a cache of a fixed size then (`keys_vary`). They are chosen for a class of numbers,
// so that all calls of a class run the same program.
BlockSizes blocks_for_any_sizes(const dsl::Target& host, const Task& task, const BlockSizes& asked,
                                bool rows_vary, bool keys_vary);

// True if the program takes the number of rows, or of keys, as an argument.
bool takes_rows(const Task& task, const Region& region, const dsl::Target& target);
bool takes_keys(const Task& task, const Region& region, const dsl::Target& target);
// Those that the region's program has, one way or the other.
BlockSizes blocks_of_attention(const TaskList& list, const Region& region,
                               const dsl::Target& target, const BlockSizes& asked);
// Axis 0: blocks of rows, and those who share the keys of one; axis 1: heads; axis 2: batch.
Grid grid_of_attention(const AttentionShape& shape, const BlockSizes& block);

}  // namespace tilewright::graph
