// Which rows of tiles anything depends on, where that is a number of the launch.
//
// A program for any number of rows has tiles of the most rows that a block may have, and arrays
// that end where the rows do. No store writes the rows computed behind them. So a value is needed
// up to the row at which all stores end that it goes into:
//
//   count = max(min(rows - first, 192), 1)
//   x = load_desc {count, 768}, [0, 0]: 192x768      needed: count rows
//   y = dot x, weights                               count rows
//   store_desc {count, 64}, y, [0, 0]                as the array's end says
//
// Loops over rows end there, and products multiply no others. Scratch memory behind these rows is
// undefined, and nothing reads it. Where a program has the rows of a graph along its last axis,
// since neighbours of that axis lie side by side, loops over columns end in the same way.
#pragma once

#include <optional>
#include <vector>

#include "dsl/codegen/llvm/scalar_facts.h"

namespace tilewright::dsl {

// Indexed by Value: the scalar that counts the rows of a tile (along its first axis) that are
// needed, at least one and no more than the tile has, which is known before the tile is; nothing
// where all are. `facts` are those of the function.
std::vector<std::optional<ir::Value>> live_rows(const ir::Function& function,
                                                const std::vector<ScalarFacts>& facts);
// The same of columns, along a tile's last axis.
std::vector<std::optional<ir::Value>> live_columns(const ir::Function& function,
                                                   const std::vector<ScalarFacts>& facts);

// The scalar at which the array ends along an axis, where a block of that many elements along it
// begins with the array and the scalar is one that the functions above may give. `first_offset`:
// the access's operand that is the block's first place.
std::optional<ir::Value> end_along(std::size_t axis, const ir::Inst& access, const ir::Inst& array,
                                   std::size_t first_offset, std::int64_t size,
                                   const std::vector<ScalarFacts>& facts);

}  // namespace tilewright::dsl
