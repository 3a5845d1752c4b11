// The rules that the contents of a package keep, so that running them touches no memory but the
// inputs, the outputs, the arena and the package's own.
//
// Numbers refer to things that are there; an argument of a step lies inside what it is in; a step
// reads no part of the arena and of the outputs that no step before it has written. The accesses of
// a kernel inside its arguments are its compiler's promise and cannot be seen here.
#pragma once

#include "runtime/package/contents.h"

namespace tilewright {

// Raises `Error` that names the function, the step and the rule.
void verify(const PackageContents& contents);
void verify(const PackageTargets& targets);

// True if the functions take and give the same tensors, in the same order.
bool have_same_signatures(const PackageContents& a, const PackageContents& b);

}  // namespace tilewright
