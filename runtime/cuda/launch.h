// Starting kernels: one launch, prepared once and started many times.
//
// The arguments of cuLaunchKernelEx (a configuration, and an array of pointers to the arguments'
// values) are laid out when a launch is prepared, and do not move; starting it again costs only the
// driver's call. Tensor maps are made when the addresses they hold become known, not at each start.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/cuda/module.h"

namespace tilewright::cuda {

class Context;

// Thread-compatible: one thread at a time. The artifact must outlive it.
class PreparedLaunch {
 public:
  // Loads the kernel. One grid, or several where the artifact takes a table of launches. Raises
  // `Error` where they are larger than the GPU takes.
  PreparedLaunch(Context& context, const Artifact& artifact, std::span<const Grid> grids);
  PreparedLaunch(Context& context, const Artifact& artifact, const Grid& grid)
      : PreparedLaunch(context, artifact, {&grid, 1}) {}
  PreparedLaunch(PreparedLaunch&&) noexcept = default;
  PreparedLaunch& operator=(PreparedLaunch&&) noexcept = default;

  // The arguments of the starts that follow; one entry a parameter, those of each grid in turn.
  void set_arguments(const Argument* arguments);
  // Puts the kernel into the thread's stream. `early`: it may begin while the one before it ends,
  // for whose results it waits itself.
  void start(bool early = true) const;

  // For nodes of a graph.
  KernelNodeParams node_params() const;
  const LoadedKernel& kernel() const { return *kernel_; }

 private:
  void lay_out(const Grid& grid);
  void lay_out_table();
  Context* context_;
  const Artifact* artifact_;
  std::shared_ptr<const LoadedKernel> kernel_;
  unsigned grid_[3] = {1, 1, 1};
  std::vector<Argument> values_;        // the program's arguments
  std::vector<TensorMapBytes> maps_;    // then these,
  std::vector<std::int32_t> programs_;  // then these
  std::vector<void*> pointers_;         // to each of them
  std::vector<Grid> grids_;             // of launches in a table,
  std::vector<std::byte> table_;        // which is then the only argument
};

// True if graphs are started launch by launch: for TILEWRIGHT_SYNC, which waits after each, or for
// a trace, which times each.
bool runs_one_by_one();

// Prepares and starts one launch. Thread safe.
void launch(Context& context, const Artifact& artifact, const Grid& grid,
            const Argument* arguments);
// Several launches as one, of an artifact that takes a table of them.
void launch(Context& context, const Artifact& artifact, std::span<const Grid> grids,
            const Argument* arguments);

}  // namespace tilewright::cuda
