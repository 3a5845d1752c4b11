// Blocks of attention for any number of rows: of programs for which it is an argument, and the
// number of keys too where these are no cache of a fixed size. They are chosen for a class of
// numbers, so that all calls of a class run the same program.
#pragma once

#include "graph/lower/attention/attention_shape.h"

namespace tilewright::graph {

// The shape with as many rows as the blocks of its class are for.
AttentionShape rows_of_class(AttentionShape shape);
// What becomes of the blocks that the host has for rows_of_class(). Those that are asked for come
// first.
BlockSizes blocks_for_any_rows(const dsl::Target& host, const Task& task, const BlockSizes& asked,
                               bool keys_vary, BlockSizes blocks);

}  // namespace tilewright::graph
