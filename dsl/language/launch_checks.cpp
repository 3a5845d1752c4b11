#include "dsl/language/launch_checks.h"

#include "runtime/base/error.h"
#include "runtime/device_memory.h"

namespace tilewright::dsl {
namespace {

struct Extent {
  std::uintptr_t begin, end;
  bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
};

// Where the size of the memory is not known, the extent is its first element.
Extent extent_of(const LaunchArgument& argument) {
  auto begin = reinterpret_cast<std::uintptr_t>(argument.value().pointer);
  std::int64_t bytes = argument.knows_size() ? argument.size_bytes() : size_bytes(argument.dtype());
  return {begin, begin + static_cast<std::uintptr_t>(bytes)};
}

std::string described(const ArgumentMemory& memory) {
  const LaunchArgument& argument = *memory.argument;
  std::string size = argument.knows_size() ? concat(argument.size_bytes(), " bytes")
                                           : std::string("memory of unknown size");
  return concat(*memory.name, " (", size, " at ", argument.value().pointer, ")");
}

[[noreturn, gnu::cold]] void raise_overlap(const std::string& kernel, const ArgumentMemory& a,
                                           const ArgumentMemory& b) {
  const ArgumentMemory& written = a.use.is_written ? a : b;
  raise_error(concat("[", kernel, "] the arguments for ", described(a), " and ", described(b),
                     " overlap, and the kernel writes ", *written.name,
                     "; give memory of its own, or have the kernel take one Pointer for both"));
}

std::string place_name(const DeviceMemory* place) {
  return place == nullptr ? "the host" : place->name();
}

[[noreturn, gnu::cold]] void raise_elsewhere(const std::string& kernel,
                                             const ArgumentMemory& memory, const Device& device) {
  raise_error(concat("[", kernel, "] the tensor for ", *memory.name, " lies on ",
                     place_name(memory.argument->place()), ", the kernel runs on ", device.text(),
                     "; move the tensor there with to()"));
}
[[noreturn, gnu::cold]] void raise_unreachable(const std::string& kernel,
                                               const ArgumentMemory& memory, const Device& device) {
  raise_error(concat("[", kernel, "] the memory for ", *memory.name,
                     " lies on the host, the kernel runs on ", device.text(),
                     "; give a tensor that lies there, or memory that the driver knows"));
}

// `own`: the memory of the device.
void require_one(const std::string& kernel, const ArgumentMemory& memory, const Device& device,
                 const DeviceMemory* own) {
  const LaunchArgument& argument = *memory.argument;
  if ((argument.lies_elsewhere(nullptr) || own != nullptr) && argument.lies_elsewhere(own))
      [[unlikely]]
    raise_elsewhere(kernel, memory, device);
  bool is_empty = argument.knows_size() && argument.size_bytes() == 0;
  require(argument.value().pointer != nullptr || is_empty, "[", kernel, "] the pointer for ",
          *memory.name, " is null, and the kernel ", memory.use.is_written ? "writes" : "reads",
          " through it; give memory");
  if (own != nullptr && !argument.knows_place() && !is_empty &&
      !own->reaches(argument.value().pointer)) [[unlikely]]
    raise_unreachable(kernel, memory, device);
  if (!memory.use.is_written) return;
  require(!argument.is_read_only(), "[", kernel, "] the argument for ", *memory.name,
          " is const, and the kernel writes to it; give memory that is not");
  argument.will_be_written();
}

}  // namespace

std::int64_t require_grid(const std::string& kernel, const Grid& grid) {
  const auto& [x, y, z] = grid.size;
  require(x >= 0 && y >= 0 && z >= 0, "[", kernel, "] the grid is ", x, " x ", y, " x ", z,
          "; sizes are 0, which runs nothing, or more");
  if (x == 0 || y == 0 || z == 0) return 0;
  std::int64_t count = 0;
  bool is_too_large =
      __builtin_mul_overflow(x, y, &count) || __builtin_mul_overflow(count, z, &count);
  require(!is_too_large, "[", kernel, "] the grid is ", x, " x ", y, " x ", z,
          "; it may have 2^63 - 1 programs at the most");
  return count;
}

void require_memory(const std::string& kernel, std::span<const ArgumentMemory> memories,
                    const Device& device) {
  const DeviceMemory* own = device.memory();
  for (std::size_t i = 0; i < memories.size(); ++i) {
    require_one(kernel, memories[i], device, own);
    Extent extent = extent_of(*memories[i].argument);
    for (std::size_t j = 0; j < i; ++j)
      if (memories[i].use.is_written || memories[j].use.is_written)
        if (extent.overlaps(extent_of(*memories[j].argument))) [[unlikely]]
          raise_overlap(kernel, memories[j], memories[i]);
  }
}

}  // namespace tilewright::dsl
