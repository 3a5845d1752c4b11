// One run of a function of a package: which memory each of its outputs is, and what is copied after
// the steps. Apart from loaded_package.h, since it lives for one call.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/package/contents.h"

namespace tilewright {

// The memory of a blob, which begins at a multiple of 64 bytes.
std::shared_ptr<Buffer> buffer_of(const PackageBlob& blob);

class PackageRun {
 public:
  // All must outlive it. `outputs` are addresses, or empty.
  PackageRun(const PackageContents& contents, const PackageFunction& function,
             const Executable& executable, std::span<void* const> arguments,
             std::span<void* const> outputs);
  // The memory of each output.
  std::vector<std::shared_ptr<Buffer>> run();

 private:
  void require_memory_apart() const;
  void check_indices() const;
  void bind_inputs();
  void make_buffers();
  void check_extrema() const;
  std::shared_ptr<Buffer> output(std::size_t number) const;

  const PackageContents& contents_;
  const PackageFunction& function_;
  const Executable& run_;
  std::span<void*const> arguments_, outputs_;
  std::vector<void*> inputs_;                     // of the executable
  std::vector<std::shared_ptr<Buffer>> buffers_;  // its outputs
  std::vector<std::size_t> first_use_;            // of each buffer: the output that it is
};

}  // namespace tilewright
