// A package in this process: its code is loaded, and its functions run on memory of the caller's.
//
// Loading maps the file, checks its plan and its code, and loads the code; weights are used where
// they lie in the file. Running takes nothing but the threads of the host and memory from the pool.
// Everything here is thread safe: any number of threads may run one package at once, on arguments
// of their own.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/package/contents.h"
#include "runtime/package/load_options.h"

namespace tilewright {

// A tensor of the caller's: row-major, in the memory of the host.
struct PackageArgument {
  DType dtype = DType::f32;
  Shape shape;
  void* data = nullptr;
};

class LoadedPackage {
 public:
  // Raises `Error` "[load_package] FILE: ...".
  explicit LoadedPackage(const std::filesystem::path& file, const PackageLoadOptions& options = {});
  LoadedPackage(PackageTargets targets, std::string name, const PackageLoadOptions& options = {});

  // For the instruction set that was chosen.
  const PackageContents& contents() const { return contents_; }
  // That the package has code for, the best first.
  const std::vector<std::string>& instruction_sets() const { return instruction_sets_; }
  const std::string& name() const { return name_; }  // of the file, in messages
  std::string signatures_text() const;               // "(f32 1x8), (f32 4x8)", of sixteen at most

  // The function that takes such arguments. Raises `Error` "[run_package] ..." that names the
  // argument and what it must be.
  const PackageFunction& function_for(std::span<const PackageArgument> arguments) const;
  // Runs a function of this package on arguments that it takes, at these addresses. Outputs are
  // written to `outputs`, an address each, or to new memory where there are no addresses; returned
  // is the memory of each. Raises `Error` "[run_package] ..." where an output shares memory with an
  // argument or another output, and the errors of checks of indices.
  std::vector<std::shared_ptr<Buffer>> run(const PackageFunction& function,
                                           std::span<void* const> arguments,
                                           std::span<void* const> outputs = {}) const;
  // Both, for outputs that the caller describes. Raises `Error` where one has another type.
  void run(std::span<const PackageArgument> arguments,
           std::span<const PackageArgument> outputs) const;

 private:
  void load(PackageTargets targets, const PackageLoadOptions& options);
  ExecutableKernel kernel_of(const PackageKernelUse& use,
                             std::span<const std::shared_ptr<const Artifact>> code) const;
  ExecutableKernel kernel_of_control_flow(const PackageControlFlow& own) const;

  std::string name_;
  std::vector<std::string> instruction_sets_;
  PackageContents contents_;                                    // as it was read: without code
  std::vector<std::shared_ptr<const Executable>> executables_;  // of the contents, with it
};

}  // namespace tilewright
