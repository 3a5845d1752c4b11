// One package of several, for a model that runs on processors of different kinds.
#pragma once

#include <vector>

#include "runtime/files/file_path.h"

namespace tilewright {

// Writes a package that has the code of all of these, for a different instruction set each, of
// functions of one model that take and give the same tensors. Where it is loaded, the code runs
// that suits the processor best. Weights that are equal are there once; those that were packed for
// an instruction set are its own. All hashes are compared. Raises `Error` "[merge_packages] ..."
// that names the two packages that do not fit together, and those of load_package() for a damaged
// file. `output` may be one of the files, and appears whole or not at all.
void merge_packages(const std::vector<FilePath>& files, const FilePath& output);

}  // namespace tilewright
