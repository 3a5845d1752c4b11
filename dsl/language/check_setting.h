// TILEWRIGHT_CHECK: the checks of kernels without a setting of their own. Apart from the launch, so
// that a program can tell of a wrong word although it launches no kernel by hand.
#pragma once

#include "dsl/language/kernel.h"

namespace tilewright::dsl {

// Raises `Error` for a word that is not a check.
Check check_setting();

}  // namespace tilewright::dsl
