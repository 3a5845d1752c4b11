#include "dsl/launch/staged.h"

#include <vector>

#include "runtime/buffer.h"

namespace tilewright {

void launch_staged(const Device& device, const Artifact& artifact, const Grid& grid,
                   std::span<const Argument> arguments, std::span<const ir::Memory> memories) {
  DeviceMemory* memory = device.memory();
  std::vector<Argument> staged(arguments.begin(), arguments.end());
  std::vector<std::shared_ptr<Buffer>> copies(arguments.size());
  if (memory != nullptr)
    for (std::size_t i = 0; i < memories.size(); ++i) {
      if (memories[i].data == nullptr) continue;
      copies[i] = Buffer::allocate(memories[i].size_bytes, memory);
      memory->copy_from_host(copies[i]->data(), memories[i].data, memories[i].size_bytes);
      staged[i].pointer = copies[i]->data();
    }
  launch_on(device, artifact, grid, staged.data());
  device.synchronize();
  for (std::size_t i = 0; i < copies.size(); ++i)
    if (copies[i])
      memory->copy_to_host(const_cast<void*>(memories[i].data), copies[i]->data(),
                           memories[i].size_bytes);
}

}  // namespace tilewright
