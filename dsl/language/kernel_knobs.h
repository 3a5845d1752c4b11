// Knobs of a launch: which there are, by name, and what each may be. Apart from the kernel because
// tuning and launches both ask, by name and by value.
#pragma once

#include <map>
#include <string>

#include "dsl/language/kernel.h"

namespace tilewright::dsl {

// Raises `Error` naming the kernel and the first knob that is out of its range.
void require_knobs(const std::string& kernel, const Knobs& knobs);
// How the function is run as they say; what is left to the compiler stays as it is.
void follow(const Knobs& knobs, ir::Function& function);
// All that there are, by name.
std::map<std::string, std::int64_t, std::less<>> values_of(const Knobs& knobs);
// Those of `first`, and of `second` where these are 0.
Knobs joined(const Knobs& first, const Knobs& second);

}  // namespace tilewright::dsl
