// A package of compiled functions, loaded from a file: it runs without capturing, lowering or
// compiling anything.
//
//   auto fast = compile([](const Tensor& t) { return softmax(t, -1); });
//   save_package("model.twp", fast, x);                     // once
//
//   const Package package = load_package("model.twp");      // in another process
//   std::vector<Tensor> y = package(x);
//
// Its code is for the instruction set of the processor that made it (TILEWRIGHT_CPU names another).
// merge_packages() makes one package of several, for processors of different kinds:
//
//   merge_packages({"avx512.twp", "avx2.twp"}, "model.twp");
//
// A package holds a function for each signature (dtypes and shapes of its arguments) that was
// compiled when it was saved, with the machine code and the weights that it reads. Results have the
// bits that the compiled function gives, on any number of threads; each is memory of its own, also
// where the function returns an argument or a view of one. A function that draws random numbers
// takes one more argument for each generator, how many it has drawn (random.offset), and adds to it
// in place; the seed is the generator's when the package was saved. A package is code: load it only
// where you would run a program from the same source. See docs/guide/deployment.md.
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"
#include "runtime/files/file_path.h"
#include "runtime/package/load_options.h"
#include "runtime/package/merge.h"
#include "runtime/package/package_tensor.h"

namespace tilewright {

class LoadedPackage;  // runtime/package/loaded_package.h

// The inputs and outputs of one function of a package.
struct PackageSignature {
  std::vector<PackageTensor> inputs, outputs;
};

// Copies share all memory. Thread safe.
class Package {
 public:
  // Those of its functions, one at least.
  const std::vector<PackageSignature>& signatures() const { return *signatures_; }
  // The results for arguments of one of these signatures, in the memory of the host. An argument
  // that the function writes in place is changed. Raises `Error` "[run_package] ..." for others.
  std::vector<Tensor> run(std::span<const Tensor> arguments) const;
  template <typename... Tensors>
  requires(std::convertible_to<const Tensors&, Tensor>&&...) std::vector<Tensor>
  operator()(const Tensors&... arguments) const {
    const std::vector<Tensor> all{Tensor(arguments)...};
    return run(all);
  }
  // That it has code for, the best first ("avx512", "avx2"), and the one whose code is run.
  const std::vector<std::string>& instruction_sets() const;
  const std::string& instruction_set() const;
  // The processors that it is for, its inputs and outputs, and, with `steps`, the steps of its
  // plans.
  std::string text(bool steps = false) const;

 private:
  friend Package load_package(const FilePath& file, const PackageLoadOptions& options);
  explicit Package(std::shared_ptr<const LoadedPackage> loaded);
  std::shared_ptr<const LoadedPackage> loaded_;
  std::shared_ptr<const std::vector<PackageSignature>> signatures_;
};

// Raises `Error` "[load_package] FILE: ..." for a file that is damaged, that another version has
// written, or whose code is for another processor; the message says what would help.
Package load_package(const FilePath& file, const PackageLoadOptions& options = {});

}  // namespace tilewright
