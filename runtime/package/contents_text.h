// A package as text for people: what it needs, what its functions take and give, and, with `steps`,
// every step of their plans.
#pragma once

#include <string>

#include "runtime/package/contents.h"

namespace tilewright {

std::string text_of(const PackageContents& contents, bool steps = false);

}  // namespace tilewright
