// How host code multiplies large matrices (codegen/host/emit_packed_dot.cpp), as far as code that
// chooses block sizes, or packs a weight once for all calls, must know it.
#pragma once

#include <cstdint>

#include "dsl/target/target.h"
#include "runtime/base/dtype.h"

namespace tilewright::dsl {

// How many elements of operands that are both of this type an instruction multiplies in one lane, a
// word of 4 bytes.
inline std::int64_t elements_in_word(const Target& host, DType dtype) {
  if (!host.has_dots) return 1;
#define TILEWRIGHT_WORD_PRODUCT(type, ...) \
  if (dtype == DType::type) return 4 / size_bytes(dtype);
#include "dsl/target/word_products.def"
#undef TILEWRIGHT_WORD_PRODUCT
  return 1;
}
// Where there are many rows, which is not the faster way on all hosts.
inline std::int64_t packed_word(const Target& host, DType dtype) {
  const std::int64_t elements = elements_in_word(host, dtype);
  return elements == 2 && !host.packs_pairs() ? 1 : elements;
}

struct PackedProduct {
  static constexpr std::int64_t least_rows = 48;  // for fewer, packing costs more than it gains
  // How much of a left operand is packed as tiles at a time: it stays in the L2 while the columns
  // of the right operand pass by.
  static constexpr std::int64_t most_tiled_bytes = 1 << 20;
  static constexpr std::int64_t tiled_columns = 64;  // whose sums stay near while others follow
  std::int64_t height = 4;                           // rows of a block of accumulators
  std::int64_t vectors = 3;                          // of columns
  bool by_tiles = false;                             // of AMX, two by two
  std::int64_t left_panel_rows() const { return 2 * height; }
  // A left panel of the packed left operand lies in an L1.
  std::int64_t left_panel_bytes() const { return 24 << 10; }
  // Rows that are whole blocks of accumulators, however wide these are.
  static std::int64_t whole_blocks(const Target& host, std::int64_t in_word) {
    return host.has_tiles && in_word > 1 ? 32 : 24;
  }
  // How many vectors of words of 4 bytes are multiplied in a cycle.
  std::int64_t multiplications() const { return by_tiles ? 16 : 2; }
};

constexpr std::int64_t tile_side = 16;  // rows of a tile of AMX, and words of 4 bytes of a row

// Products of few rows by tiles, with exchanged operands (codegen/host/amx/emit_turned_dot.cpp): a
// right operand that is contiguous along k is not packed. Fewer rows wait for memory anyway.
struct TurnedProduct {
  static constexpr std::int64_t least_rows = 5, most_rows = 2 * tile_side;
};
inline bool is_turned(const Target& host, std::int64_t in_word, std::int64_t rows,
                      std::int64_t columns, std::int64_t depth) {
  return host.has_tiles && in_word > 1 && rows >= TurnedProduct::least_rows &&
         rows <= TurnedProduct::most_rows && columns >= tile_side && depth % in_word == 0 &&
         depth >= tile_side * in_word;
}

// As many accumulators as leave registers for loaded operands, `vectors` wide. `in_word`: how many
// elements are multiplied at once by one lane, as `packed_word` says.
inline PackedProduct packed_product_of(const Target& host, std::int64_t in_word,
                                       std::int64_t vectors) {
  if (host.has_tiles && in_word > 1) return {32, vectors, true};
  return {(host.vector_registers() == 32 ? 24 : 12) / vectors, vectors};
}

// For a product of this many columns, with blocks that divide them if there are such.
inline PackedProduct packed_product(const Target& host, std::int64_t in_word,
                                    std::int64_t columns) {
  if (host.has_tiles && in_word > 1) return packed_product_of(host, in_word, 2);
  const std::int64_t other = host.vector_registers() == 32 ? 4 : 2;
  bool fits_other = columns % (3 * host.lanes) != 0 && columns % (other * host.lanes) == 0;
  return packed_product_of(host, in_word, fits_other ? other : 3);
}

// A matrix [depth, columns] in the order in which it is multiplied: packed panels (of B, in the
// terms of BLIS) of `width` columns, each [depth, width], or, where an instruction multiplies
// pairs, [depth / 2, width, 2]. The last one is padded with zeros. A tile program reads the matrix
// as an array of panels, and permutes and reshapes its block to [depth, columns]; the code
// generator for the host recognises this, and multiplies the panels without copying them.
struct PackedPanels {
  std::int64_t width = 0;
  bool in_pairs = false;
  bool operator==(const PackedPanels&) const = default;

  std::int64_t count(std::int64_t columns) const { return (columns + width - 1) / width; }
  std::int64_t elements(std::int64_t depth, std::int64_t columns) const {
    return count(columns) * width * depth;
  }
};

// How the host's products of both operands in this type read their right one.
inline PackedPanels panels_of(const Target& host, DType dtype, std::int64_t depth,
                              std::int64_t columns) {
  bool in_pairs = packed_word(host, dtype) == 2 && depth % 2 == 0;
  return {packed_product(host, in_pairs ? 2 : 1, columns).vectors * host.lanes, in_pairs};
}

}  // namespace tilewright::dsl
