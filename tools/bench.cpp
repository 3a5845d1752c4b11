// `tilewright bench`: the benches, one subcommand each. Those of the host have files of their own
// here; those of any device are the sections of tools/bench.
#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/cuda/context.h"
#include "tools/bench/section.h"
#include "tools/command.h"
#include "tools/measure.h"

namespace tilewright::tools {
namespace {

struct SectionArguments {
  BenchSettings settings;
  bool json = false;
  RunOptions run;
};

std::string device_name(const Device& device) {
  return device.is_cuda() ? cuda::context(device.ordinal()).facts().name : cpu_model();
}

void run_section(const Section& section, SectionArguments& a) {
  Options options = a.run.compile_options();
  a.settings.device = options.device;
  a.settings.mode = options.mode;
  a.settings.quiet = a.json;
  BenchLog log(section.name, a.settings);
  section.run(log);
  if (a.json) {
    nlohmann::json whole = {{"bench", section.name},
                            {"command", fmt::format("tilewright bench {} --device {} --json",
                                                    section.name, a.run.device)},
                            {"device", device_name(options.device)},
                            {"date", date_today()},
                            {"mode", a.run.mode},
                            {"results", log.rows()}};
    fmt::print("{}\n", whole.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  require(log.all_ok(), "[bench] a case of ", section.name, " is not as it should be");
}

void add_section(CLI::App& bench, const Section& section) {
  CLI::App& command = *bench.add_subcommand(section.name, section.what);
  auto a = std::make_shared<SectionArguments>();
  a->run.mode = "reduce-overhead";
  BenchSettings& s = a->settings;
  command.add_option("WORDS", s.words, "cases in whose names one of these words stands");
  command.add_option("--rounds", s.rounds, "samples of each case; medians are shown")
      ->capture_default_str();
  command.add_option("--budget", s.budget_s, "seconds after which no further case begins");
  command.add_option("--case-limit", s.case_limit_s,
                     "seconds after which a case ends the process; 0: never");
  command.add_option("--append", s.append,
                     "file of JSON lines to add each case to; those that are in it are left out");
  command.add_flag("--tiny", s.tiny, "sizes that take no time: shows that the bench works");
  command.add_flag("--json", a->json, "print JSON");
  a->run.add_to(command);
  command.callback([a, &section] { run_section(section, *a); });
}

}  // namespace

void add_bench(CLI::App& command) {
  command.require_subcommand(1);
  add_bench_regional(*command.add_subcommand(
      "regional", "The 64-layer model of regional compilation: compile time and latency by mode"));
  add_bench_host_rows(*command.add_subcommand(
      "host-rows", "Row kernels on the host against a measured copy of the same bytes"));
  add_bench_ptxas(*command.add_subcommand(
      "ptxas", "Kernels of every GPU: registers, spills and instructions, as ptxas sees them"));
  for (const Section& section : bench_sections()) add_section(command, section);
}

}  // namespace tilewright::tools
