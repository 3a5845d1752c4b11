// Runs a conversion on a block of threads whose registers hold numbers of elements.
#pragma once

#include <string>

#include "dsl/layout/conversion.h"

namespace tilewright::dsl::layout {

// The error in the plan, or nothing. A machine of the test's own carries it out step by step, as
// instructions would; then each target register must hold the element that `to` says.
std::string verify_conversion(const Layout& from, const Layout& to, const Conversion& plan);

}  // namespace tilewright::dsl::layout
