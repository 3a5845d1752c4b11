#include "dsl/device.h"

#include <algorithm>

#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::string_view emulated_prefix = "emulated:";

[[noreturn]] void raise_unknown(std::string_view what, std::string_view text) {
  std::string known = "cpu";
  for (std::string_view name : dsl::gpu_names()) known += concat(", ", emulated_prefix, name);
  raise_error(concat("[", what, "] unknown device \"", text, "\"; known are ", known));
}

bool is_gpu(std::string_view name) {
  auto names = dsl::gpu_names();
  return std::ranges::find(names, name) != names.end();
}

Device parse_device(std::string_view what, std::string_view text) {
  if (text == "cpu") return Device::cpu();
  std::string_view processor = text.substr(std::min(text.size(), emulated_prefix.size()));
  if (!text.starts_with(emulated_prefix) || !is_gpu(processor)) raise_unknown(what, text);
  return Device::emulated(processor);
}

}  // namespace

Device Device::emulated(std::string_view processor) {
  if (!is_gpu(processor)) raise_unknown("device", concat(emulated_prefix, processor));
  Device device;
  device.processor_ = processor;
  return device;
}

Device Device::parse(std::string_view text) { return parse_device("device", text); }

std::string Device::text() const {
  return is_emulated() ? concat(emulated_prefix, processor_) : "cpu";
}

dsl::Target Device::target() const {
  return is_emulated() ? dsl::target_named(processor_) : dsl::host_target();
}

Device default_device() {
  std::string text = env::device();
  return text.empty() ? Device::cpu() : parse_device("TILEWRIGHT_DEVICE", text);
}

}  // namespace tilewright
