// A compiled function as C: a source file, a header and a static library of its kernels and
// weights, which a program in C, or in any language that calls C, is built with. Nothing of
// Tilewright is needed then, and nothing is loaded.
//
//   auto fast = compile([](const Tensor& t) { return softmax(t, -1); });
//   save_package("model.twp", fast, x);
//   write_c_library("model.twp", "model.c");      // and model.h, libmodel.a beside it
//
// `cc -O2 -c model.c && cc app.c model.o libmodel.a -lm` then builds the program.
//
// The header declares a function for each signature of the package: it takes the address of each
// input, of each output and of a workspace, and returns null or the text of what is wrong. It runs
// on the calling thread, allocates nothing, has no state, and gives the bits that the package
// gives. Any number of threads may call it at once, each with outputs and a workspace of its own.
#pragma once

#include <string>

#include "runtime/files/file_path.h"
#include "runtime/package/load_options.h"

namespace tilewright {

// `source` ends with ".c"; the names of its header, its library and its functions begin with what
// stands before that, which must be an identifier of C. The options choose one of the instruction
// sets that the package has code for, which may be a foreign one (neon). Raises `Error`
// "[write_c_library] ..." for names that cannot be, and for packages that it does not write: those
// with loops and branches of the graph, with printing kernels, with code for AMX, or with more than
// 1 GiB of weights.
void write_c_library(const FilePath& package, const FilePath& source,
                     const PackageLoadOptions& options = {});

}  // namespace tilewright
