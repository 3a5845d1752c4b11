#include "runtime/cuda/launch.h"

#include <algorithm>
#include <array>

#include "runtime/base/env.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/driver/error.h"
#include "runtime/cuda/tensor_map.h"
#include "runtime/cuda/timeline.h"
#include "runtime/launch_table.h"
#include "runtime/trace.h"

namespace tilewright::cuda {
namespace {

constexpr std::int64_t largest_grid[3] = {0x7fffffff, 0xffff, 0xffff};

bool waits_after_each() {
  static const bool waits = env::sync();
  return waits;
}

}  // namespace

bool runs_one_by_one() { return waits_after_each() || is_tracing(); }

PreparedLaunch::PreparedLaunch(Context& context, const Artifact& artifact,
                               std::span<const Grid> grids)
    : context_(&context), artifact_(&artifact) {
  check(artifact.gpu != nullptr, "an artifact without code for GPUs is launched on one");
  kernel_ = context.modules().get(*artifact.gpu);
  check(artifact.table != nullptr || grids.size() == 1,
        "launches that are one start a kernel that was not made for it");
  if (artifact.table == nullptr) {
    lay_out(grids[0]);
  } else {
    grids_.assign(grids.begin(), grids.end());
    lay_out_table();
  }
}

void PreparedLaunch::lay_out_table() {
  std::int64_t programs = programs_of(grids_);
  require(programs <= largest_grid[0], "[launch] kernel ", artifact_->name, " has ", programs,
          " programs in ", grids_.size(), " launches; a GPU takes at most ", largest_grid[0]);
  grid_[0] = static_cast<unsigned>(programs);
  table_.resize(static_cast<std::size_t>(artifact_->table->bytes()));
}

// A persistent kernel has as many blocks as run at once, in whole clusters, and no more than there
// are programs.
void PreparedLaunch::lay_out(const Grid& grid) {
  const GpuCode& code = *artifact_->gpu;
  if (code.persistent) {
    std::int64_t cluster = code.cluster;
    std::int64_t programs = (grid.count() + cluster - 1) / cluster * cluster;
    grid_[0] = static_cast<unsigned>(std::min<std::int64_t>(programs, kernel_->blocks_at_once));
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::int64_t size = grid.size[axis], most = largest_grid[code.persistent ? 0 : axis];
    require(size <= most, "[launch] the grid of kernel ", artifact_->name, " has ", size,
            " programs along axis ", axis, "; a GPU takes at most ", most);
    programs_.push_back(static_cast<std::int32_t>(size));
    if (!code.persistent) grid_[axis] = static_cast<unsigned>(size);
  }
  values_.resize(artifact_->params.size());
  maps_.resize(code.tensor_maps.size());
}

void PreparedLaunch::set_arguments(const Argument* arguments) {
  if (artifact_->table != nullptr) {
    artifact_->table->fill(table_, grids_, arguments);
    pointers_ = {table_.data()};
    return;
  }
  std::copy_n(arguments, values_.size(), values_.begin());
  const GpuCode& code = *artifact_->gpu;
  for (std::size_t i = 0; i < maps_.size(); ++i)
    maps_[i] = encode(code.tensor_maps[i], arguments, artifact_->params);
  pointers_.clear();
  for (Argument& value : values_) pointers_.push_back(&value);
  for (TensorMapBytes& map : maps_) pointers_.push_back(&map);
  if (code.persistent)
    for (std::int32_t& size : programs_) pointers_.push_back(&size);
}

void PreparedLaunch::start(bool early) const {
  context_->make_current();
  std::array<LaunchAttribute, 2> attributes;
  unsigned count = 0;
  if (early && kernel_->waits_by_itself) {
    attributes[count].id = LaunchAttributeId::programmatic_serialization;
    attributes[count++].value.programmatic_serialization_allowed = 1;
  }
  if (kernel_->cluster > 1) {
    attributes[count].id = LaunchAttributeId::cluster;
    attributes[count++].value.cluster = {static_cast<unsigned>(kernel_->cluster), 1, 1};
  }
  LaunchConfig config{{grid_[0], grid_[1], grid_[2]},
                      {static_cast<unsigned>(kernel_->threads), 1, 1},
                      kernel_->shared_bytes,
                      context_->stream(),
                      attributes.data(),
                      count};
  note_launch(kernel_->name.c_str(), grid_, static_cast<unsigned>(kernel_->threads));
  bool is_timed = is_tracing();
  if (is_timed) [[unlikely]]
    context_->timeline().before(artifact_->name);
  Result result = driver().cuLaunchKernelEx(&config, kernel_->function,
                                            const_cast<void**>(pointers_.data()), nullptr);
  if (is_timed) [[unlikely]]
    context_->timeline().after();
  must(result, "cuLaunchKernelEx", artifact_->name);
  if (waits_after_each()) context_->synchronize();
}

KernelNodeParams PreparedLaunch::node_params() const {
  return {kernel_->function,
          {grid_[0], grid_[1], grid_[2]},
          {static_cast<unsigned>(kernel_->threads), 1, 1},
          kernel_->shared_bytes,
          const_cast<void**>(pointers_.data()),
          nullptr,
          nullptr,
          nullptr};
}

void launch(Context& context, const Artifact& artifact, const Grid& grid,
            const Argument* arguments) {
  launch(context, artifact, std::span(&grid, 1), arguments);
}

void launch(Context& context, const Artifact& artifact, std::span<const Grid> grids,
            const Argument* arguments) {
  if (programs_of(grids) <= 0) return;
  PreparedLaunch launch(context, artifact, grids);
  launch.set_arguments(arguments);
  launch.start();
}

}  // namespace tilewright::cuda
