// `tilewright bench`: the benches, one subcommand each. Those of the host have files of their own
// here; those of any device are the sections of tools/bench.
#include <fmt/format.h>

#include <filesystem>

#include "runtime/base/error.h"
#include "runtime/cuda/context.h"
#include "runtime/parallel.h"
#include "tools/bench/peer.h"
#include "tools/bench/section.h"
#include "tools/command.h"
#include "tools/measure.h"

namespace tilewright::tools {
namespace {

struct SectionArguments {
  BenchSettings settings;
  bool json = false;
  std::vector<std::string> peers;
  std::string python = "python3";
  RunOptions run;
};

std::string device_name(const Device& device) {
  return device.is_cuda() ? cuda::context(device.ordinal()).facts().name : cpu_model();
}

// The adapters that are wanted, as far as they can be started; `versions` is what they say, or why
// not.
std::vector<std::shared_ptr<Peer>> start_peers(const SectionArguments& a,
                                               nlohmann::json& versions) {
  std::vector<std::shared_ptr<Peer>> peers;
  for (const std::string& wanted : a.peers) {
    std::string script = wanted == "all" ? TILEWRIGHT_PEERS "/torch_cpu.py" : wanted;
    std::string name = std::filesystem::path(script).filename();
    try {
      peers.push_back(std::make_shared<Peer>(std::vector<std::string>{a.python, script}));
      versions[name] = peers.back()->versions();
    } catch (const Error& error) {
      versions[name] = error.what();
      fmt::print(stderr, "no peer: {}\n", error.what());
    }
  }
  return peers;
}

void run_section(const Section& section, SectionArguments& a) {
  Options options = a.run.compile_options();
  a.settings.device = options.device;
  a.settings.mode = options.mode;
  a.settings.quiet = a.json;
  nlohmann::json peers = nlohmann::json::object();
  a.settings.peers = start_peers(a, peers);
  BenchLog log(section.name, a.settings);
  section.run(log);
  if (a.json) {
    std::string words;
    for (const std::string& word : a.settings.words) words += " '" + word + "'";
    nlohmann::json whole = {
        {"bench", section.name},
        {"command", fmt::format("tilewright bench {}{} --device {}{} --json", section.name, words,
                                a.run.device, a.peers.empty() ? "" : " --peer all")},
        {"device", device_name(options.device)},
        {"date", date_today()},
        {"mode", a.run.mode},
        {"threads", thread_count()},
        {"peers", peers},
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
  command.add_option("--peer", a->peers,
                     "adapters whose systems take turns with us on the host: all, or scripts");
  command.add_option("--python", a->python, "that runs them")->capture_default_str();
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
  add_bench_modes(*command.add_subcommand(
      "modes", "Whole steps of models in max-autotune beside reduce-overhead, in fresh processes"));
  add_bench_ptxas(*command.add_subcommand(
      "ptxas", "Kernels of every GPU: registers, spills and instructions, as ptxas sees them"));
  for (const Section& section : bench_sections()) add_section(command, section);
}

}  // namespace tilewright::tools
