// `tilewright bench regional`: what repeated layers cost to compile, and what each mode gives.
#include <fmt/format.h>

#include "runtime/parallel.h"
#include "tools/cold_process.h"
#include "tools/command.h"
#include "tools/measure.h"
#include "tools/table.h"
#include "tools/tutorial_model.h"

namespace tilewright::tools {
namespace {

struct Arguments {
  std::size_t layers = 64;
  int rounds = 15, processes = 5;
  bool json = false, cold = false;
  RunOptions run;
};

// In a process of its own: the first call, and what was compiled for it.
void first_call(const Arguments& a) {
  TutorialModel model(a.layers);
  Tensor x = tutorial_input();
  double start = now_s();
  Compiled fast = compile(model, a.run.compile_options());
  fast(x);
  double first_call_s = now_s() - start;
  PlanReport report = fast.report().front();
  nlohmann::json regions = nlohmann::json::array();
  for (const RegionReport& region : report.regions)
    regions.push_back({{"kernel", region.kernel}, {"instances", region.instances}});
  nlohmann::json result = {{"first_call_s", first_call_s},
                           {"capture_s", report.capture_seconds},
                           {"lower_s", report.lower_seconds},
                           {"compile_s", report.compile_seconds},
                           {"distinct_regions", report.regions.size()},
                           {"launches", report.launches},
                           {"regions", regions}};
  fmt::print("{}\n", result.dump());
}

nlohmann::json median_first_call(std::size_t layers, int processes, const std::string& mode) {
  std::vector<nlohmann::json> runs;
  std::vector<std::string> arguments = {
      "bench", "regional", "--cold", "--layers", std::to_string(layers), "--mode", mode};
  for (int i = 0; i < processes; ++i) {
    double start = now_s();
    runs.push_back(run_cold(arguments));
    runs.back()["process_s"] = now_s() - start;
  }
  std::ranges::sort(runs, {},
                    [](const auto& r) { return r["first_call_s"].template get<double>(); });
  return runs[runs.size() / 2];
}

void bench_regional(const Arguments& a) {
  if (a.cold) return first_call(a);
  nlohmann::json report = {{"bench", "regional"},
                           {"command", "tilewright bench regional --json"},
                           {"device", cpu_model()},
                           {"date", date_today()},
                           {"layers", a.layers}};
  for (std::size_t layers : {std::size_t{1}, std::size_t{16}, std::size_t{32}, a.layers}) {
    auto run = median_first_call(layers, a.processes, "reduce-overhead");
    report["compile_s_by_layers"][std::to_string(layers)] = run["compile_s"];
    report["first_call_s_by_layers"][std::to_string(layers)] = run["first_call_s"];
    if (layers != a.layers) continue;
    for (const char* field :
         {"first_call_s", "process_s", "distinct_regions", "launches", "regions"})
      report[field] = run[field];
  }
  a.run.compile_options();  // applies the threads
  report["threads"] = thread_count();
  TutorialModel model(a.layers);
  Tensor x = tutorial_input();
  std::vector<std::string> names = {"eager"};
  std::vector<Compiled> compiled;
  for (Mode mode : {Mode::default_, Mode::reduce_overhead, Mode::max_autotune}) {
    names.emplace_back(name_of(mode));
    compiled.push_back(compile(model, {.mode = mode, .fullgraph = true}));
  }
  std::vector<std::function<void()>> actions = {[&] { model.forward(x); }};
  for (const Compiled& fast : compiled) actions.push_back([&fast, &x] { fast(x); });
  auto medians = interleaved_medians(actions, a.rounds);
  for (std::size_t i = 0; i < names.size(); ++i)
    report["modes"][names[i]] = {{"latency_us", medians[i] * 1e6},
                                 {"speedup", medians[0] / medians[i]}};
  if (a.json) {
    fmt::print("{}\n", report.dump(2));
    return;
  }
  fmt::print("{} layers: {} distinct regions, {} launches; first call {}, whole process {}\n",
             a.layers, report["distinct_regions"].get<int>(), report["launches"].get<int>(),
             duration_text(report["first_call_s"]), duration_text(report["process_s"]));
  Table compile_table({"layers", "compile", "first call"});
  for (std::size_t layers : {std::size_t{1}, std::size_t{16}, std::size_t{32}, a.layers}) {
    std::string key = std::to_string(layers);
    compile_table.add({key, duration_text(report["compile_s_by_layers"][key]),
                       duration_text(report["first_call_s_by_layers"][key])});
  }
  Table table({"mode", "latency", "speed-up"});
  for (std::size_t i = 0; i < names.size(); ++i)
    table.add({names[i], duration_text(medians[i]), ratio_text(medians[0] / medians[i])});
  fmt::print("\n{}\n{}", compile_table.text(), table.text());
}

}  // namespace

void add_bench_regional(CLI::App& command) {
  auto a = std::make_shared<Arguments>();
  command.add_option("--layers", a->layers, "repeated layers")->capture_default_str();
  command.add_option("--rounds", a->rounds, "interleaved rounds; medians are shown")
      ->capture_default_str();
  command.add_option("--processes", a->processes, "cold processes a first call is the median of")
      ->capture_default_str();
  command.add_flag("--cold", a->cold, "time one first call in this process and print it as JSON");
  command.add_flag("--json", a->json, "print JSON");
  a->run.add_to(command);
  command.callback([a] { bench_regional(*a); });
}

}  // namespace tilewright::tools
