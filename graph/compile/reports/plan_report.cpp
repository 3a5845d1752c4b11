#include "graph/compile/reports/plan_report.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "dsl/launch/device.h"
#include "runtime/base/error.h"
#include "runtime/base/text/number_text.h"

namespace tilewright {
namespace {

std::string quantity(double value, const char* unit) {
  return fixed_text(value, value < 10 ? 2 : value < 100 ? 1 : 0) + " " + unit;
}
std::string of_bytes(std::int64_t bytes) {
  auto value = static_cast<double>(bytes);
  if (value < 1024) return concat(bytes, " B");
  if (value < 1024.0 * 1024) return quantity(value / 1024, "KiB");
  return quantity(value / (1024.0 * 1024), "MiB");
}
std::string of_seconds(double seconds) {
  if (seconds < 1e-3) return quantity(seconds * 1e6, "us");
  return seconds < 1 ? quantity(seconds * 1e3, "ms") : quantity(seconds, "s");
}
// "1 launch", "2 launches"
std::string counted(std::int64_t count, std::string_view one, std::string_view several) {
  return concat(count, " ", count == 1 ? one : several);
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

// "linear relu: matmul add max": as the user wrote it, and what became of it.
std::string what(const RegionReport& region) {
  std::string written = list_of_ops(region.user_ops), made = list_of_ops(region.ops);
  return written == made ? made : concat(written, ": ", made);
}

// "148 in 2": so many regions in so few launches.
std::string times(const RegionReport& region) {
  std::string launches = std::to_string(region.launches);
  return region.launches == region.instances ? launches
                                             : concat(region.instances, " in ", launches);
}

// A line of the table of regions, or its title.
std::string row(const std::string& run, const std::string& launches, const std::string& moved,
                const std::string& compile, const std::string& kind, const std::string& kernel,
                std::size_t kernel_width, const std::string& what) {
  return concat("  ", right(run, 9), right(launches, 11), right(moved, 12), right(compile, 10),
                "  ", left(kind, 12), left(kernel, kernel_width), "  ", what, "\n");
}

std::string table(const PlanReport& plan) {
  std::size_t width = 6;
  for (const RegionReport& region : plan.regions) width = std::max(width, region.kernel.size());
  std::string text =
      row("run", "launches", "moved each", "compile", "kind", "kernel", width, "what");
  for (const RegionReport& region : plan.regions)
    text += row(region.run_seconds > 0 ? of_seconds(region.run_seconds) : "-", times(region),
                of_bytes(region.bytes), of_seconds(region.compile_seconds), region.kind,
                region.kernel, width, what(region));
  return text;
}

// The sizes that a plan was declared to be for, and how many of its programs other plans run.
std::string text_of_sizes(const PlanReport& plan) {
  std::string text = plan.sizes.empty() ? "" : concat("  sizes:\n", plan.sizes);
  if (!plan.sizes_vary) return text;
  if (plan.device != Device::cpu().text())
    return concat(text,
                  "  made for sizes that change, with programs for this one, as on all GPUs\n");
  std::string alone;
  std::int64_t shared = 0;
  for (const RegionReport& region : plan.regions) {
    if (region.plans > 1)
      ++shared;
    else
      alone += concat(alone.empty() ? "" : ", ", region.kernel);
  }
  text += concat("  made for sizes that change; plans for others run ", shared, " of its ",
                 counted(std::ssize(plan.regions), "program", "programs"));
  return concat(text, alone.empty() ? "" : concat("; none so far runs ", alone), "\n");
}

std::string text_of_memory(const MemoryReport& memory) {
  if (memory.peak == 0) return "";
  return concat("  a call takes at most ", memory.peak, " B (", of_bytes(memory.peak), ") besides ",
                of_bytes(memory.arguments), " of arguments and ", of_bytes(memory.captured),
                " of other tensors: ", of_bytes(memory.results), " of results, ",
                of_bytes(memory.intermediate), " of intermediate values",
                memory.loops > 0 ? concat(", ", of_bytes(memory.loops), " for control flow") : "",
                memory.copies > 0 ? concat(", ", of_bytes(memory.copies), " of copies") : "", "\n");
}

std::string unkept_text(const PlanReport& plan) {
  std::string text;
  for (const UnkeptOption& unkept : plan.unkept)
    text += concat("  Options::", unkept.option, " does not hold: ", unkept.sentence, "\n");
  return text;
}

}  // namespace

std::string explain(const PlanReport& plan) {
  if (!plan.graph_break.empty())
    return concat("signature (", plan.signature,
                  ")\n  runs in segments, since the graph breaks: ", plan.graph_break, "\n",
                  unkept_text(plan), plan.guards.empty() ? "" : "  guards:\n", plan.guards);
  std::string text = plan.segment.empty()
                         ? concat("signature (", plan.signature, ")\n")
                         : concat("segment to ", plan.segment, " (", plan.signature, ")\n");
  if (!plan.sharing_break.empty())
    text += concat(
        "  calls with arguments that share memory which the function writes run in "
        "segments: ",
        plan.sharing_break, "\n");
  text += concat(
      "  ", counted(plan.nodes, "node", "nodes"), " -> ",
      counted(plan.launches, "launch", "launches"), " of ",
      counted(std::ssize(plan.regions), "distinct program", "distinct programs"), "; ",
      of_bytes(plan.arena_bytes), " of intermediate buffers", plan.device.empty() ? "" : " on ",
      plan.device, "\n  ",
      // Segments are recorded while the function runs, at each call.
      plan.segment.empty() ? concat("captured in ", of_seconds(plan.capture_seconds), ", ") : "",
      "fused and lowered in ", of_seconds(plan.lower_seconds), ", compiled in ",
      of_seconds(plan.compile_seconds),
      plan.awaiting_full_code > 0
          ? concat("; ", counted(plan.awaiting_full_code, "kernel runs", "kernels run"),
                   " quick code until full code is generated in the background")
          : "",
      "\n");
  if (plan.captured_tensors > 0)
    text += concat(
        "  uses ",
        counted(plan.captured_tensors, "tensor besides its arguments; assigned anew, it is",
                "tensors besides its arguments; assigned anew, they are"),
        " looked up at the next call",
        plan.captures > 1 ? concat(", as happened ", counted(plan.captures - 1, "time", "times"))
                          : "",
        "\n");
  text += text_of_memory(plan.memory);
  text += text_of_sizes(plan);
  text += unkept_text(plan);
  if (!plan.tuning.empty()) text += concat("  ", plan.tuning, "\n");
  if (plan.packed_weights > 0)
    text += concat("  ", counted(plan.packed_weights, "frozen weight lies", "frozen weights lie"),
                   " packed in ", of_bytes(plan.packed_bytes), "\n");
  if (plan.frozen_values > 0)
    text += concat("  ", counted(plan.frozen_values, "value follows", "values follow"),
                   " from frozen weights and ", plan.frozen_values == 1 ? "was" : "were",
                   " computed once, ", of_bytes(plan.frozen_bytes), "\n");
  if (plan.host_bytes > 0)
    text += concat("  each call copies ", of_bytes(plan.host_bytes),
                   " from the host; tensors moved to the device with to() are not copied\n");
  if (plan.timed_calls > 0)
    text += concat("  launches of a call take ", of_seconds(plan.run_seconds),
                   ", each its least of ", counted(plan.timed_calls, "call", "calls"), "\n");
  for (const MarkedRegionReport& region : plan.marked)
    text +=
        concat("  region ", region.name, ": called ", counted(region.instances, "time", "times"),
               ", ", counted(region.structures, "structure", "structures"), " of ",
               counted(region.programs, "distinct program", "distinct programs"), "\n");
  for (const DerivativeReport& derivative : plan.derivatives) text += graph::text_of(derivative);
  text += graph::text_of(plan.saving);
  if (!plan.guards.empty()) text += concat("  guards:\n", plan.guards);
  return text + table(plan);
}

}  // namespace tilewright

namespace tilewright::graph {

std::string explain_function(const Options& options, const std::vector<PlanReport>& plans,
                             const std::vector<Recompilation>& recompilations) {
  std::string text =
      concat("compiled function: mode ", name_of(options.mode), ", backend ",
             name_of(options.backend), ", matmul precision ", name_of(options.matmul_precision),
             ", ", std::ranges::count(plans, std::string(), &PlanReport::segment), " of at most ",
             counted(options.max_signatures, "signature", "signatures"), "\n");
  for (const PlanReport& plan : plans) text += explain(plan);
  if (!recompilations.empty()) text += "compiled again:\n";
  for (const Recompilation& each : recompilations)
    text += concat("  (", each.signature, "): ", each.sentence(), "\n");
  return text;
}

void count_plans_of_programs(std::vector<PlanReport>& reports) {
  std::map<std::string, std::int64_t> plans;
  for (const PlanReport& report : reports)
    if (report.sizes_vary)
      for (const RegionReport& region : report.regions) ++plans[region.key];
  for (PlanReport& report : reports)
    if (report.sizes_vary)
      for (RegionReport& region : report.regions) region.plans = plans[region.key];
}

}  // namespace tilewright::graph
