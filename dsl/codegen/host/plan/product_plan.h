// Where the operands of products lie, and by which loops a host multiplies them, derived from a
// scheduled program. The pass pack_products writes the choice down, and the emitter, which finds
// operands by the same rules, obeys it.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "dsl/codegen/host/plan/definitions.h"
#include "dsl/codegen/llvm/scalar_facts.h"
#include "dsl/target/target.h"

namespace tilewright::dsl {

constexpr std::int64_t least_word_lanes = 4;  // of an instruction that multiplies words

// Columns that are multiplied at once where rows of so many elements in a word are interleaved: a
// register of each row.
constexpr std::int64_t interleaved_columns(int in_word) { return 16 * in_word; }

// A matrix that exists as a whole, in scratch memory or in an array, before a product reads it.
struct MatrixPlace {
  ir::Value tile = 0;                // in scratch memory
  const ir::Inst* load = nullptr;    // else: the load_desc whose block it is
  std::array<int, 2> axes = {0, 1};  // of the tile or the array, that rows and columns go along
  std::int64_t rows = 0, columns = 0;
  std::optional<std::int64_t> row_stride, column_stride;  // in elements, where they are known

  bool rows_contiguous() const { return column_stride == 1; }  // along columns
  bool columns_contiguous() const { return row_stride == 1; }  // along rows
  MatrixPlace transposed() const {
    return {tile, load, {axes[1], axes[0]}, columns, rows, column_stride, row_stride};
  }
};

// A right operand that lies in panels (target/packed_product.h).
struct PanelPlace {
  PanelBlock block;
  std::int64_t width, rows;  // of a panel: columns, and words or elements down it
  int in_word;
};

// A store_desc of panels of pairs, [panels, depth / 2, width, 2]: of a block of memory, whose axes
// are permuted so. Whole vectors of two rows are put together for it.
struct PanelStore {
  const ir::Inst* load;
  std::array<std::int64_t, 4> from, to;  // strides along the axes of the stored block
};

class ProductPlans {
 public:
  ProductPlans(const Definitions& definitions, const std::vector<ScalarFacts>& facts,
               const std::vector<std::optional<ir::Value>>& live_rows, const Target& target)
      : defs_(definitions), facts_(facts), live_rows_(live_rows), target_(target) {}

  // Nothing if the value is nowhere as a whole, or in a block that may reach beyond its array.
  std::optional<MatrixPlace> place(ir::Value value) const;
  // Likewise of a matrix that is the right operand of a dot with sums of this type.
  std::optional<PanelPlace> panels(ir::Value matrix, DType sum) const;
  // The block in memory that is the right operand of a dot of few rows when it is converted to f32,
  // which it is as it is read; nothing for other operands.
  std::optional<MatrixPlace> converted_right(const ir::Inst& dot) const;
  // Nothing if the store is of something else.
  std::optional<PanelStore> panel_store(const ir::Inst& store) const;
  // For a load_desc or store_desc: the whole block, or the rows of it that are needed, wherever it
  // begins.
  bool is_inside(const ir::Inst& access) const;
  // How many rows of its left operand a dot needs (llvm/live_rows.h); none: all.
  std::optional<ir::Value> live_rows(const ir::Inst& dot) const;
  // True if the loops of a dot that does not need all rows can end with those.
  bool ends_with_live_rows(const ir::Inst& dot) const;
  // True if a left operand is copied because not all rows are needed: the needed ones do not lie
  // one after the other then, or loops go through all rows.
  bool copies_left(const ir::Inst& dot) const;
  // How many elements of each operand an instruction multiplies in a lane at once.
  int elements_in_word(DType a, DType b, DType sum) const;
  // The same where the operands are packed first, in chunks of the depth.
  int packed_word(DType a, DType b, DType sum, std::int64_t depth) const;
  ir::Product product(const ir::Inst& dot) const;
  // As `elements_in_word` where both operands are packed as tiles; else 1.
  int tiled_word(const ir::Inst& dot) const;
  bool is_tiled(const ir::Inst& dot) const { return tiled_word(dot) != 1; }
  // True if a product along k multiplies by instructions for words.
  bool multiplies_words_along_k(const ir::Inst& dot) const;

 private:
  bool is_in_scratch(ir::Value value) const;
  std::optional<std::int64_t> stride(const ir::Inst& load, int axis) const;
  // As `place`, or where it will be copied to.
  MatrixPlace operand(ir::Value value) const;
  MatrixPlace left_operand(const ir::Inst& dot) const;
  MatrixPlace copy_of(ir::Value value) const;

  const Definitions& defs_;
  const std::vector<ScalarFacts>& facts_;
  const std::vector<std::optional<ir::Value>>& live_rows_;
  const Target& target_;
};

}  // namespace tilewright::dsl
