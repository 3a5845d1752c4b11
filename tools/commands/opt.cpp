// `tilewright opt`: passes over the text of tile programs or of a graph, in the manner of LLVM's
// opt.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/codegen/gpu/passes/gpu_pipeline.h"
#include "dsl/codegen/gpu/plan/program_bounds.h"
#include "dsl/codegen/host/codegen.h"
#include "dsl/codegen/host/passes/host_pipeline.h"
#include "dsl/codegen/named_passes.h"
#include "dsl/ir/text/text.h"
#include "dsl/passes/pipeline.h"
#include "graph/ir/text.h"
#include "graph/passes/pipeline.h"
#include "tools/console/command.h"
#include "tools/programs/read_programs.h"

namespace tilewright::tools {
namespace {

struct OptArguments {
  std::string file = "-";
  std::vector<std::string> passes, skip;
  std::string emit = "tile", target;
  bool list = false, time = false;
};

void list_passes() {
  fmt::print("over tile programs:\n");
  for (auto table : {dsl::passes(), dsl::host::host_passes(), dsl::gpu::gpu_passes()})
    for (const dsl::Pass& pass : table) fmt::print("  {:<24} {}\n", pass.name, pass.what);
  fmt::print("over graphs:\n");
  for (const graph::Pass& pass : graph::passes()) fmt::print("  {:<24} {}\n", pass.name, pass.what);
}

// The passes that were named must be those of the language.
void check_names(const OptArguments& a, auto pass_named) {
  as_misuse([&] {
    for (const auto* names : {&a.passes, &a.skip})
      for (const std::string& name : *names) pass_named(name);
  });
}

void print_times(const std::vector<dsl::PassTime>& times) {
  for (const auto& t : times)
    fmt::print(stderr, "{:<24} {:8.1f} us{}\n", t.name, t.seconds * 1e6,
               t.changed ? "  changed" : "");
}

void opt_graph(const OptArguments& a, const std::string& text) {
  const bool is_text = a.emit == "tile" || a.emit == "dot";
  require_use(is_text && a.target.empty(), "[opt] ",
              is_text ? "--target " + a.target : "--emit " + a.emit,
              " for a graph; it is printed, or drawn by --emit dot, the same for all devices");
  check_names(a, graph::pass_named);
  graph::Graph graph = graph_of("opt", a.file, text);
  std::vector<dsl::PassTime> times;
  graph = a.passes.empty() ? graph::run_passes(graph, {.skip = a.skip}, &times)
                           : graph::run_named_passes(graph, a.passes, dsl::host_target(), &times);
  fmt::print("{}", a.emit == "dot" ? graph::dot(graph) : graph::print(graph));
  if (a.time) print_times(times);
}

// All that the passes of a target decide.
std::vector<dsl::PassTime> schedule(ir::Function& function, const dsl::Target& target,
                                    const std::vector<std::string>& skip) {
  if (!target.is_gpu()) return dsl::host::schedule(function, {.target = target, .skip = skip});
  dsl::gpu::require_within_bounds(function, target, false);
  return dsl::gpu::schedule(function, {.target = target, .skip = skip});
}

void opt(const OptArguments& a) {
  if (a.list) return list_passes();
  const std::string text = read_text("opt", a.file);
  if (is_graph(text)) return opt_graph(a, text);
  // Without a name of a target the output is the same on all machines, except for the host's own
  // code.
  dsl::Target target =
      as_misuse([&] { return a.target.empty() ? dsl::Target{} : dsl::target_named(a.target); });
  bool is_schedule = a.emit == "schedule", is_tile = a.emit == "tile" || is_schedule;
  const dsl::Target& maker = is_tile || !a.target.empty() ? target : dsl::host_target();
  require_use(a.emit != "dot", "[opt] dot for tile programs; it draws graphs");
  require_use(is_tile || !target.is_gpu(), "[opt] ", a.emit, " for ", a.target,
              ", a GPU; `tilewright ptx` prints its code");
  check_names(a, [](const std::string& name) {
    if (std::ranges::find(dsl::pass_names(), name) == dsl::pass_names().end())
      dsl::pass_named(name);
  });
  for (ir::Function& function : programs_of("opt", a.file, text)) {
    auto times = a.passes.empty() ? dsl::run_passes(function, {.target = target, .skip = a.skip})
                                  : dsl::run_named_passes(function, a.passes, target);
    if (a.emit != "tile")
      for (const auto& t : schedule(function, maker, a.skip)) times.push_back(t);
    if (is_tile)
      fmt::print("{}", ir::print(function));
    else
      fmt::print("{}", dsl::host_code_text(function, maker, a.emit));
    if (a.time) print_times(times);
  }
}

}  // namespace

void add_opt(CLI::App& command) {
  auto a = std::make_shared<OptArguments>();
  command.add_option("FILE", a->file, "tile IR text, or that of a graph; - reads standard input")
      ->capture_default_str();
  command
      .add_option("--passes", a->passes,
                  "passes to run, in this order (default: the whole pipeline)")
      ->delimiter(',');
  command.add_option("--skip", a->skip, "passes of the pipeline to leave out")->delimiter(',');
  command.add_option("--target", a->target,
                     "what the passes make it for: a host's or a GPU's name (default: any host)");
  command
      .add_option("--emit", a->emit,
                  "what to print: of tile programs tile, or schedule, tile IR with all that the "
                  "target's passes decide; for a host llvm or asm; of a graph tile, its text, or "
                  "dot, a drawing")
      ->check(CLI::IsMember({"tile", "schedule", "llvm", "asm", "dot"}))
      ->capture_default_str();
  command.add_flag("--list", a->list, "list the passes and what each does");
  command.add_flag("--time", a->time, "print the time each pass took to standard error");
  command.callback([a] { opt(*a); });
}

}  // namespace tilewright::tools
