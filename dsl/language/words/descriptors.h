// Uses of descriptors beside loads and stores of blocks (tile.h): rows of an array that an index
// chooses, and atomic operations. Made of operations on pointers, which the descriptor's base,
// sizes and strides give; elements outside the array are masked off, as in a block.
#pragma once

#include "dsl/language/tile.h"

namespace tilewright::dsl {

// result[i, j] = array[rows[i], column + j], of an array of two axes, for the given number of
// columns; zero outside. `rows` is a tile of integers with one axis, `column` an integer scalar.
Tile gather(const Desc& desc, const Operand& rows, const Operand& column, std::int64_t columns);
// array[rows[i], column + j] = value[i, j]. If a row is named twice, either one is written.
void scatter(const Desc& desc, const Operand& value, const Operand& rows, const Operand& column);

// As `atomic` and the like of pointers, of the block at these offsets that has the value's shape.
// The value has the type of the array's elements.
Tile atomic(ir::AtomicKind kind, const Desc& desc, const std::vector<Operand>& offsets,
            const Operand& value, Ordering ordering = {});
Tile atomic_add(const Desc& desc, const std::vector<Operand>& offsets, const Operand& value,
                Ordering ordering = {});
Tile atomic_max(const Desc& desc, const std::vector<Operand>& offsets, const Operand& value,
                Ordering ordering = {});
Tile atomic_min(const Desc& desc, const std::vector<Operand>& offsets, const Operand& value,
                Ordering ordering = {});
Tile atomic_and(const Desc& desc, const std::vector<Operand>& offsets, const Operand& value,
                Ordering ordering = {});
Tile atomic_or(const Desc& desc, const std::vector<Operand>& offsets, const Operand& value,
               Ordering ordering = {});
Tile atomic_xor(const Desc& desc, const std::vector<Operand>& offsets, const Operand& value,
                Ordering ordering = {});

}  // namespace tilewright::dsl
