// The fake driver's memory: allocations, and copies as work of streams.
#include <cstdlib>
#include <cstring>

#include "tests/cuda/fake_state.h"

namespace tilewright::cuda::fake {
namespace {

std::byte* address(DevicePointer pointer) { return reinterpret_cast<std::byte*>(pointer); }

std::size_t rounded(std::size_t bytes) { return (bytes + 511) / 512 * 512; }

// Work that moves bytes of device memory. Addresses are checked when it is done as well, for by
// then they may have been freed; `copy` gives false where memory of the host was.
struct DeviceRange {
  std::byte* begin;
  std::size_t bytes;
};
Result enqueue_copy(StreamHandle handle, std::vector<DeviceRange> ranges,
                    std::function<bool()> copy) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::shared_ptr<Stream> stream = s.stream_of(handle, device);
  if (stream == nullptr) return invalid_handle;
  if (ranges[0].bytes == 0) return Result::success;
  for (const DeviceRange& range : ranges)
    if (!s.memory.contains(range.begin, range.bytes)) return Result::invalid_value;
  s.enqueue(stream, [&s, device, ranges, copy = std::move(copy)] {
    for (const DeviceRange& range : ranges)
      if (!s.memory.contains(range.begin, range.bytes))
        return s.lose(
            device, Result::illegal_address,
            concat("a copy of ", range.bytes, " bytes at ", static_cast<const void*>(range.begin),
                   " was done after the memory had been freed"));
    s.clock_ms += 1e-7 * static_cast<double>(ranges[0].bytes);
    if (!copy())
      s.lose(device, Result::illegal_address,
             "a copy was done after the pinned memory of the host had been freed");
  });
  return Result::success;
}

}  // namespace

bool State::is_pinned(const void* begin, std::size_t bytes) const {
  auto* at = static_cast<std::byte*>(const_cast<void*>(begin));
  auto after = pinned.upper_bound(at);
  if (after == pinned.begin()) return false;
  const auto& [first, size] = *std::prev(after);
  return at + bytes <= first + size;
}

bool State::lies_on(int device, const std::byte* begin, std::size_t bytes) const {
  auto after = memory.live().upper_bound(const_cast<std::byte*>(begin));
  if (after == memory.live().begin()) return false;
  const auto& [first, allocation] = *std::prev(after);
  return allocation.device == device && begin + bytes <= first + allocation.bytes;
}

Result cuPointerGetAttribute(void* value, PointerAttribute attribute, DevicePointer pointer) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  if (attribute != PointerAttribute::memory_type) return Result::not_supported;
  bool is_pinned = s.is_pinned(address(pointer), 1);
  if (!is_pinned && !s.memory.contains(address(pointer), 1)) return Result::invalid_value;
  *static_cast<MemoryType*>(value) = is_pinned ? MemoryType::host : MemoryType::device;
  return Result::success;
}

Result cuMemAlloc(DevicePointer* pointer, std::size_t bytes) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  if (bytes == 0) return Result::invalid_value;
  Device& of = s.devices[static_cast<std::size_t>(device)];
  if (rounded(bytes) > of.what.memory_bytes - of.in_use_bytes) return Result::out_of_memory;
  std::byte* begin = s.memory.allocate(bytes, device);
  if (begin == nullptr) return Result::out_of_memory;
  of.in_use_bytes += rounded(bytes);
  *pointer = reinterpret_cast<DevicePointer>(begin);
  return Result::success;
}

// Waits for the device, as the CUDA programming guide says.
Result cuMemFree(DevicePointer pointer) {
  State& s = state();
  int device;
  Result result = s.ready(&device);
  if (result == invalid_context || pointer == 0) return result;
  s.finish(device);
  if (result == Result::success) result = s.ready(&device);
  DeviceMemory::Allocation gone = s.memory.free(address(pointer));
  if (gone.bytes == 0) return Result::invalid_value;
  s.devices[static_cast<std::size_t>(gone.device)].in_use_bytes -= rounded(gone.bytes);
  return result;
}

Result cuMemGetInfo(std::size_t* free, std::size_t* total) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  const Device& of = s.devices[static_cast<std::size_t>(device)];
  *total = of.what.memory_bytes;
  *free = of.what.memory_bytes - of.in_use_bytes;
  return Result::success;
}

Result cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  if (bytes == 0) return Result::invalid_value;
  constexpr std::size_t page = 4096;
  *pointer = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  if (*pointer == nullptr) return Result::out_of_memory;
  std::memset(*pointer, 0xA5, bytes);
  s.pinned[static_cast<std::byte*>(*pointer)] = bytes;
  return Result::success;
}

Result cuMemFreeHost(void* pointer) {
  State& s = state();
  int device;
  Result result = s.ready(&device);
  if (result == invalid_context) return result;
  if (s.pinned.erase(static_cast<std::byte*>(pointer)) == 0) return Result::invalid_value;
  std::free(pointer);
  return result;
}

// Memory of the host that is not pinned is read at once, as the driver does that stages it; pinned
// memory when the copy is done.
Result cuMemcpyHtoDAsync(DevicePointer to, const void* from, std::size_t bytes,
                         StreamHandle stream) {
  State& s = state();
  std::byte* target = address(to);
  if (s.is_pinned(from, bytes))
    return enqueue_copy(stream, {{target, bytes}}, [=, &s] {
      if (!s.is_pinned(from, bytes)) return false;
      std::memcpy(target, from, bytes);
      return true;
    });
  auto* begin = static_cast<const std::byte*>(from);
  auto staged = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
  return enqueue_copy(stream, {{target, bytes}}, [=] {
    std::memcpy(target, staged->data(), bytes);
    return true;
  });
}

Result cuMemcpyDtoHAsync(void* to, DevicePointer from, std::size_t bytes, StreamHandle stream) {
  State& s = state();
  std::byte* source = address(from);
  bool was_pinned = s.is_pinned(to, bytes);
  return enqueue_copy(stream, {{source, bytes}}, [=, &s] {
    if (was_pinned && !s.is_pinned(to, bytes)) return false;
    std::memcpy(to, source, bytes);
    return true;
  });
}

Result cuMemcpyDtoDAsync(DevicePointer to, DevicePointer from, std::size_t bytes,
                         StreamHandle stream) {
  std::byte *target = address(to), *source = address(from);
  return enqueue_copy(stream, {{target, bytes}, {source, bytes}},
                      [=] { return std::memmove(target, source, bytes) != nullptr; });
}

Result cuMemcpyPeerAsync(DevicePointer to, ContextHandle to_context, DevicePointer from,
                         ContextHandle from_context, std::size_t bytes, StreamHandle stream) {
  State& s = state();
  std::optional<int> target = s.device_of(to_context), source = s.device_of(from_context);
  if (!target || !source) return invalid_context;
  if (!s.lies_on(*target, address(to), bytes) || !s.lies_on(*source, address(from), bytes))
    return Result::invalid_value;
  return cuMemcpyDtoDAsync(to, from, bytes, stream);
}

Result cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t count,
                       StreamHandle stream) {
  std::byte* target = address(to);
  return enqueue_copy(stream, {{target, count}},
                      [=] { return std::memset(target, value, count) != nullptr; });
}

}  // namespace tilewright::cuda::fake
