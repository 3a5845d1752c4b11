// Numbers that schedulers keep, and reading them from weights.
#pragma once

#include <source_location>
#include <string_view>

#include "models/layers/gradients.h"
#include "models/weights/weights.h"

namespace tilewright::detail {

// Writes all of them, tensors of f64 without axes. Raises `Error` if there are others, or fewer,
// before anything is written.
void load_numbers(std::string_view owner, const NamedTensors& numbers, const Weights& weights,
                  std::source_location w);

}  // namespace tilewright::detail
