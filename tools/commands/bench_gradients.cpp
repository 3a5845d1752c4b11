// `tilewright bench gradients`: what compiling a loss with its gradients costs beside compiling the
// loss alone, in seconds of one processor, by the layers of a network.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "dsl/launch/compile.h"
#include "graph/differentiating/differentiate.h"
#include "runtime/cpu/parallel.h"
#include "tools/console/command.h"
#include "tools/console/table.h"
#include "tools/measure/cold_process.h"
#include "tools/measure/measure.h"
#include "tools/programs/training_losses.h"

namespace tilewright::tools {
namespace {

struct BenchGradientsArguments {
  int processes = 7;
  std::int64_t layers = 12;
  bool json = false, cold = false, gradients = false;
  std::string network = "gpt2";
};

// Seconds of a cold process, and what it compiled.
constexpr std::array first_call_seconds = {"processor_s", "capture_s", "lower_s", "compile_s"};

double spent_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// In a process of its own: the first call without the time of a later one.
void first_call(const BenchGradientsArguments& a) {
  set_thread_count(1);
  const TrainingLoss network = a.network == "gpt2" ? gpt2_loss(a.layers) : resnet18_loss();
  const Options options = {.fullgraph = true, .first_code = FirstCode::full};
  using Tensors = std::vector<Tensor>;
  auto with_gradients = compile(
      [&](const Tensors& p, const Tensors& data) { return value_and_grad(network.loss)(p, data); },
      options);
  auto alone = compile(network.loss, options);
  auto call = [&] {
    const double start = spent_s();
    if (a.gradients)
      with_gradients(network.parameters, network.data);
    else
      alone(network.parameters, network.data);
    return spent_s() - start;
  };
  const double first = call();
  const double later = std::min(call(), call());
  const PlanReport report = a.gradients ? with_gradients.report().at(0) : alone.report().at(0);
  const nlohmann::json result = {{"processor_s", first - later},
                                 {"capture_s", report.capture_seconds},
                                 {"lower_s", report.lower_seconds},
                                 {"compile_s", report.compile_seconds},
                                 {"kernels", dsl::compile_statistics().compiled},
                                 {"programs", report.regions.size()},
                                 {"launches", report.launches},
                                 {"nodes", report.nodes}};
  fmt::print("{}\n", result.dump());
}

struct Network {
  std::string name, option;
  std::int64_t layers;
};

// The least of each time, of processes in turn.
nlohmann::json cold_runs(const BenchGradientsArguments& a) {
  const std::vector<Network> networks = {
      {"gpt2, 3 layers", "gpt2", 3}, {"gpt2, 12 layers", "gpt2", 12}, {"resnet18", "resnet18", 1}};
  nlohmann::json all = nlohmann::json::array();
  for (const Network& network : networks) all.push_back({{"network", network.name}});
  for (int i = 0; i < a.processes; ++i)
    for (std::size_t n = 0; n < networks.size(); ++n)
      for (const char* what : {"value", "gradient"}) {
        std::vector<std::string> arguments = {"bench",
                                              "gradients",
                                              "--cold",
                                              "--network",
                                              networks[n].option,
                                              "--layers",
                                              std::to_string(networks[n].layers)};
        if (what == std::string_view("gradient")) arguments.emplace_back("--with-gradients");
        nlohmann::json run = run_cold(arguments);
        nlohmann::json& least = all[n][what];
        if (i > 0)
          for (const char* time : first_call_seconds)
            run[time] = std::min(run[time].get<double>(), least[time].get<double>());
        least = run;
      }
  for (nlohmann::json& row : all)
    row["ratio"] =
        row["gradient"]["processor_s"].get<double>() / row["value"]["processor_s"].get<double>();
  return all;
}

void print_rows(const nlohmann::json& rows) {
  Table table({"network", "of", "processor", "capture", "lower", "compile", "kernels", "launches",
               "of value"});
  for (const nlohmann::json& row : rows)
    for (const char* what : {"value", "gradient"}) {
      const nlohmann::json& run = row[what];
      std::vector<Cell> cells = {row["network"].get<std::string>(), what};
      for (const char* time : first_call_seconds) cells.push_back(duration_text(run[time]));
      for (const char* count : {"kernels", "launches"}) cells.push_back(run[count].dump());
      cells.push_back(what == std::string_view("value") ? "" : ratio_text(row["ratio"]));
      table.add(cells);
    }
  fmt::print("{}", table.text());
}

void bench_gradients(const BenchGradientsArguments& a) {
  if (a.cold) return first_call(a);
  const nlohmann::json rows = cold_runs(a);
  if (!a.json) return print_rows(rows);
  const nlohmann::json report = {
      {"bench", "gradients"},  {"command", "tilewright bench gradients --json"},
      {"device", cpu_model()}, {"date", date_today()},
      {"threads", 1},          {"processes", a.processes},
      {"results", rows}};
  fmt::print("{}\n", report.dump(2));
}

}  // namespace

void add_bench_gradients(CLI::App& command) {
  auto a = std::make_shared<BenchGradientsArguments>();
  command.add_option("--processes", a->processes, "cold processes, of which the least times count")
      ->check(above_zero())
      ->capture_default_str();
  command.add_flag("--cold", a->cold, "time one first call in this process and print it as JSON");
  command.add_option("--network", a->network, "with --cold")
      ->check(CLI::IsMember({"gpt2", "resnet18"}))
      ->capture_default_str();
  command.add_option("--layers", a->layers, "with --cold, of gpt2")
      ->check(above_zero())
      ->capture_default_str();
  command.add_flag("--with-gradients", a->gradients, "with --cold: of the loss and its gradients");
  command.add_flag("--json", a->json, "print JSON");
  command.callback([a] { bench_gradients(*a); });
}

}  // namespace tilewright::tools
