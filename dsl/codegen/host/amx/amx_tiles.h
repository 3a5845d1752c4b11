// Blocks of a product by AMX, as emit_amx_dot.cpp and emit_turned_dot.cpp make them.
#pragma once

#include <cstdint>
#include <optional>

#include "dsl/codegen/host/matrix.h"

namespace tilewright::dsl {

constexpr std::int64_t tile_line_bytes = 64;  // of a tile, one row

// The lines of the next panel, of which each step of each left panel prefetches a few.
struct Emitter::TileFetch {
  llvm::Value* data = nullptr;                   // null: there is nothing to ask for
  std::int64_t lines = 0;                        // that belong to a step
  llvm::Value *step = nullptr, *line = nullptr;  // how far apart, in bytes
  std::int64_t iterations = 1;                   // that share a step's lines
  llvm::Value* iteration = nullptr;              // which of them
};

// The product of a left panel and a chunk of a panel, and the sums that it is added to.
struct Emitter::TileBlock {
  TiledLeft left;  // from the left panel's first tile on
  Matrix right;
  std::optional<Matrix> tail;  // the panel's last rows, if they are no whole tile
  llvm::Value* first;          // step of the panel
  std::int64_t steps;
  Matrix sums, result;            // sums: of whole tiles, between chunks
  bool begins, ends, accumulate;  // accumulate: to what result holds
};

}  // namespace tilewright::dsl
