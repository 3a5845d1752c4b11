// Sizes of windows over the last axes of a tensor, in an exported program: one value per axis. How
// windows lie is in graph/functions/convolving/windows.h.
#pragma once

#include <string_view>

#include "models/exported/aten/call.h"

namespace tilewright::exported {

// Arguments with a value an axis, or one for all; raise `Error` for others, and for values that are
// not at least 1, or at least 0.
Shape positive(const Call& call, std::string_view name, int rank, const Shape& missing);
Shape not_negative(const Call& call, std::string_view name, int rank);

}  // namespace tilewright::exported
