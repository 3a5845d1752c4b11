// The words that random kernels are made of (word_programs_test.cpp). Each says what it takes, and
// applies itself to a tile of the kernel that is being traced.
//
// Every word of docs/language.md is in the table or, with a reason, in the list of those that are
// not drawn; a test reads the page.
#pragma once

#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "dsl/language/tile.h"

namespace tilewright::dsl {

// The state from which words draw while they apply themselves.
struct WordDraw {
  std::mt19937_64& random;
  const std::vector<Tile>& pool;
  Tile cells;  // memory of the program's own, i32, for atomic operations and descriptors

  static constexpr std::int64_t cell_count = 64;
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  }
  // A tile of that type and shape: another of the pool, or the same.
  Tile like(const Tile& x);
};

enum class Takes : std::uint8_t { anything, integers, floats };
// `exactly` if the interpreter and generated code agree in every bit, `nearly` if to some units in
// the last place; an approximate value is stored, and not used further.
enum class Agrees : std::uint8_t { exactly, nearly };

struct DrawnWord {
  std::string_view names;  // as the page has them, with blanks between
  Takes takes;
  Agrees agrees;
  Tile (*apply)(WordDraw& draw, const Tile& x);
};

// A row, by an expression of the draw `d` and the tile `x`.
#define DRAWN_WORD(names, takes, agrees, expression)               \
  {                                                                \
    names, takes, agrees, [](WordDraw& d, const Tile& x) -> Tile { \
      (void)d;                                                     \
      return expression;                                           \
    }                                                              \
  }

std::span<const DrawnWord> drawn_words();      // word_table.cpp
std::span<const DrawnWord> drawn_functions();  // word_functions.cpp

struct UndrawnWord {
  std::string_view name, reason;
};
std::span<const UndrawnWord> undrawn_words();

}  // namespace tilewright::dsl
