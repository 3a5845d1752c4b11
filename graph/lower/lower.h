// From a region to a tile program and its launch.
//
// Sizes and strides become constants of the program and pointers its only parameters, so that
// equal regions give equal programs, whatever memory they work on. Outputs that are written in
// place have the same parameter as the input they replace; otherwise memory of different parameters
// does not overlap.
#pragma once

#include <string>
#include <vector>

#include "dsl/ir/function.h"
#include "dsl/target.h"
#include "graph/fuse/fuse.h"
#include "graph/lower/block_request.h"
#include "runtime/artifact.h"

namespace tilewright::graph {

struct LoweredRegion {
  ir::Function function;
  Grid grid;
  std::vector<StorageId> arguments;  // of each parameter
  std::string kind;                  // "rows", "product", "attention"
  BlockSizes blocks;                 // that were used
};

LoweredRegion lower(const Graph& graph, const TaskList& list, const Region& region,
                    const dsl::Target& target, const BlockSizes& blocks = {});
// Block sizes worth timing against the default, a short list.
std::vector<BlockSizes> alternatives(const TaskList& list, const Region& region,
                                     const dsl::Target& target, const BlockSizes& chosen);
// Bytes that one launch reads and writes in memory, each element of an access counted once.
std::int64_t bytes_moved(const TaskList& list, const Region& region);

LoweredRegion lower_rows(const TaskList& list, const Region& region, const dsl::Target& target,
                         const BlockSizes& blocks);
LoweredRegion lower_attention(const TaskList& list, const Region& region, const Node& node,
                              const dsl::Target& target, const BlockSizes& blocks);

}  // namespace tilewright::graph
