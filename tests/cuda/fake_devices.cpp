// The fake driver's devices, contexts and errors.
#include <algorithm>
#include <cctype>
#include <cstring>

#include "dsl/target/target.h"
#include "tests/cuda/fake_state.h"

namespace tilewright::cuda::fake {
namespace {

struct ErrorName {
  int code;
  const char* name;
};
constexpr ErrorName error_names[] = {
#define TILEWRIGHT_CUDA_ERROR(name, code) {code, #name},
#include "tests/cuda/error_names.def"
#undef TILEWRIGHT_CUDA_ERROR
};

// The current context of a thread, of the fake with that serial.
struct Current {
  std::uint64_t serial = 0;
  ContextHandle context = nullptr;
};
thread_local Current current;

Device* device_at(State& s, DeviceHandle device) {
  if (device < 0 || static_cast<std::size_t>(device) >= s.devices.size()) return nullptr;
  return &s.devices[static_cast<std::size_t>(device)];
}

int shared_bytes_of_block(const FakeDevice& device) {
  if (device.major == 8) return device.minor == 0 ? 166912 : 101376;
  return device.major == 9 || device.major == 10 ? 232448 : 101376;
}

}  // namespace

ContextHandle State::context_of(int device) const {
  return reinterpret_cast<ContextHandle>(serial << 12 | static_cast<std::uintptr_t>(device) << 4 |
                                         1);
}

std::optional<int> State::device_of(ContextHandle context) const {
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (context == context_of(static_cast<int>(i)) && devices[i].retained > 0)
      return static_cast<int>(i);
  return std::nullopt;
}

Result State::ready(int* device) const {
  std::optional<int> found =
      current.serial == serial ? device_of(current.context) : std::optional<int>();
  if (!found) return invalid_context;
  *device = *found;
  return devices[static_cast<std::size_t>(*found)].lost;
}

Result cuInit(unsigned flags) { return flags == 0 ? Result::success : Result::invalid_value; }

Result cuDriverGetVersion(int* version) {
  *version = state().version;
  return Result::success;
}

Result cuGetErrorName(Result result, const char** name) {
  *name = nullptr;
  for (const ErrorName& error : error_names)
    if (error.code == static_cast<int>(result)) *name = error.name;
  return *name == nullptr ? Result::invalid_value : Result::success;
}

// "invalid value" for CUDA_ERROR_INVALID_VALUE.
Result cuGetErrorString(Result result, const char** text) {
  static std::map<int, std::string> texts;
  const char* name = nullptr;
  *text = nullptr;
  if (cuGetErrorName(result, &name) != Result::success) return Result::invalid_value;
  std::string& words = texts[static_cast<int>(result)];
  if (words.empty()) {
    words = name;
    words = words.substr(words.find("ERROR_") == 5 ? 11 : 5);
    for (char& c : words)
      c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  *text = words.c_str();
  return Result::success;
}

Result cuDeviceGetCount(int* count) {
  *count = static_cast<int>(state().devices.size());
  return Result::success;
}

Result cuDeviceGet(DeviceHandle* device, int ordinal) {
  if (device_at(state(), ordinal) == nullptr) return Result::invalid_device;
  *device = ordinal;
  return Result::success;
}

Result cuDeviceGetName(char* name, int bytes, DeviceHandle device) {
  Device* found = device_at(state(), device);
  if (found == nullptr) return Result::invalid_device;
  if (bytes <= 0) return Result::invalid_value;
  std::size_t length = std::min(found->what.name.size(), static_cast<std::size_t>(bytes) - 1);
  std::memcpy(name, found->what.name.data(), length);
  name[length] = 0;
  return Result::success;
}

Result cuDeviceTotalMem(std::size_t* bytes, DeviceHandle device) {
  Device* found = device_at(state(), device);
  if (found == nullptr) return Result::invalid_device;
  *bytes = found->what.memory_bytes;
  return Result::success;
}

Result cuDeviceGetAttribute(int* value, DeviceAttribute attribute, DeviceHandle device) {
  Device* found = device_at(state(), device);
  if (found == nullptr) return Result::invalid_device;
  const FakeDevice& what = found->what;
  switch (attribute) {
    case DeviceAttribute::multiprocessor_count: *value = what.multiprocessors; break;
    case DeviceAttribute::domain_of_pci: *value = 0; break;
    case DeviceAttribute::bus_of_pci: *value = 0xf0 + device; break;
    case DeviceAttribute::device_of_pci: *value = 0; break;
    case DeviceAttribute::memory_clock_khz: *value = 2619000; break;
    case DeviceAttribute::memory_bus_bits: *value = 5120; break;
    case DeviceAttribute::l2_cache_bytes: *value = 50 << 20; break;
    case DeviceAttribute::compute_capability_major: *value = what.major; break;
    case DeviceAttribute::compute_capability_minor: *value = what.minor; break;
    case DeviceAttribute::pageable_memory_access: *value = 0; break;
    case DeviceAttribute::shared_bytes_of_block: *value = shared_bytes_of_block(what); break;
    default: return Result::invalid_value;
  }
  return Result::success;
}

Result cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceHandle device) {
  Device* found = device_at(state(), device);
  if (found == nullptr) return Result::invalid_device;
  ++found->retained;
  *context = state().context_of(device);
  return Result::success;
}

Result cuDevicePrimaryCtxRelease(DeviceHandle device) {
  Device* found = device_at(state(), device);
  if (found == nullptr) return Result::invalid_device;
  if (found->retained == 0) return invalid_context;
  if (--found->retained == 0) found->reached.clear();
  return Result::success;
}

Result cuDeviceCanAccessPeer(int* can, DeviceHandle device, DeviceHandle peer) {
  State& s = state();
  if (device_at(s, device) == nullptr || device_at(s, peer) == nullptr)
    return Result::invalid_device;
  *can = s.peers && device != peer ? 1 : 0;
  return Result::success;
}

Result cuCtxEnablePeerAccess(ContextHandle peer, unsigned flags) {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  std::optional<int> other = s.device_of(peer);
  if (!other) return invalid_context;
  if (flags != 0) return Result::invalid_value;
  if (!s.peers || *other == device) return peer_access_unsupported;
  bool is_new = s.devices[static_cast<std::size_t>(device)].reached.insert(*other).second;
  return is_new ? Result::success : peer_access_already_enabled;
}

Result cuCtxSynchronize() {
  State& s = state();
  int device;
  if (Result result = s.ready(&device); result != Result::success) return result;
  s.finish(device);
  return s.ready(&device);
}

Result cuCtxSetCurrent(ContextHandle context) {
  if (context != nullptr && !state().device_of(context)) return invalid_context;
  current = {state().serial, context};
  return Result::success;
}

}  // namespace tilewright::cuda::fake
