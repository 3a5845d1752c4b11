// `tilewright kernel run`: a tile program on arguments, interpreted, or on a device, or both.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "dsl/analysis/parameter_use.h"
#include "dsl/debugger/first_difference.h"
#include "dsl/debugger/host_arguments.h"
#include "dsl/debugger/interpretation.h"
#include "dsl/ir/text/text.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/staged.h"
#include "models/weights/safetensors.h"
#include "tools/console/command.h"
#include "tools/programs/kernel_arguments.h"
#include "tools/programs/read_programs.h"

namespace tilewright::tools {
namespace {

struct KernelArguments {
  std::string file = "-", kernel, device, outputs, watch;
  std::vector<std::string> args, checks;
  std::vector<std::int64_t> grid = {1}, program;
  bool interpret = false, trace = false, compare = false, json = false;
};

ir::Function wanted_program(const KernelArguments& a) {
  std::vector<ir::Function> programs = read_programs("kernel run", a.file, true);
  std::vector<std::string> names;
  for (const ir::Function& program : programs) names.push_back(program.name);
  require_use(!a.kernel.empty() || programs.size() == 1, "[kernel run] there are ", programs.size(),
              " programs; name one by --kernel: ", listed(names));
  auto found = a.kernel.empty() ? names.begin() : std::ranges::find(names, a.kernel);
  require_use(found != names.end(), "[kernel run] there is no program \"", a.kernel, "\"",
              suggestion(a.kernel, names), "; there are ", listed(names));
  return std::move(programs[static_cast<std::size_t>(found - names.begin())]);
}

Grid grid_of(const KernelArguments& a) {
  require_use(a.grid.size() <= 3, "[kernel run] --grid has ", a.grid.size(),
              " sizes; it has 3 at the most, as 4,2,1");
  for (std::int64_t size : a.grid)
    require_use(size >= 1 && size <= INT32_MAX, "[kernel run] a size of --grid is ", size,
                "; it must be in [1, ", INT32_MAX, "]");
  Grid grid;
  std::ranges::copy(a.grid, grid.size);
  return grid;
}

std::vector<dsl::LaunchArgument> launched(const std::vector<KernelArgument>& arguments) {
  std::vector<dsl::LaunchArgument> all;
  for (const KernelArgument& argument : arguments) all.push_back(argument.argument);
  return all;
}

nlohmann::json step_record(const dsl::TraceStep& step) {
  nlohmann::json results = nlohmann::json::array();
  for (const dsl::TileView& tile : step.results) {
    nlohmann::json values = nlohmann::json::array();
    for (std::int64_t i = 0; i < tile.count(); ++i) values.push_back(tile.text(i));
    results.push_back({{"type", to_string(tile.type())}, {"values", values}});
  }
  return {{"program", step.program}, {"number", step.number}, {"turn", step.turn},
          {"place", step.place},     {"text", step.text},     {"name", step.name},
          {"results", results}};
}

void print_step(const dsl::TraceStep& step, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", step_record(step).dump());
    return;
  }
  fmt::print("({}, {}, {}) {}: {}", step.program[0], step.program[1], step.program[2], step.place,
             step.text);
  for (std::size_t i = 0; i < step.results.size(); ++i)
    fmt::print("{} {}", i == 0 ? "  =" : ";", step.results[i].summary());
  fmt::print("\n");
}

dsl::InterpretOptions options_of(const KernelArguments& a,
                                 const std::vector<KernelArgument>& arguments) {
  dsl::InterpretOptions options{.watch = a.watch};
  auto is_wanted = [&](const char* check) {
    return std::ranges::find(a.checks, check) != a.checks.end();
  };
  options.races = is_wanted("races");
  options.nans = is_wanted("nans");
  for (const KernelArgument& argument : arguments) {
    if (!argument.is_empty) continue;
    if (is_wanted("unwritten")) options.unwritten.push_back(argument.name);
    if (is_wanted("complete")) options.complete.push_back(argument.name);
  }
  if (!a.program.empty()) {
    require_use(a.program.size() <= 3, "[kernel run] --program has ", a.program.size(),
                " numbers; it has 3 at the most, as 4,2,1");
    options.program.emplace();
    options.program->fill(0);
    std::ranges::copy(a.program, options.program->begin());
  }
  if (a.trace) options.observer = [&a](const dsl::TraceStep& step) { print_step(step, a.json); };
  return options;
}

void run_compiled(const ir::Function& program, const Device& device, const Grid& grid,
                  const std::vector<dsl::LaunchArgument>& arguments) {
  dsl::require_arguments(program, arguments);
  dsl::HostArguments host(program, arguments, false);
  launch_staged(device, *dsl::compile(program, device), grid, host.values(), host.memories());
}

std::string elements_text(const Tensor& tensor, std::int64_t most) {
  std::string text;
  for (std::int64_t i = 0; i < std::min(most, tensor.count()); ++i)
    text += (i > 0 ? ", " : "") +
            dsl::element_text(tensor.dtype(), dsl::element_at(tensor.dtype(), tensor.data(), i));
  if (tensor.count() > most) text += fmt::format(", ... {} more", tensor.count() - most);
  return text;
}

void print_outputs(const KernelArguments& a, const ir::Function& program,
                   const std::vector<KernelArgument>& arguments) {
  const std::vector<dsl::ParameterUse> uses = dsl::parameter_use(program);
  std::map<std::string, Tensor> written;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (uses[i].is_written) written.emplace(arguments[i].name, arguments[i].tensor);
  if (!a.outputs.empty()) save_safetensors(a.outputs, written);
  nlohmann::json record = nlohmann::json::array();
  for (const auto& [name, tensor] : written) {
    constexpr std::int64_t most = 8;
    if (a.json)
      record.push_back({{"name", name},
                        {"dtype", name_of(tensor.dtype())},
                        {"shape", std::vector<std::int64_t>(tensor.shape())},
                        {"values", elements_text(tensor, tensor.count())}});
    else
      fmt::print("{}: {} [{}] = {}\n", name, name_of(tensor.dtype()), to_string(tensor.shape()),
                 elements_text(tensor, most));
  }
  if (a.json) fmt::print("{}\n", nlohmann::json{{"outputs", record}}.dump());
}

nlohmann::json difference_record(const dsl::Difference& d) {
  nlohmann::json record = {{"parameter", d.parameter},
                           {"index", d.index},
                           {"computed", dsl::element_text(d.dtype, d.computed)},
                           {"defined", dsl::element_text(d.dtype, d.defined)},
                           {"differing", d.differing},
                           {"count", d.count}};
  if (d.origin)
    record["origin"] = {{"place", d.origin->place},
                        {"text", d.origin->text},
                        {"name", d.origin->name},
                        {"program", d.origin->program},
                        {"turn", d.origin->turn},
                        {"element", d.origin->index},
                        {"computed", dsl::element_text(d.origin->dtype, d.origin->computed)},
                        {"defined", dsl::element_text(d.origin->dtype, d.origin->defined)},
                        {"is_seen_alone", d.origin->is_seen_alone}};
  return record;
}

// Ends with status 1 where results differ.
void compare(const KernelArguments& a, const ir::Function& program, const Device& device,
             const Grid& grid, const std::vector<dsl::LaunchArgument>& arguments) {
  auto difference = dsl::first_difference(program, device, grid, arguments);
  if (a.json)
    fmt::print("{}\n", nlohmann::json{{"difference", difference ? difference_record(*difference)
                                                                : nlohmann::json()}}
                           .dump());
  else
    fmt::print("{}", difference ? difference->text()
                                : fmt::format("{} agrees with the definition\n", device.text()));
  if (difference) throw CLI::RuntimeError(1);
}

void kernel_run(const KernelArguments& a) {
  ir::Function program = wanted_program(a);
  const Device device = chosen_device(a.device);
  const Grid grid = grid_of(a);
  const bool is_interpreted = a.interpret || a.trace || !a.checks.empty();
  require_use(!a.compare || !is_interpreted,
              "[kernel run] --compare runs both the interpreter and ",
              "the device; leave --interpret, --trace and --check out");
  require_use(a.trace || (a.watch.empty() && a.program.empty()),
              "[kernel run] --watch and --program say what --trace shows; add it");
  require_use(!is_interpreted || a.device.empty(), "[kernel run] --device ", a.device,
              " with --interpret, --trace or --check, which run the interpreter");
  std::vector<KernelArgument> arguments = kernel_arguments(program, a.args);
  const std::vector<dsl::LaunchArgument> all = launched(arguments);
  if (a.compare) return compare(a, program, device, grid, all);
  if (is_interpreted)
    dsl::interpret(program, grid, all, options_of(a, arguments));
  else
    run_compiled(program, device, grid, all);
  print_outputs(a, program, arguments);
}

void add_kernel_run(CLI::App& command) {
  auto a = std::make_shared<KernelArguments>();
  command.add_option("FILE", a->file, "tile IR text; - reads standard input")
      ->capture_default_str();
  command.add_option("--kernel", a->kernel, "of several programs in the file, the one to run");
  command
      .add_option(
          "--args", a->args,
          "one for each parameter, as name=... or in order: a number, random:f32:1024:seed, "
          "zeros:, ones:, range:, empty:f32:1024, or FILE.safetensors:NAME")
      ->expected(1, -1);
  command.add_option("--grid", a->grid, "programs along up to three axes, as 4,2,1")
      ->delimiter(',')
      ->capture_default_str();
  add_device_option(command, a->device,
                    "where compiled code runs: cpu, cuda:0, emulated:sm_90a, ...");
  command.add_flag("--interpret", a->interpret,
                   "run by the definition, one element after the other");
  command.add_flag("--trace", a->trace, "interpret, and print each instruction with its result");
  command.add_option("--watch", a->watch, "of the trace, only tiles of this name");
  command.add_option("--program", a->program, "of the trace, only this program, as 4,2,1")
      ->delimiter(',');
  command.add_flag("--compare", a->compare,
                   "find the first instruction whose tile the device computes otherwise; status 1 "
                   "where results differ");
  command
      .add_option(
          "--check", a->checks,
          "interpret, and end at the first finding: bounds, which is always looked at, races, "
          "nans, unwritten (reads of arrays made by empty:), complete (elements of such that are "
          "never written)")
      ->check(CLI::IsMember({"bounds", "races", "nans", "unwritten", "complete"}))
      ->delimiter(',');
  command.add_option("--outputs", a->outputs,
                     "safetensors file for the arrays that the program wrote to");
  command.add_flag("--json", a->json, "print JSON, of a trace a line an instruction");
  command.callback([a] { kernel_run(*a); });
}

}  // namespace

void add_kernel(CLI::App& command) {
  command.require_subcommand(1);
  add_kernel_run(*command.add_subcommand(
      "run", "Run a tile program on arguments: interpreted, traced, checked, or on a device"));
}

}  // namespace tilewright::tools
