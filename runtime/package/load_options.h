// How a package is loaded.
#pragma once

#include <string>

namespace tilewright {

struct PackageLoadOptions {
  // Weights are copied to memory. Otherwise they are pages of the file, read when a kernel touches
  // them and shared by all processes that run it: loading takes the same time however many there
  // are. A file may be removed or replaced by renaming another one meanwhile, as save_package()
  // does; it must not be written to or cut off in place, which changes results, or ends the process
  // (SIGBUS).
  bool copied = false;
  // The hashes of weights are compared too, which reads all of them. Those of the plan and of the
  // code always are.
  bool verified = false;
  // The instruction set whose code is run, of a package that has code for several ("avx2"); that of
  // a worse one where the package has none for it. Empty: the one that TILEWRIGHT_CPU names, or
  // else the best that this processor runs. Code for one set gives the same bits on every processor
  // that runs it.
  std::string instruction_set;
};

}  // namespace tilewright
