#include "dsl/launch/device.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/driver/driver.h"

namespace tilewright {
namespace {

constexpr std::string_view emulated_prefix = "emulated:", cuda_prefix = "cuda:";

[[noreturn]] void raise_unknown(std::string_view what, std::string_view text) {
  std::string known = "cpu, cuda, cuda:0, cuda:1, ...";
  for (std::string_view name : dsl::gpu_names()) known += concat(", ", emulated_prefix, name);
  raise_error(concat("[", what, "] unknown device \"", text, "\"; known are ", known));
}

bool is_gpu(std::string_view name) {
  auto names = dsl::gpu_names();
  return std::ranges::find(names, name) != names.end();
}

std::string_view after(std::string_view text, std::string_view prefix) {
  return text.substr(std::min(text.size(), prefix.size()));
}

Device parse_device(std::string_view what, std::string_view text) {
  if (text == "cpu") return Device::cpu();
  if (text == "cuda") return Device::cuda();
  if (text.starts_with(emulated_prefix) && is_gpu(after(text, emulated_prefix)))
    return Device::emulated(after(text, emulated_prefix));
  std::string_view digits = after(text, cuda_prefix);
  int ordinal = -1;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (!text.starts_with(cuda_prefix) || error != std::errc() || ordinal < 0 ||
      end != digits.data() + digits.size())
    raise_unknown(what, text);
  return Device::cuda(ordinal);
}

}  // namespace

Device Device::cuda(int ordinal) {
  require(ordinal >= 0, "[device] the number of a GPU is ", ordinal, "; 0 or more is right");
  Device device;
  device.ordinal_ = ordinal;
  return device;
}

Device Device::emulated(std::string_view processor) {
  if (!is_gpu(processor)) raise_unknown("device", concat(emulated_prefix, processor));
  Device device;
  device.processor_ = processor;
  return device;
}

Device Device::parse(std::string_view text) { return parse_device("device", text); }

Device Device::of(const DeviceMemory* memory) {
  return memory == nullptr ? Device::cpu() : parse(memory->name());
}

std::string Device::text() const {
  if (is_cuda()) return std::string(cuda_prefix) + std::to_string(ordinal_);
  return is_emulated() ? concat(emulated_prefix, processor_) : "cpu";
}

dsl::Target Device::target() const {
  if (is_cuda()) {
    const cuda::DeviceFacts& facts = cuda::context(ordinal_).facts();
    return dsl::target_of_gpu(facts.major, facts.minor);
  }
  return is_emulated() ? dsl::target_named(processor_) : dsl::host_target();
}

DeviceMemory* Device::memory() const { return is_cuda() ? &cuda::context(ordinal_) : nullptr; }

void Device::synchronize() const {
  if (DeviceMemory* device = memory()) device->synchronize();
}

Device default_device() {
  std::string text = env::device();
  return text.empty() ? Device::cpu() : parse_device("TILEWRIGHT_DEVICE", text);
}

std::vector<Device> cuda_devices() {
  std::vector<Device> devices;
  for (int i = 0; i < cuda::device_count(); ++i) devices.push_back(Device::cuda(i));
  return devices;
}

}  // namespace tilewright
