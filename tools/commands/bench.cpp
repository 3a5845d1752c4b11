// `tilewright bench`: the benches, one subcommand each. Those of the host have files of their own
// here; those of any device are the sections of tools/bench.
#include <fmt/format.h>

#include <filesystem>

#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cuda/context.h"
#include "tools/bench/peer.h"
#include "tools/bench/section.h"
#include "tools/console/command.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

struct SectionArguments {
  BenchSettings settings{.device = Device::cpu()};  // until the options are read
  bool json = false;
  std::vector<std::string> peers;
  std::string python = "python3";
  RunOptions run;
};

std::string device_name(const Device& device) {
  return device.is_cuda() ? cuda::context(device.ordinal()).facts().name : cpu_model();
}

// The adapter that comes with the command: beside it where it is installed, or in the tree that it
// was built in.
std::string own_peer() {
  auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* folder : {"../share/tilewright/peers", "../../tools/peers"})
    if (auto script = program / folder / "torch_cpu.py"; std::filesystem::exists(script))
      return script.string();
  throw Misuse(
      "[bench] --peer all: torch_cpu.py is not installed beside the command; name the script");
}

// The adapters that are wanted, as far as they can be started; `versions` is what they say, or why
// not.
std::vector<std::shared_ptr<Peer>> start_peers(const SectionArguments& a,
                                               nlohmann::json& versions) {
  std::vector<std::shared_ptr<Peer>> peers;
  for (const std::string& wanted : a.peers) {
    std::string script = wanted == "all" ? own_peer() : wanted;
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

// Reports why nothing was run: the cases are for another device, no name contains the words, or the
// file has all of them.
void check_cases(const Section& section, const SectionArguments& a, const BenchLog& log) {
  require_use(!log.cases().empty(), "[bench] ", section.name, " has no case for ",
              a.settings.device.text(), "; --device cuda:0 is what it times");
  std::string words;
  for (const std::string& word : a.settings.words)
    words += (words.empty() ? "\"" : "\" or \"") + word;
  std::string known;
  for (const std::string& name : log.cases()) known += "\n  " + name;
  require_use(log.wanted() > 0, "[bench] no case of ", section.name, " has ", words,
              "\" in its name; there are", known);
  if (log.rows().empty())
    fmt::print(stderr, "{}: {} cases are in {} already\n", section.name, log.wanted(),
               a.settings.append);
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
  check_cases(section, a, log);
  if (a.json) {
    std::string words;
    for (const std::string& word : a.settings.words) words += " '" + word + "'";
    nlohmann::json whole = {
        {"bench", section.name},
        {"command", fmt::format("tilewright bench {}{} --device {}{} --json", section.name, words,
                                options.device.text(), a.peers.empty() ? "" : " --peer all")},
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
      ->check(above_zero())
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
  add_bench_gradients(*command.add_subcommand(
      "gradients", "Networks in training: compiling a loss with its gradients beside the loss"));
  add_bench_modes(*command.add_subcommand(
      "modes", "Whole steps of models in max-autotune beside reduce-overhead, in fresh processes"));
  add_bench_clients(*command.add_subcommand(
      "clients", "Several threads, each with a text of its own over one model"));
  add_bench_llm(*command.add_subcommand(
      "llm", "A language model: load, prefill, decode, percentiles of steps, memory by phase"));
  add_bench_ptxas(*command.add_subcommand(
      "ptxas", "Kernels of every GPU: registers, spills and instructions, as ptxas sees them"));
  for (const Section& section : bench_sections()) add_section(command, section);
}

}  // namespace tilewright::tools
