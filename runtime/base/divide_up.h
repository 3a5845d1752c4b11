// How many parts of a size make up a whole, the last one perhaps not full: a quotient rounded up.
#pragma once

#include <cmath>
#include <cstdint>

namespace tilewright {

// The quotient rounded up. Neither number is negative, and `part` is not 0.
constexpr std::int64_t divide_up(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}
// The same in estimates, whose sizes are whole numbers in doubles.
inline double divide_up(double whole, double part) { return std::ceil(whole / part); }

}  // namespace tilewright
