// How a package is loaded.
#pragma once

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
};

}  // namespace tilewright
