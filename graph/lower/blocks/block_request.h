// Sizes of blocks that are asked for, or that were used: what tuning varies and tests force. Apart
// from the choice itself, since whoever asks need not know regions.
#pragma once

#include <cstdint>

namespace tilewright::graph {

// How much one program handles; 0: as the lowering thinks best.
struct BlockSizes {
  std::int64_t rows = 0, columns = 0;
  std::int64_t chunk = 0, depth = 0;  // on GPUs (block_sizes.h)
  std::int64_t splits = 0;            // programs that share an inner axis (block_sizes.h)
  std::int64_t cluster = 0;           // programs that run together, on GPUs (block_sizes.h)
  // On GPUs, how many rows or columns of blocks, at the end of the table, `splits` is of
  // (stream_k.h); 0 beside splits: all; -1: so many as are best, however little that saves.
  std::int64_t tail = 0;
  bool operator==(const BlockSizes&) const = default;
};

// The sizes by name: knobs of tuning, words of a plan's file.
struct BlockSize {
  const char* name;
  std::int64_t BlockSizes::*size;
};
inline constexpr BlockSize block_sizes_by_name[] = {
    {"rows", &BlockSizes::rows},     {"columns", &BlockSizes::columns},
    {"piece", &BlockSizes::chunk},   {"depth", &BlockSizes::depth},
    {"splits", &BlockSizes::splits}, {"cluster", &BlockSizes::cluster},
    {"tail", &BlockSizes::tail}};

}  // namespace tilewright::graph
