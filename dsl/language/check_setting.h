// TILEWRIGHT_CHECK: what is checked while kernels run that do not say so themselves. Apart from the
// launch, so that a program can tell of a wrong word although it launches no kernel by hand.
#pragma once

#include "dsl/language/kernel.h"

namespace tilewright::dsl {

// Raises `Error` for a word that is no check.
Check check_setting();

}  // namespace tilewright::dsl
