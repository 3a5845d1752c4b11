// Launching a kernel: the part of dsl/kernel.h that needs the code generator.
#include "dsl/compile.h"
#include "dsl/device.h"
#include "dsl/launch.h"
#include "dsl/trace/kernel_state.h"

namespace tilewright::dsl {

std::shared_ptr<const Artifact> Kernel::artifact_for(
    std::span<const LaunchArgument> arguments) const {
  Signature signature = signature_of(arguments);
  // Held while compiling, so that threads that meet a new signature together compile it once.
  std::lock_guard lock(state_->mutex);
  auto found = state_->compiled.find(signature);
  if (found == state_->compiled.end())
    found = state_->compiled.emplace(signature, compile(trace(signature), default_device())).first;
  return found->second;
}

BoundLaunch Kernel::bind(std::span<const LaunchArgument> arguments) const {
  BoundLaunch launch{artifact_for(arguments), {}};
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (state_->kinds[i] != ParameterKind::constexpr_number)
      launch.arguments.push_back(arguments[i].value());
  return launch;
}

void Kernel::launch_with(const Grid& grid, std::span<const LaunchArgument> arguments) const {
  BoundLaunch launch = bind(arguments);
  launch_on(default_device(), *launch.artifact, grid, launch.arguments.data());
}

}  // namespace tilewright::dsl
