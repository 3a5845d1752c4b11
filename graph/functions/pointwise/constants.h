// Numbers that formulas of elementwise functions name.
#pragma once

#include <limits>
#include <numbers>

namespace tilewright::graph {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double pi = std::numbers::pi;

}  // namespace tilewright::graph
