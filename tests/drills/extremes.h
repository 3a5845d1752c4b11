// Extreme numbers, and what every run of a program with such is asked.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tests/drills/cases.h"

namespace tilewright::drills {

constexpr std::array<std::int64_t, 14> extreme_integers = {
    0,
    -1,
    1,
    7,
    64,
    65'536,
    INT32_MAX,
    std::int64_t{1} << 31,
    std::int64_t{1} << 32,
    3'037'000'500,  // its square leaves 63 bits
    std::int64_t{1} << 62,
    INT64_MAX,
    INT64_MIN,
    INT64_MIN + 1};
inline std::int64_t extreme_integer(Chance& chance) {
  return extreme_integers[chance.below(extreme_integers.size())];
}

// One of so many extreme cases belongs to the ordinary tests.
constexpr std::uint64_t share_of_extremes = 100;

// Runs the program at once and compiled, with so little address space that a mistaken size finds no
// memory. Expects a result or a sentence that says what is wrong, within 5 s of the processor: no
// signal, and no lack of memory that does not say for what.
void expect_bounded(const std::string& name, const std::string& bytes, const std::string& inputs);

}  // namespace tilewright::drills
