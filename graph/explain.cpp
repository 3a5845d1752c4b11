// The report of a compiled function as text for people.
#include <algorithm>
#include <cstdio>

#include "graph/compile.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

std::string quantity(double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, unit);
  return text;
}
std::string of_bytes(std::int64_t bytes) {
  auto value = static_cast<double>(bytes);
  if (value < 1024) return concat(bytes, " B");
  if (value < 1024.0 * 1024) return quantity(value / 1024, "KiB");
  return quantity(value / (1024.0 * 1024), "MiB");
}
std::string of_seconds(double seconds) {
  return seconds < 1 ? quantity(seconds * 1e3, "ms") : quantity(seconds, "s");
}
std::string left(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}
std::string right(std::string text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string list_of_ops(const std::vector<std::string>& ops) {
  constexpr std::size_t most = 14;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, ops.size()); ++i)
    text += concat(i == 0 ? "" : " ", ops[i]);
  if (ops.size() > most) text += concat(" ... ", ops.size() - most, " more");
  return text;
}

// "148 in 2": so many regions in so few launches.
std::string times(const RegionReport& region) {
  std::string launches = std::to_string(region.launches);
  return region.launches == region.instances ? launches
                                             : concat(region.instances, " in ", launches);
}

std::string explain(const PlanReport& plan) {
  std::string text = concat(
      "signature (", plan.signature, ")\n  ", plan.nodes, " nodes -> ", plan.launches,
      " launches of ", plan.regions.size(), " distinct programs; ", of_bytes(plan.arena_bytes),
      " of intermediate buffers", plan.device.empty() ? "" : " on ", plan.device,
      "\n  captured in ", of_seconds(plan.capture_seconds), ", fused and lowered in ",
      of_seconds(plan.lower_seconds), ", compiled in ", of_seconds(plan.compile_seconds), "\n");
  if (!plan.tuning.empty()) text += concat("  ", plan.tuning, "\n");
  if (plan.packed_weights > 0)
    text += concat("  ", plan.packed_weights, " frozen weights lie packed in ",
                   of_bytes(plan.packed_bytes), "\n");
  if (plan.host_bytes > 0)
    text += concat("  each call copies ", of_bytes(plan.host_bytes),
                   " from the host; tensors moved to the device with to() are not copied\n");
  text += concat("  ", left("kind", 10), right("launches", 11), right("moved each", 12),
                 right("compile", 10), "  what\n");
  for (const RegionReport& region : plan.regions)
    text += concat("  ", left(region.kind, 10), right(times(region), 11),
                   right(of_bytes(region.bytes), 12), right(of_seconds(region.compile_seconds), 10),
                   "  ", list_of_ops(region.ops), "\n");
  return text;
}

}  // namespace

std::string CompiledFunction::explain() const {
  std::vector<PlanReport> reports = report();
  std::string text = concat("compiled function: mode ", name_of(options().mode), ", backend ",
                            name_of(options().backend), ", ", reports.size(), " of at most ",
                            options().max_signatures, " signatures\n");
  for (const PlanReport& plan : reports) text += tilewright::explain(plan);
  return text;
}

}  // namespace tilewright
