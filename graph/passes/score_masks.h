// What masks of attention mean by their numbers.
#pragma once

namespace tilewright::graph {

// What is as low is as good as minus infinity where any score is higher: its weight is exactly 0.
inline constexpr double lowest_score = -1e30;

}  // namespace tilewright::graph
