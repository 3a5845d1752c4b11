// Decides whether two results are the same but for rounding: a candidate's results are compared
// with the default's before it may win.
#pragma once

#include <span>
#include <string>

#include "runtime/base/dtype.h"

namespace tilewright::autotune {

// How much elements may differ, relative to the largest finite expected one: another order of
// additions does not explain more. 0 for types other than floats.
double rounding_of(DType dtype);

// The first element that differs by more, with both values; empty: none. NaN equals NaN.
std::string difference(DType dtype, std::span<const std::byte> expected,
                       std::span<const std::byte> actual, double tolerance);

}  // namespace tilewright::autotune
