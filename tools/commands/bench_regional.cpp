// `tilewright bench regional`: what repeated layers cost to compile, by each way of having them
// compiled once, and what each mode gives.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/cpu/parallel.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/measure/cold_process.h"
#include "tools/measure/measure.h"
#include "tools/programs/tutorial_model.h"

namespace tilewright::tools {
namespace {

struct BenchRegionalArguments {
  std::size_t layers = 64;
  int rounds = 15, processes = 25;
  bool json = false, cold = false;
  std::string by = "automatic";
  RunOptions run;
};

// Measurements of a cold process, in seconds.
constexpr std::array figures = {"capture_s", "lower_s", "compile_s", "first_call_s", "process_s"};

Regions regions_of(std::string_view name) {
  return static_cast<Regions>(std::ranges::find(regions_names, name) - regions_names.begin());
}

// In a process of its own: the first call, and what was compiled for it.
void first_call(const BenchRegionalArguments& a) {
  Tensor x = tutorial_input();
  TutorialByRegions fast(a.layers, regions_of(a.by), a.run.compile_options());
  double start = now_s();
  fast(x);
  double first_call_s = now_s() - start;
  double capture_s = 0, lower_s = 0, compile_s = 0;
  std::int64_t launches = 0;
  std::map<std::string, std::pair<std::string, std::int64_t>> kernels;  // by key
  for (const PlanReport& report : fast.reports()) {
    capture_s += report.capture_seconds;
    lower_s += report.lower_seconds;
    compile_s += report.compile_seconds;
    launches += report.launches;
    for (const RegionReport& region : report.regions) {
      kernels[region.key].first = region.kernel;
      kernels[region.key].second += region.instances;
    }
  }
  nlohmann::json regions = nlohmann::json::array();
  for (const auto& [key, kernel] : kernels)
    regions.push_back({{"kernel", kernel.first}, {"instances", kernel.second}});
  nlohmann::json result = {{"first_call_s", first_call_s},
                           {"capture_s", capture_s},
                           {"lower_s", lower_s},
                           {"compile_s", compile_s},
                           {"launches", launches},
                           {"distinct_regions", kernels.size()},
                           {"regions", regions}};
  fmt::print("{}\n", result.dump());
}

// Cold processes for each number of layers, in turn; of each figure the median.
std::map<std::size_t, nlohmann::json> cold_runs(const std::set<std::size_t>& layer_counts,
                                                int processes, const std::string& mode,
                                                std::string_view by) {
  std::map<std::size_t, std::map<std::string, std::vector<double>>> samples;
  std::map<std::size_t, nlohmann::json> result;
  for (int i = 0; i < processes; ++i)
    for (std::size_t layers : layer_counts) {
      double start = now_s();
      nlohmann::json run =
          run_cold({"bench", "regional", "--cold", "--layers", std::to_string(layers), "--mode",
                    mode, "--by", std::string(by)});
      run["process_s"] = now_s() - start;
      for (const char* figure : figures) samples[layers][figure].push_back(run[figure]);
      result[layers] = run;
    }
  for (std::size_t layers : layer_counts)
    for (const char* figure : figures) {
      auto& values = samples[layers][figure];
      std::ranges::sort(values);
      result[layers][figure] = values[values.size() / 2];
    }
  return result;
}

// Each way of having layers compiled once: the first call of a process by the number of layers, and
// the latency of the model beside the automatic way.
nlohmann::json ways(const BenchRegionalArguments& a) {
  Tensor x = tutorial_input();
  std::vector<std::unique_ptr<TutorialByRegions>> models;
  std::vector<std::function<void()>> actions;
  for (std::size_t i = 0; i < regions_names.size(); ++i) {
    models.push_back(std::make_unique<TutorialByRegions>(
        a.layers, static_cast<Regions>(i),
        Options{.mode = Mode::reduce_overhead, .fullgraph = true}));
    actions.push_back([&x, &model = *models.back()] { model(x); });
  }
  const std::vector<double> medians = interleaved_medians(actions, a.rounds);
  nlohmann::json result;
  for (std::size_t i = 0; i < regions_names.size(); ++i) {
    auto cold = cold_runs({16, 32, a.layers}, a.processes, "reduce-overhead", regions_names[i]);
    nlohmann::json& way = result[std::string(regions_names[i])];
    for (const auto& [layers, run] : cold)
      way["first_call_s_by_layers"][std::to_string(layers)] = run["first_call_s"];
    for (const char* field : {"distinct_regions", "launches"})
      way[field] = cold.at(a.layers)[field];
    way["latency_us"] = medians[i] * 1e6;
    way["of_automatic"] = medians[i] / medians[0];
  }
  return result;
}

void print_ways(const nlohmann::json& ways) {
  Table table({"layers by", "programs", "launches", "first call, 16", "32", "ratio", "latency",
               "of automatic"});
  for (const auto& [name, way] : ways.items()) {
    const double few = way["first_call_s_by_layers"]["16"],
                 many = way["first_call_s_by_layers"]["32"];
    table.add({name, way["distinct_regions"].dump(), way["launches"].dump(), duration_text(few),
               duration_text(many), ratio_text(many / few),
               duration_text(way["latency_us"].get<double>() * 1e-6),
               ratio_text(way["of_automatic"])});
  }
  fmt::print("\n{}", table.text());
}

void bench_regional(const BenchRegionalArguments& a) {
  if (a.cold) return first_call(a);
  nlohmann::json report = {{"bench", "regional"},
                           {"command", "tilewright bench regional --json"},
                           {"device", cpu_model()},
                           {"date", date_today()},
                           {"layers", a.layers}};
  auto cold = cold_runs({1, 16, 32, a.layers}, a.processes, "reduce-overhead", "automatic");
  for (const auto& [layers, run] : cold)
    for (const char* figure : figures)
      report[std::string(figure) + "_by_layers"][std::to_string(layers)] = run[figure];
  for (const char* field : {"first_call_s", "process_s", "distinct_regions", "launches", "regions"})
    report[field] = cold.at(a.layers)[field];
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
  report["by"] = ways(a);
  if (a.json) {
    fmt::print("{}\n", report.dump(2));
    return;
  }
  fmt::print("{} layers: {} distinct regions, {} launches; first call {}, whole process {}\n",
             a.layers, report["distinct_regions"].get<int>(), report["launches"].get<int>(),
             duration_text(report["first_call_s"]), duration_text(report["process_s"]));
  Table compile_table({"layers", "capture", "lower", "compile", "first call"});
  for (const auto& [layers, run] : cold)
    compile_table.add({std::to_string(layers), duration_text(run["capture_s"]),
                       duration_text(run["lower_s"]), duration_text(run["compile_s"]),
                       duration_text(run["first_call_s"])});
  Table table({"mode", "latency", "speed-up"});
  for (std::size_t i = 0; i < names.size(); ++i)
    table.add({names[i], duration_text(medians[i]), ratio_text(medians[0] / medians[i])});
  fmt::print("\n{}\n{}", compile_table.text(), table.text());
  print_ways(report["by"]);
}

}  // namespace

void add_bench_regional(CLI::App& command) {
  auto a = std::make_shared<BenchRegionalArguments>();
  command.add_option("--layers", a->layers, "repeated layers")->capture_default_str();
  command.add_option("--rounds", a->rounds, "interleaved rounds; medians are shown")
      ->capture_default_str();
  command.add_option("--processes", a->processes, "cold processes a first call is the median of")
      ->capture_default_str();
  command.add_flag("--cold", a->cold, "time one first call in this process and print it as JSON");
  command.add_option("--by", a->by, "with --cold: how layers come to be compiled once")
      ->check(CLI::IsMember(std::vector<std::string>(regions_names.begin(), regions_names.end())))
      ->capture_default_str();
  command.add_flag("--json", a->json, "print JSON");
  a->run.add_to(command);
  command.callback([a] { bench_regional(*a); });
}

}  // namespace tilewright::tools
