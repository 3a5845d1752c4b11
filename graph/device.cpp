#include "graph/device.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::string_view emulated_prefix = "emulated:";

[[noreturn]] void raise_unknown(std::string_view text) {
  std::string known = "cpu";
  for (std::string_view name : dsl::gpu_names()) known += concat(", ", emulated_prefix, name);
  raise_error(concat("[device] unknown device \"", text, "\"; known are ", known));
}

}  // namespace

Device Device::emulated(std::string_view processor) {
  auto names = dsl::gpu_names();
  if (std::ranges::find(names, processor) == names.end())
    raise_unknown(concat(emulated_prefix, processor));
  Device device;
  device.processor_ = processor;
  return device;
}

Device Device::parse(std::string_view text) {
  if (text == "cpu") return cpu();
  if (!text.starts_with(emulated_prefix)) raise_unknown(text);
  return emulated(text.substr(emulated_prefix.size()));
}

std::string Device::text() const {
  return is_emulated() ? concat(emulated_prefix, processor_) : "cpu";
}

dsl::Target Device::target() const {
  return is_emulated() ? dsl::target_named(processor_) : dsl::host_target();
}

}  // namespace tilewright
