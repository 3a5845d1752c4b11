// A package as text for people: what it needs, what its functions take and give, and, with `steps`,
// every step of their plans for one instruction set.
#pragma once

#include <string>
#include <vector>

#include "runtime/package/contents.h"

namespace tilewright {

// The contents are those of one of the instruction sets that it has code for.
std::string text_of(const PackageContents& contents,
                    const std::vector<std::string>& instruction_sets, bool steps = false);

}  // namespace tilewright
